#pragma once
// Reads and prints quantities as people write them: 80GiB 80GB 400Gbps 50GB/s 200Gb/s 1.5us 312TFLOPS 1e9B 10%.
// No locale, no environment. Prefixes k M G T P E are powers of ten, Ki Mi Gi Ti Pi Ei powers of two; b or bit is a bit,
// B is a byte. A space may stand between number and unit. A bare number is refused where a unit is needed.
//   Bytes      B kB MB GB TB PB EB KiB MiB GiB TiB PiB EiB    whole bytes; 79.15GiB is rounded to the nearest byte
//   Duration   ps ns us ms s min h d                          whole picoseconds; 1.0001ns is rounded to the nearest
//   Bandwidth  GB/s GBps GiB/s (bytes), Gbps Gb/s Gbit/s (bits)
//   FlopRate   TFLOPS TFLOP/s
//   Flops      TFLOP
//   double     plain number, or a percentage: 10% = 0.1
//   integers   digits, or an exponent when the value is whole: 1e9, 1.5e3; refused: 010, 1_000, 8.0
//   bool       true or false
#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "sim/core/units.h"

namespace memwall {

struct QuantityError {
    std::string message;     // "400 has no unit", fit for a diagnostic
    std::string suggestion;  // "say 400Gbps or 50GB/s", fit for its hint; may be empty
};

template <class T>
using Parsed = tl::expected<T, QuantityError>;

template <class T>
[[nodiscard]] Parsed<T> parse(std::string_view text) = delete;

template <>
[[nodiscard]] Parsed<Bytes> parse<Bytes>(std::string_view text);
template <>
[[nodiscard]] Parsed<Duration> parse<Duration>(std::string_view text);
template <>
[[nodiscard]] Parsed<Bandwidth> parse<Bandwidth>(std::string_view text);
template <>
[[nodiscard]] Parsed<FlopRate> parse<FlopRate>(std::string_view text);
template <>
[[nodiscard]] Parsed<Flops> parse<Flops>(std::string_view text);
template <>
[[nodiscard]] Parsed<double> parse<double>(std::string_view text);
template <>
[[nodiscard]] Parsed<std::int64_t> parse<std::int64_t>(std::string_view text);
template <>
[[nodiscard]] Parsed<std::uint64_t> parse<std::uint64_t>(std::string_view text);
template <>
[[nodiscard]] Parsed<int> parse<int>(std::string_view text);
template <>
[[nodiscard]] Parsed<bool> parse<bool>(std::string_view text);

// The shortest text that parse() reads back as the very same value: 80GiB, 1536MiB, 200GB/s, 1.5us, 312TFLOPS.
[[nodiscard]] std::string to_text(Bytes value);
[[nodiscard]] std::string to_text(Duration value);
[[nodiscard]] std::string to_text(Bandwidth value);
[[nodiscard]] std::string to_text(FlopRate value);
[[nodiscard]] std::string to_text(Flops value);
[[nodiscard]] std::string to_text(double value);

// For reports: `digits` significant digits without closing zeros: 31.5 s, 16.06 s, 78.3 GiB, 200 GB/s, 140 TFLOP/s.
[[nodiscard]] std::string human(Bytes value, int digits = 4);
[[nodiscard]] std::string human(Duration value, int digits = 4);
[[nodiscard]] std::string human(Bandwidth value, int digits = 4);
[[nodiscard]] std::string human(FlopRate value, int digits = 4);
[[nodiscard]] std::string human(Flops value, int digits = 4);
// 0.4321 -> "43.2 %"
[[nodiscard]] std::string human_percent(double fraction, int digits = 3);
// 1536 -> "1,536"
[[nodiscard]] std::string human_count(std::int64_t value);
// A bare number with `digits` significant digits: 0.05234 -> "0.0523"
[[nodiscard]] std::string human_number(double value, int digits = 4);

}  // namespace memwall
