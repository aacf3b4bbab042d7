// Any bytes as a trace file: refused with an error, or read, written and read again to the same bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "sim/io/trace_file.h"
#include "sim/model/summary.h"

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
    const std::optional<WorkloadTrace> trace = read_trace("t", text, diagnostics);
    if (!trace) {
        expect(diagnostics.has_errors());
        return 0;
    }
    (void)summarise(*trace);
    for (const TraceFormat format : {TraceFormat::Yaml, TraceFormat::Json}) {
        const std::string written = write_trace(*trace, format);
        const std::optional<WorkloadTrace> again = read_trace("t", written, diagnostics);
        expect(again && write_trace(*again, format) == written);
    }
    return 0;
}
