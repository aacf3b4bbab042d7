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
        text += "  formula: " + e.formula + "\n";
    }
    for (const ExplainedInput& input : e.inputs) {
        text += fmt::format("  {:<18} {:<22} {}\n", input.symbol, input.value, input.meaning);
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
    std::vector<std::string_view> names = explainable();
    const std::string_view near = nearest(name, names);
    return session.refuse(fmt::format("nothing known about '{}'", name),
                          near.empty() ? fmt::format("names: {}; or an error code such as E0312",
                                                     fmt::join(names, ", "))
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
    const std::optional<Prediction> predicted = predict(session, std::move(*loaded));
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
