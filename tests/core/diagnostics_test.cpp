#include "sim/core/diagnostics.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/core/codes.h"
#include "sim/core/rendering.h"

using namespace memwall;

namespace {

const SourceText kNoSource;

Diagnostic heads_error() {
    Diagnostic d{.severity = Severity::Error,
                 .code = "E0312",
                 .place = {"scenarios/gpt3.yaml", 14, 9},
                 .text = "tp 5 does not divide 96 attention heads",
                 .notes = {},
                 .hint = "divisors of 96 within one NVLink domain of 8: 1, 2, 3, 4, 6, 8"};
    d.notes.push_back({{"workloads/gpt3-175b.yaml", 6, 10}, "heads is given here"});
    return d;
}

std::string one_line(std::string_view text, int column) {
    const Diagnostic d{.severity = Severity::Error,
                       .code = "E0106",
                       .place = {"f", 1, column},
                       .text = "x",
                       .notes = {},
                       .hint = {}};
    return render(d, [&](const std::string&) { return std::optional(text); });
}

}  // namespace

TEST_CASE("a diagnostic is rendered as the design shows it") {
    const auto source = [](const std::string& file) -> std::optional<std::string_view> {
        if (file == "scenarios/gpt3.yaml") {
            return "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\nparallel:\n    tp: 5\n";
        }
        return std::nullopt;
    };
    CHECK(render(heads_error(), source) ==
          "scenarios/gpt3.yaml:14:9: error: tp 5 does not divide 96 attention heads [E0312]\n"
          "   14 |     tp: 5\n"
          "      |         ^\n"
          "workloads/gpt3-175b.yaml:6:10: note: heads is given here\n"
          "hint: divisors of 96 within one NVLink domain of 8: 1, 2, 3, 4, 6, 8\n");
}

TEST_CASE("without the source text the line is left out") {
    CHECK(render(heads_error(), kNoSource).find('|') == std::string::npos);
}

TEST_CASE("all diagnostics are rendered in order of place, with their number") {
    Diagnostics all;
    all.warning("W0201", {"b.yaml", 3, 1}, "later");
    all.error("E0201", {"b.yaml", 2, 1}, "middle");
    all.error("E0201", {"a.yaml", 9, 1}, "first");
    CHECK(render(all, kNoSource) ==
          "a.yaml:9:1: error: first [E0201]\n"
          "b.yaml:2:1: error: middle [E0201]\n"
          "b.yaml:3:1: warning: later [W0201]\n"
          "2 errors, 1 warning\n");
    CHECK(render(Diagnostics(), kNoSource).empty());
}

TEST_CASE("equal diagnostics are shown once") {
    Diagnostics all;
    all.error("E0201", {"a.yaml", 1, 1}, "same");
    all.error("E0201", {"a.yaml", 1, 1}, "same");
    all.error("E0201", {"a.yaml", 1, 1}, "other");
    CHECK(all.errors() == 3);
    CHECK(all.sorted().size() == 2);
}

TEST_CASE("a warning is no error") {
    Diagnostics all;
    all.warning("W0201", {"a.yaml", 1, 1}, "careful");
    CHECK_FALSE(all.has_errors());
    all.append(all);
    CHECK(all.sorted().size() == 1);
    all.error("E0201", {"a.yaml", 1, 1}, "bad");
    CHECK(all.has_errors());
}

TEST_CASE("places are written as they are meant") {
    CHECK(to_text(Place{"a.yaml", 0, 0}) == "a.yaml");
    CHECK(to_text(Place{"a.yaml", 3, 0}) == "a.yaml:3");
    CHECK(to_text(Place{"a.yaml", 3, 7}) == "a.yaml:3:7");
    CHECK(to_text(Place{"--set", 2, 1}) == "--set 2");
}

TEST_CASE("the caret stands under the character, also behind tabs, umlauts and line ends of DOS") {
    CHECK(one_line("\ta: x\r\nb", 5) == "f:1:5: error: x [E0106]\n    1 |  a: x\n      |     ^\n");
    CHECK(one_line("k\xC3\xB6: x", 6) ==
          "f:1:6: error: x [E0106]\n    1 | k\xC3\xB6: x\n      |     ^\n");
}

