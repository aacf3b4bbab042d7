#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"
#include "tools/commands/prediction.h"

namespace memwall::cli {
namespace {

nlohmann::ordered_json as_json(const Diagnostic& d) {
    return {{"severity", d.severity == Severity::Error ? "error" : "warning"},
            {"code", d.code},
            {"file", d.place.file},
            {"line", d.place.line},
            {"column", d.place.column},
            {"text", d.text},
            {"hint", d.hint}};
}

}  // namespace

int command_check(Session& session) {
    const bool json = session.arguments().has("--json");
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    Diagnostics diagnostics;
    bool sound = true;
    for (const std::string& file : session.arguments().positionals) {
        Diagnostics of_file;
        const std::optional<Loaded> loaded = session.scenario(file, of_file);
        if (loaded) {
            check_runnable(*loaded, of_file);
        }
        sound = sound && !of_file.has_errors();
        if (json) {
            nlohmann::ordered_json findings = nlohmann::ordered_json::array();
            for (const Diagnostic& d : of_file.sorted()) {
                findings.push_back(as_json(d));
            }
            all.push_back(
                {{"scenario", file}, {"sound", !of_file.has_errors()}, {"findings", findings}});
        } else if (!of_file.has_errors()) {
            print(fmt::format("{}: ok\n", file));
        }
        diagnostics.append(of_file);
    }
    if (json) {
        const nlohmann::ordered_json document = {{"schema_version", "memwall/check/1"},
                                                 {"scenarios", all}};
        print(document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    } else {
        session.complain(diagnostics);
    }
    return sound ? kDone : kWrongInput;
}

}  // namespace memwall::cli
