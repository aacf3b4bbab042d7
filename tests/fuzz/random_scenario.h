#pragma once
// Small scenarios out of bytes, one choice per byte: machines of at most 32 GPUs, tiny models, every kind of strategy,
// schedule, overlap, fidelity and disturbance. Most are legal; what resolve() refuses costs the fuzzer one input.
#include <cstdint>
#include <span>
#include <string>

namespace memwall::testing {

// Bytes that are missing stand for the first choice. The text is a scenario file as a user would write it.
[[nodiscard]] std::string random_scenario(std::span<const std::uint8_t> bytes);

}  // namespace memwall::testing
