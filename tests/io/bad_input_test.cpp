// Every wrong scenario of tests/bad_input gives the error that tests/bad_input/expected.txt states, at its place.
#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include <doctest/doctest.h>

#include "sim/io/load.h"

using namespace memwall;

namespace {

const std::string kRoot = MEMWALL_SOURCE_DIR;
const std::string kFolder = kRoot + "/tests/bad_input";

struct Expected {
    std::string name;
    std::string code;
    std::string where;  // a line, or another file
    int number = 0;     // the column, or the line in that file
};

std::vector<Expected> read_table() {
    std::vector<Expected> rows;
    std::ifstream file(kFolder + "/expected.txt");
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        Expected row;
        if (!line.starts_with("#") && words >> row.name >> row.code >> row.where >> row.number) {
            rows.push_back(row);
        }
    }
    return rows;
}

std::vector<Diagnostic> problems_of(const std::string& path) {
    DiskFiles files;
    DataSource source(files, {kRoot});
    Diagnostics diagnostics;
    CHECK_FALSE(load_scenario(path, {}, source, diagnostics));
    std::vector<Diagnostic> errors;
    for (const Diagnostic& problem : diagnostics.sorted()) {
        if (problem.severity == Severity::Error) {
            errors.push_back(problem);
        }
    }
    return errors;
}

}  // namespace

TEST_CASE("every wrong scenario file gives the stated error at the stated place") {
    const std::vector<Expected> rows = read_table();
    REQUIRE(rows.size() >= 60);
    for (const Expected& row : rows) {
        CAPTURE(row.name);
        const std::string path = kFolder + "/" + row.name;
        const std::vector<Diagnostic> errors = problems_of(path);
        REQUIRE_FALSE(errors.empty());
        const Diagnostic& first = errors.front();
        CAPTURE(first.text);
        CHECK(first.code == row.code);
        const bool same_file = std::all_of(
            row.where.begin(), row.where.end(), [](char c) { return c >= '0' && c <= '9'; });
        if (same_file) {
            CHECK(first.place.file == path);
            CHECK(first.place.line == std::stoi(row.where));
            if (row.number != 0) {
                CHECK(first.place.column == row.number);
            }
        } else {
            CHECK(first.place.file == kRoot + "/" + row.where);
            CHECK(first.place.line == row.number);
        }
        // Style of messages: no capital at the start, no full stop at the end, something to go by.
        CHECK_FALSE(first.text.empty());
        CHECK(first.text.back() != '.');
        CHECK(std::isupper(static_cast<unsigned char>(first.text.front())) == 0);
    }
}

TEST_CASE("every wrong scenario file is in the table") {
    std::set<std::string> listed = {"expected.txt"};
    for (const Expected& row : read_table()) {
        listed.insert(row.name);
    }
    DiskFiles files;
    for (const std::string& name : files.list(kFolder)) {
        CAPTURE(name);
        CHECK(listed.contains(name));
    }
}

TEST_CASE("a misspelt scenario name is answered with the nearest, a directory with what it is") {
    DiskFiles files;
    DataSource source(files, {kRoot});
    Diagnostics diagnostics;
    CHECK_FALSE(load_scenario("gpt3-175b-1024xa10", {}, source, diagnostics));
    CHECK_FALSE(load_scenario(kRoot + "/scenarios", {}, source, diagnostics));
    CHECK_FALSE(load_scenario(kRoot + "/scenarios/gpt2-8xa10.yaml", {}, source, diagnostics));
    REQUIRE(diagnostics.errors() == 3);
    for (const Diagnostic& problem : diagnostics.sorted()) {
        if (problem.code == "E0113") {
            CHECK(problem.hint == "did you mean 'gpt3-175b-1024xa100'?");
        } else if (problem.code == "E0101") {
            CHECK(problem.hint == "did you mean '" + kRoot + "/scenarios/gpt2-8xa100.yaml'?");
        } else {
            CHECK(problem.code == "E0102");
        }
    }
}
