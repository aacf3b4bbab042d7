#include "sim/io/yaml.h"

#include <string>

#include <doctest/doctest.h>

using namespace memwall;

namespace {

struct Outcome {
    std::optional<DocNode> root;
    std::vector<Diagnostic> problems;

    [[nodiscard]] std::string first_code() const {
        return problems.empty() ? "" : problems.front().code;
    }
    [[nodiscard]] int line() const { return problems.empty() ? 0 : problems.front().place.line; }
    [[nodiscard]] int column() const {
        return problems.empty() ? 0 : problems.front().place.column;
    }
};

Outcome read(const std::string& text, const YamlLimits& limits = {}) {
    Diagnostics diagnostics;
    Outcome outcome;
    outcome.root = read_yaml("a.yaml", text, diagnostics, limits);
    outcome.problems = diagnostics.sorted();
    return outcome;
}

void check_error(const std::string& text, const char* code, int line, int column) {
    CAPTURE(text);
    const Outcome outcome = read(text);
    CHECK_FALSE(outcome.root.has_value());
    CHECK(outcome.first_code() == code);
    CHECK(outcome.line() == line);
    CHECK(outcome.column() == column);
}

}  // namespace

TEST_CASE("every key and value knows its line and column, counted from 1") {
    const Outcome outcome = read("a: 1\nb:\n  c: [x, y]\n");
    REQUIRE(outcome.root);
    CHECK(outcome.root->at("a")->place == Place{"a.yaml", 1, 4});
    CHECK(outcome.root->entries[1].place == Place{"a.yaml", 2, 1});
    CHECK(outcome.root->at("b.c")->items[1].place == Place{"a.yaml", 3, 10});
}

TEST_CASE("JSON reads as YAML") {
    const Outcome outcome = read("{\"a\": 1, \"b\": [true, null], \"c\": {\"d\": \"x\"}}");
    REQUIRE(outcome.root);
    CHECK(outcome.root->at("a")->scalar == "1");
    CHECK(outcome.root->at("b")->items[1].kind == DocNode::Kind::Null);
    CHECK(outcome.root->at("c.d")->quoted);
    CHECK_FALSE(outcome.root->at("a")->quoted);
}

TEST_CASE("line ends of Windows and a byte-order mark change nothing") {
    const Outcome outcome = read(
        "\xEF\xBB\xBF"
        "a: 1\r\nb:\r\n  c: 2\r\n");
    REQUIRE(outcome.root);
    CHECK(outcome.root->at("a")->scalar == "1");
    CHECK(outcome.root->at("b.c")->scalar == "2");
    CHECK(outcome.root->at("b.c")->place == Place{"a.yaml", 3, 6});
}

TEST_CASE("an alias copies its anchor, and a merge key fills in what is missing") {
    const Outcome outcome = read("base: &b {x: 1, y: 2}\nlike: *b\nvaried: {<<: *b, y: 3, z: 4}\n");
    REQUIRE(outcome.root);
    CHECK(outcome.root->at("like.y")->scalar == "2");
    CHECK(outcome.root->at("varied.x")->scalar == "1");
    CHECK(outcome.root->at("varied.y")->scalar == "3");
    CHECK(outcome.root->at("varied.z")->scalar == "4");
    CHECK(outcome.root->at("varied")->entries.size() == 3);
}

TEST_CASE("of several merged maps the earlier wins") {
    const Outcome outcome = read("a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b]}\n");
    REQUIRE(outcome.root);
    CHECK(outcome.root->at("c.x")->scalar == "1");
    CHECK(outcome.root->at("c.y")->scalar == "2");
}

TEST_CASE("a duplicate key is an error that names both places") {
    const Outcome outcome = read("a: 1\nb: 2\na: 3\n");
    CHECK_FALSE(outcome.root);
    REQUIRE(outcome.problems.size() == 1);
    CHECK(outcome.problems[0].code == "E0107");
    CHECK(outcome.problems[0].place == Place{"a.yaml", 3, 1});
    REQUIRE(outcome.problems[0].notes.size() == 1);
    CHECK(outcome.problems[0].notes[0].place == Place{"a.yaml", 1, 1});
}

TEST_CASE("every duplicate is reported, in maps of any size") {
    std::string text;
    for (int i = 0; i < 950; ++i) {
        text += "key" + std::to_string(i) + ": 1\n";
    }
    const Outcome outcome = read(text + "key7: 2\nkey900: 3\n");
    CHECK_FALSE(outcome.root);
    CHECK(outcome.problems.size() == 2);
}

TEST_CASE("broken syntax is an error at its place") {
    check_error("a: [1, 2\nb: 3\n", "E0106", 2, 2);
    check_error("a: b: c\n", "E0106", 1, 5);
    check_error("a: 1\n]\n", "E0106", 2, 1);
    check_error("a: {b: 1\n", "E0106", 2, 1);
    check_error("%YAML 3.0\n---\na: 1\n", "E0106", 1, 1);
    check_error("a: !!str 5\n", "E0106", 1, 4);
    check_error("? [a, b]\n: c\n", "E0106", 1, 3);
    check_error("a: {<<: 3}\n", "E0106", 1, 9);
}

TEST_CASE("a quote that never closes is an error where it opens") {
    check_error("a: \"abc\nb: 3\n", "E0106", 1, 4);
    check_error("a: 1\nb: 'x\n", "E0106", 2, 4);
    check_error("a: 'it''s\n", "E0106", 1, 4);
    check_error("a: \"x\\\"\n", "E0106", 1, 4);
    CHECK(read("a: 'it''s'\nb: \"q\\\"z\"\nc: |\n  say \"hi\n").root.has_value());
}

