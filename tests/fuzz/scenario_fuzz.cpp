// Any bytes as a scenario file, with the repository's data behind it: refused with a located error, or resolved to a plan
// that prints as a scenario of the same plan. What follows a line `--set` are overrides, one per line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/load.h"
#include "sim/io/print_plan.h"
#include "sim/spec/supported.h"
#include "tests/fuzz/data_files.h"

using namespace memwall;

namespace {

void expect(bool holds) {
    if (!holds) {
        std::abort();
    }
}

std::vector<std::string> split_sets(std::string_view& text) {
    std::vector<std::string> sets;
    constexpr std::string_view kMark = "\n--set\n";
    const std::size_t at = text.find(kMark);
    if (at == std::string_view::npos) {
        return sets;
    }
    std::string_view rest = text.substr(at + kMark.size());
    text = text.substr(0, at + 1);
    while (!rest.empty() && sets.size() < 8) {
        const std::size_t end = rest.find('\n');
        sets.emplace_back(rest.substr(0, end));
        rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
    return sets;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static MemoryFiles files = testing::read_data();
    static DataSource source(files, {""});
    const std::string bytes(data, data + size);
    std::string_view text = bytes;
    const std::vector<std::string> sets = split_sets(text);

    Diagnostics diagnostics;
    const std::optional<Loaded> loaded =
        load_scenario_text("f.yaml", text, sets, source, diagnostics);
    expect(loaded.has_value() != diagnostics.has_errors());
    for (const Diagnostic& problem : diagnostics.sorted()) {
        expect(!problem.text.empty() && !problem.code.empty() && !problem.place.file.empty());
    }
    if (!loaded) {
        return 0;
    }
    (void)check_supported(loaded->plan, loaded->composed, diagnostics);
    Diagnostics again;
    const std::optional<Loaded> printed =
        load_scenario_text("p.yaml", print_plan(*loaded), {}, source, again);
    expect(printed.has_value());
    expect(print_plan(*printed, {.origins = false}) == print_plan(*loaded, {.origins = false}));
    return 0;
}