TEST_CASE("a column or line beyond the text does not break the rendering") {
    CHECK(one_line("ab", 99) == "f:1:99: error: x [E0106]\n    1 | ab\n      |   ^\n");
    CHECK(one_line("", 1) == "f:1:1: error: x [E0106]\n    1 | \n      | ^\n");
    const Diagnostic d{.severity = Severity::Error,
                       .code = "E0106",
                       .place = {"f", 5, 1},
                       .text = "x",
                       .notes = {},
                       .hint = {}};
    CHECK(render(d, [](const std::string&) {
              return std::optional<std::string_view>("one line");
          }) == "f:5:1: error: x [E0106]\n");
}

TEST_CASE("a long line is cut around the caret") {
    const std::string text = std::string(5000, 'a') + "X" + std::string(5000, 'b');
    const std::string shown = one_line(text, 5001);
    CHECK(shown.size() < 400);
    const std::size_t line = shown.find("| ");
    const std::size_t caret = shown.find('^');
    const std::size_t x = shown.find('X');
    CHECK(x - line == caret - shown.rfind("| "));
}

TEST_CASE("control characters of a file do not reach the terminal") {
    Diagnostic d = heads_error();
    d.text = "key \x1b[2J is not known";
    d.place.file = "a\nb.yaml";
    const std::string text = render(
        d, [](const std::string&) { return std::optional<std::string_view>("\x1b[2J\x07"); });
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find("key \\x1b[2J is not known") != std::string::npos);
    CHECK(text.find("a\\x0ab.yaml:14:9") == 0);
}

TEST_CASE("colours are only there when asked for") {
    CHECK(render(heads_error(), kNoSource, {.color = true}).find("\x1b[1;31merror:\x1b[0m") !=
          std::string::npos);
    CHECK(render(heads_error(), kNoSource).find('\x1b') == std::string::npos);
}

TEST_CASE("the nearest name is one insertion, deletion, change or swap in three letters away") {
    const std::vector<std::string_view> keys{
        "micro_batch", "global_batch", "sequence", "tp", "pp", "vpp"};
    CHECK(nearest("micro_bacth", keys) == "micro_batch");
    CHECK(nearest("micro-batch", keys) == "micro_batch");
    CHECK(nearest("microbatches", keys) == "micro_batch");
    CHECK(nearest("Sequence", keys) == "sequence");
    CHECK(nearest("tpp", keys) == "tp");
    CHECK(nearest("TP", keys) == "tp");
}

TEST_CASE("a name that is far from all has no nearest") {
    const std::vector<std::string_view> keys{"micro_batch", "global_batch", "sequence", "x"};
    CHECK(nearest("temperature", keys).empty());
    CHECK(nearest("", keys).empty());
    CHECK(nearest("y", keys).empty());
    CHECK(nearest(std::string(100000, 'a'), keys).empty());
    CHECK(nearest("tp", {}).empty());
}

TEST_CASE("of two names equally near the first is taken") {
    CHECK(nearest("zp", {"tp", "pp"}) == "tp");
}

TEST_CASE("the table of codes is sorted and says each once") {
    for (std::size_t i = 1; i < kCodes.size(); ++i) {
        CAPTURE(kCodes[i].code);
        CHECK(kCodes[i - 1].code < kCodes[i].code);  // errors, then warnings
    }
    for (const DiagnosticCode& code : kCodes) {
        CHECK(std::regex_match(std::string(code.code), std::regex("[EW]0[1-9][0-9]{2}")));
        CHECK_FALSE(code.meaning.empty());
    }
    CHECK(meaning_of("E0107") == "a key is given twice");
    CHECK(meaning_of("E9999").empty());
}

TEST_CASE("every code used in the sources is in the table") {
    namespace fs = std::filesystem;
    const std::regex code("\"([EW]0[0-9]{3})\"");
    std::set<std::string> missing;
    for (const char* folder : {"sim", "tools"}) {
        for (const auto& entry :
             fs::recursive_directory_iterator(fs::path(MEMWALL_SOURCE_DIR) / folder)) {
            if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") {
                continue;
            }
            std::ifstream file(entry.path());
            const std::string text{std::istreambuf_iterator<char>(file), {}};
            for (auto it = std::sregex_iterator(text.begin(), text.end(), code);
                 it != std::sregex_iterator();
                 ++it) {
                if (meaning_of((*it)[1].str()).empty()) {
                    missing.insert((*it)[1].str() + " in " + entry.path().filename().string());
                }
            }
        }
    }
    for (const std::string& one : missing) {
        CAPTURE(one);
        CHECK(false);
    }
}
