// Any bytes as a text workload of ASTRA-sim: refused with an error, or turned into a program whose indices are in range.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "sim/io/astra_text.h"

using namespace memwall;

namespace {

void expect(bool holds) {
    if (!holds) {
        std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Diagnostics diagnostics;
    const std::string text(data, data + size);
    const std::optional<AstraWorkload> workload =
        read_astra_text("w", text, Duration(1000), diagnostics);
    if (!workload) {
        expect(diagnostics.has_errors());
        return 0;
    }
    const ProgramSet program = astra_program(*workload);
    for (const Item& item : program.programs.front().items) {
        const Op& op = program.ops[item.index];
        expect(op.label < program.labels.size());
        expect(op.work <
               (op.kind == OpKind::Compute ? program.kernels.size() : program.collectives.size()));
        for (const std::uint16_t slot : op.waits) {
            expect(slot == kNoSlot || slot < program.slots);
        }
    }
    return 0;
}
