#include <initializer_list>
#include <set>
#include <sstream>

#include <doctest/doctest.h>

#include "tools/cli/command_tree.h"
#include "tools/cli/help.h"
#include "tools/cli/parse.h"

using namespace memwall::cli;

namespace {

Arguments parsed(std::initializer_list<const char*> words) {
    std::vector<const char*> argv = {"memwall"};
    argv.insert(argv.end(), words.begin(), words.end());
    return parse(static_cast<int>(argv.size()), argv.data());
}

}  // namespace

TEST_CASE("a verb, its file and its options are read in any order") {
    for (const Arguments& a : {parsed({"run", "a.yaml", "--json", "--set", "x=1", "--set", "y=2"}),
                               parsed({"run", "--set", "x=1", "--json", "--set=y=2", "a.yaml"})}) {
        CHECK(a.error == "");
        REQUIRE(a.command != nullptr);
        CHECK(a.command->name == "run");
        CHECK(a.positional(0) == "a.yaml");
        CHECK(a.has("--json"));
        CHECK(a.values("--set") == std::vector<std::string>{"x=1", "y=2"});
        CHECK_FALSE(a.has("--quiet"));
    }
}

TEST_CASE("global options are valid before and after the verb") {
    CHECK(parsed({"--color", "never", "list"}).value("--color") == "never");
    CHECK(parsed({"list", "--color", "never"}).value("--color") == "never");
}

TEST_CASE("the last of an option that is given twice counts") {
    CHECK(parsed({"program", "a.yaml", "--rank", "1", "--rank", "2"}).value("--rank") == "2");
}

TEST_CASE("a misspelt verb names the nearest one") {
    const Arguments a = parsed({"rnu", "a.yaml"});
    CHECK(a.error == "unknown command 'rnu'");
    CHECK(a.hint == "did you mean 'run'?");
}

TEST_CASE("a misspelt option names the nearest one of this verb") {
    const Arguments a = parsed({"run", "a.yaml", "--jsn"});
    CHECK(a.error == "unknown option '--jsn'");
    CHECK(a.hint == "did you mean '--json'?");
}

TEST_CASE("a switch takes no value") {
    CHECK(parsed({"run", "a.yaml", "--json=0"}).error == "--json takes no value");
    CHECK(parsed({"run", "a.yaml", "--quiet=false"}).error == "--quiet takes no value");
    CHECK(parsed({"run", "a.yaml", "--set=x=1"}).error == "");
}

TEST_CASE("what follows two dashes is no option") {
    const Arguments a = parsed({"run", "--json", "--", "--odd=1.yaml"});
    CHECK(a.error == "");
    CHECK(a.has("--json"));
    CHECK(a.positional(0) == "--odd=1.yaml");
    CHECK(parsed({"run", "--", "a.yaml", "--json"}).error == "'--json' is one argument too many");
    const Arguments help = parsed({"run", "--", "--help"});
    CHECK_FALSE(help.has("--help"));
    CHECK(help.positional(0) == "--help");
    CHECK(parsed({"run", "--"}).error == "SCENARIO is missing");
}

TEST_CASE("an option of another verb is refused") {
    CHECK(parsed({"list", "--rank", "1"}).error == "unknown option '--rank'");
}

TEST_CASE("a missing file is an error that names it, with the usage line") {
    const Arguments a = parsed({"run"});
    CHECK(a.error == "SCENARIO is missing");
    CHECK(a.hint.find("usage: memwall run SCENARIO") != std::string::npos);
}

TEST_CASE("an option without its value is an error") {
    CHECK(parsed({"run", "a.yaml", "--set"}).error == "--set needs a value: --set PATH=VALUE");
    CHECK(parsed({"run", "a.yaml", "--color"}).error == "--color needs a value: --color WHEN");
}

TEST_CASE("two files where one is wanted are an error") {
    CHECK(parsed({"run", "a.yaml", "b.yaml"}).error == "'b.yaml' is one argument too many");
    CHECK(parsed({"list", "gpus", "nodes"}).error == "'nodes' is one argument too many");
}

TEST_CASE("a short option that nobody knows is named") {
    CHECK(parsed({"run", "a.yaml", "-x"}).error == "unknown option '-x'");
}

TEST_CASE("an argument may be called like a verb") {
    for (const char* verb : {"help", "check"}) {
        const Arguments a = parsed({verb, "run"});
        CHECK(a.error == "");
        REQUIRE(a.command != nullptr);
        CHECK(a.command->name == verb);
        CHECK(a.positional(0) == "run");
    }
}

TEST_CASE("check takes many files") {
    const Arguments a = parsed({"check", "a.yaml", "b.yaml", "c.yaml"});
    CHECK(a.error == "");
    CHECK(a.positionals.size() == 3);
}

TEST_CASE("help is given for a verb even when its file is missing") {
    const Arguments a = parsed({"run", "--help"});
    CHECK(a.error == "");
    CHECK(a.has("--help"));
    CHECK(a.command->name == "run");
}

TEST_CASE("no verb is no error here") {
    const Arguments a = parsed({});
    CHECK(a.error == "");
    CHECK(a.command == nullptr);
}

TEST_CASE("help has 80 columns") {
    std::vector<std::string> texts = {help_text()};
    for (const CommandSpec& c : commands()) {
        texts.push_back(help_text(c));
    }
    for (const std::string& text : texts) {
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            CHECK_MESSAGE((line.size() <= 80 || line.starts_with("  memwall ")), line);
        }
    }
}

TEST_CASE("help of every verb starts with examples and names each option") {
    for (const CommandSpec& c : commands()) {
        const std::string text = help_text(c);
        CHECK(text.starts_with("Examples\n"));
        CHECK_FALSE(c.examples.empty());
        for (const OptionSpec& o : c.options) {
            CHECK_MESSAGE(text.find(o.flag) != std::string::npos, c.name, " ", o.flag);
        }
    }
}

TEST_CASE("the man page and both completions name every verb and option") {
    for (const CommandSpec& c : commands()) {
        for (const std::string& text : {man_page("1.0"), bash_completion(), zsh_completion()}) {
            CHECK_MESSAGE(text.find(c.name) != std::string::npos, c.name);
        }
        for (const OptionSpec& o : c.options) {
            CHECK(bash_completion().find(o.flag) != std::string::npos);
            CHECK(zsh_completion().find(o.flag) != std::string::npos);
        }
    }
}

TEST_CASE("no flag stands twice within reach of one verb") {
    for (const CommandSpec& c : commands()) {
        std::set<std::string> seen;
        for (const auto* options : {&global_options(), &c.options}) {
            for (const OptionSpec& o : *options) {
                CHECK_MESSAGE(seen.insert(o.flag).second, c.name, " ", o.flag);
            }
        }
    }
}
