#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/analyze/explanation.h"
#include "sim/core/codes.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"
#include "tools/commands/prediction.h"

namespace memwall::cli {
namespace {

std::string as_text(const Explanation& e, const TextStyle& style) {
    std::string text = style.bold(e.name) + (e.value.empty() ? "" : " = " + e.value) + "\n  " +
                       wrapped(e.meaning, style.width, 2) + "\n";
    if (!e.formula.empty()) {
        text += "  formula: " + wrapped(e.formula, style.width, 11) + "\n";
    }
    constexpr std::size_t kIndent = 4;
    std::size_t symbols = 0;
    std::size_t values = 0;
    for (const ExplainedInput& input : e.inputs) {
        symbols = std::max(symbols, input.symbol.size());
        values = std::max(values, input.value.size());
    }
    // What it is stands beside the value, or beneath where there is little room.
    const std::size_t column = kIndent + symbols + values + 4;
    const bool beside = column + 24 <= static_cast<std::size_t>(style.width);
    for (const ExplainedInput& input : e.inputs) {
        text += fmt::format("    {:<{}}  {:<{}}",
                            input.symbol,
                            symbols,
                            input.value,
                            beside && !input.meaning.empty() ? values : 0);
        if (!input.meaning.empty()) {
            const std::size_t at = beside ? column : kIndent + 4;
            text += beside ? "  " : "\n" + std::string(at, ' ');
            text += wrapped(input.meaning, style.width, static_cast<int>(at));
        }
        text += "\n";
    }
    return text;
}

std::string as_json(const Explanation& e) {
    nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
    for (const ExplainedInput& input : e.inputs) {
        inputs.push_back(
            {{"symbol", input.symbol}, {"meaning", input.meaning}, {"value", input.value}});
    }
    const nlohmann::ordered_json document = {{"schema_version", "memwall/explanation/1"},
                                             {"name", e.name},
                                             {"meaning", e.meaning},
                                             {"formula", e.formula},
                                             {"value", e.value},
                                             {"inputs", inputs}};
    return document.dump(2) + "\n";
}

int unknown(Session& session, const std::string& name) {
    const std::string_view near = nearest(name, explainable());
    return session.refuse(fmt::format("nothing known about '{}'", name),
                          near.empty() ? "every label of the report and every key of --json has "
                                         "an explanation, and every error code such as E0312"
                                       : fmt::format("did you mean '{}'?", near));
}

}  // namespace

int command_explain(Session& session) {
    const std::string name = session.arguments().positional(0);
    const bool json = session.arguments().has("--json");
    if (const std::string_view meaning = meaning_of(name); !meaning.empty()) {
        Explanation code;
        code.name = name;
        code.meaning = meaning;
        print(json ? as_json(code) : as_text(code, session.out()));
        return kDone;
    }
    if (explain(name, nullptr, nullptr).name.empty()) {
        return unknown(session, name);
    }
    const std::string scenario = session.arguments().positional(1);
    if (scenario.empty()) {
        const Explanation e = explain(name, nullptr, nullptr);
        print(json ? as_json(e) : as_text(e, session.out()));
        return kDone;
    }
    Diagnostics diagnostics;
    std::optional<Loaded> loaded = session.scenario(scenario, diagnostics);
    session.complain(diagnostics);
    if (!loaded) {
        return kWrongInput;
    }
    const std::unique_ptr<Prediction> predicted = predict(session, std::move(*loaded));
    if (!predicted) {
        return kWrongInput;
    }
    const Prediction& p = *predicted;
    if (!p.result.deadlock.empty()) {
        print_error(deadlock_text(p.result));
        return kBug;
    }
    const RunFacts facts = p.facts();
    const Metrics metrics = measure(facts);
    const Explanation e = explain(name, &facts, &metrics);
    print(json ? as_json(e) : as_text(e, session.out()));
    return kDone;
}

}  // namespace memwall::cli
