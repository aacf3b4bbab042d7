// Any bytes as a quantity: refused with a message, or accepted and then printed so that it reads back as the same value.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/core/quantity.h"
#include "sim/core/rendering.h"

using namespace memwall;

namespace {

void expect(bool holds) {
    if (!holds) {
        std::abort();
    }
}

template <class T>
void read(std::string_view text) {
    const Parsed<T> value = parse<T>(text);
    if (!value) {
        expect(!value.error().message.empty() && value.error().message.size() < 300);
        return;
    }
    if constexpr (requires { human(*value); }) {
        const Parsed<T> again = parse<T>(to_text(*value));
        expect(again && *again == *value);
        expect(!human(*value).empty());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(data, data + size);
    read<Bytes>(text);
    read<Duration>(text);
    read<Bandwidth>(text);
    read<FlopRate>(text);
    read<Flops>(text);
    read<double>(text);
    read<std::int64_t>(text);
    read<std::uint64_t>(text);
    read<int>(text);
    read<bool>(text);
    (void)nearest(text, {"micro_batch", "tp", "GiB"});
    const Diagnostic diagnostic{
        .severity = Severity::Error,
        .code = "E0106",
        .place = {"f", static_cast<int>(size % 5), static_cast<int>(size % 90)},
        .text = text,
        .notes = {},
        .hint = {}};
    const std::string shown = render(
        diagnostic, [&](const std::string&) { return std::optional<std::string_view>(text); });
    expect(shown.ends_with('\n') && shown.find('\x1b') == std::string::npos);
    return 0;
}