TEST_CASE("a value that begins with a sign of YAML is told to take quotes") {
    for (const char* text : {"about: %s%n\n", "about: @home\n"}) {
        const Outcome outcome = read(text);
        REQUIRE(outcome.problems.size() == 1);
        CHECK(outcome.problems[0].code == "E0106");
        CHECK(outcome.problems[0].hint.find("needs quotes") != std::string::npos);
    }
}

TEST_CASE("a tab in the indentation is pointed out") {
    const Outcome outcome = read("a:\n\tb: 1\n");
    REQUIRE(outcome.problems.size() == 1);
    CHECK(outcome.problems[0].place.line == 2);
    CHECK(outcome.problems[0].hint == "indent with spaces, not with tabs");
}

TEST_CASE("content after the document is an error") {
    check_error("a: 1\n---\nb: 2\n", "E0111", 2, 1);
    check_error("a: 1\n...\nb\n", "E0111", 3, 1);
    check_error("- a\nb: 1\n", "E0111", 2, 1);
    CHECK(read("---\na: 1\n...\n").root.has_value());
}

TEST_CASE("an empty file is an error of the whole file") {
    check_error("", "E0105", 0, 0);
    check_error("# only a comment\n", "E0105", 0, 0);
    check_error("\xEF\xBB\xBF", "E0105", 0, 0);
}

TEST_CASE("bytes that are not text are an error at their place") {
    check_error(std::string("a: 1\nb: \0", 9), "E0104", 2, 4);
    check_error("a: \x01\n", "E0104", 1, 4);
    check_error("a: \xFF\n", "E0104", 1, 4);
    check_error("a: \xC0\xAF\n", "E0104", 1, 4);      // overlong
    check_error("a: \xED\xA0\x80\n", "E0104", 1, 4);  // surrogate
    check_error("a: \xE2\x82", "E0104", 1, 4);        // cut off
    check_error(
        "\xFF\xFE"
        "a",
        "E0104",
        1,
        1);
    CHECK(read("a: \xE2\x82\xAC \xF0\x9F\x98\x80\n").root.has_value());
}

TEST_CASE("an alias that contains itself or names nothing is an error") {
    check_error("a: &a [1, *a]\n", "E0110", 1, 11);
    check_error("a: &a {b: *a}\n", "E0110", 1, 11);
    check_error("a: *nope\n", "E0110", 1, 4);
}

TEST_CASE("a bracket that is never closed is said so, where it opens") {
    const auto text_of = [](const std::string& text) { return read(text).problems.at(0).text; };
    check_error("a: [[1, 2], [3, 4\nb: 1\n", "E0106", 1, 13);
    CHECK(text_of("a: [[1, 2], [3, 4\nb: 1\n") == "this bracket is never closed");
    CHECK(text_of("a: [{b: ']}', c: \"]}\" # ]}\n") == "this bracket is never closed");
    CHECK(text_of("a: [[it's ]: 1]\n") == "a key must be a plain word, not a list or map");
    CHECK(text_of("{['x''y', \"\\\"]\"]: 1}\n") == "a key must be a plain word, not a list or map");
    // Deeper than the limit is told first: yaml-cpp takes the first of them for a key.
    check_error("a: " + std::string(100'000, '['), "E0108", 1, 5);
}

TEST_CASE("nesting stops at its limit, also through aliases") {
    const std::string deep = std::string(65, '[') + std::string(65, ']');
    check_error(deep, "E0108", 1, 65);
    CHECK(read(std::string(64, '[') + std::string(64, ']')).root.has_value());
    std::string text = "a0: &a0 [" + std::string(30, '[') + std::string(30, ']') + "]\n";
    text += "a1: &a1 [" + std::string(30, '[') + "*a0" + std::string(30, ']') + "]\n";
    text += "a2: &a2 [" + std::string(30, '[') + "*a1" + std::string(30, ']') + "]\n";
    CHECK(read(text).first_code() == "E0108");
}

TEST_CASE("an alias bomb ends at the limit of values, in time and memory") {
    std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 12; ++i) {
        const std::string before = "*a" + std::to_string(i - 1);
        text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
        for (int j = 0; j < 10; ++j) {
            text += (j == 0 ? "" : ", ") + before;
        }
        text += "]\n";
    }
    CHECK(read(text).first_code() == "E0109");
}

TEST_CASE("a map of more keys than any format has is refused") {
    std::string text;
    for (int i = 0; i <= 1000; ++i) {
        text += "k" + std::to_string(i) + ": 1\n";
    }
    const Outcome outcome = read(text);
    CHECK(outcome.first_code() == "E0109");
    CHECK(outcome.line() == 1001);
}

TEST_CASE("a file above the size limit is refused before it is read") {
    YamlLimits limits;
    limits.bytes = 10;
    CHECK(read("a: 123456789\n", limits).first_code() == "E0103");
    CHECK(read("a: 1234567", limits).root.has_value());
}

TEST_CASE("a value after --set takes the place of the option") {
    Diagnostics diagnostics;
    const Place place{"--set", 2, 1};
    const std::optional<DocNode> list = read_yaml_value(place, "[[3, 3], [3, 3]]", diagnostics);
    REQUIRE(list);
    CHECK(list->items[1].items[0].place == place);
    CHECK_FALSE(read_yaml_value(place, "[1", diagnostics));
    REQUIRE(diagnostics.errors() == 1);
    CHECK(diagnostics.sorted()[0].place == place);
}

TEST_CASE("of a long wrong value after --set only the begin is shown") {
    Diagnostics diagnostics;
    CHECK_FALSE(read_yaml_value({"--set", 1, 1}, std::string(20'000, '['), diagnostics));
    CHECK(diagnostics.sorted().at(0).text.size() < 150);
}
