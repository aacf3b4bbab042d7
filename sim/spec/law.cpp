#include "sim/spec/law.h"

#include <fmt/format.h>

#include "sim/spec/legality.h"
#include "sim/spec/names.h"

namespace memwall {

bool reads_latencies(const Machine& machine) {
    return machine.fidelity == Fidelity::Stepwise ||
           (machine.law == CollectiveLaw::Steps && machine.fidelity != Fidelity::Ideal);
}

void take_law(Machine& machine,
              const DocNode& composed,
              Derivations& derivations,
              Diagnostics& diagnostics) {
    const bool counts_steps =
        machine.fidelity == Fidelity::Stepwise || machine.fidelity == Fidelity::Ideal;
    const std::string_view fidelity = name_of(machine.fidelity);
    if (counts_steps && machine.law != CollectiveLaw::Steps) {
        if (composed.at("machine.network.law") != nullptr) {
            Diagnostic& warning =
                diagnostics.warning("W0410",
                                    place_at(composed, "machine.network.law"),
                                    fmt::format("law {} has no effect: fidelity {} counts steps",
                                                name_of(machine.law),
                                                fidelity));
            warning.notes.push_back(
                {place_at(composed, "machine.network.fidelity"), "fidelity is given here"});
            warning.hint = "say `law: steps`, or `fidelity: fluid`";
        }
        machine.law = CollectiveLaw::Steps;
        derivations["machine.network.law"] = kFromDerived;
    }
    if (reads_latencies(machine)) {
        return;
    }
    for (const std::string_view key : kLatencyKeys) {
        const DocNode* node = composed.at(key);
        if (node == nullptr || node->place.file != "--set") {
            continue;
        }
        diagnostics
            .warning("W0410",
                     node->place,
                     fmt::format("{} has no effect: {}",
                                 key.substr(key.rfind('.') + 1),
                                 machine.fidelity == Fidelity::Ideal
                                     ? "an ideal network has no latency"
                                     : "the laws of NCCL contain the latency"))
            .hint = machine.fidelity == Fidelity::Ideal
                        ? "say `machine.network: {fidelity: fluid, law: steps}`"
                        : "say `machine.network: {law: steps}`, or set the steps of the laws: "
                          "nccl.step_ll and nccl.step_simple of gpu and fabric";
    }
}

}  // namespace memwall
