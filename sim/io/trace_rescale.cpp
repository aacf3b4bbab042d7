#include "sim/io/trace_rescale.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "sim/hardware/kernel_time.h"
#include "sim/io/load.h"

namespace memwall {
namespace {

// What became of the ops that were measured on one GPU.
struct Measurements {
    std::optional<Gpu> gpu;
    int rescaled = 0;
    int kept = 0;
    double least = 0;
    double most = 0;
};

double scale_of(const Kernel& kernel, const Gpu& gpu, const Gpu& measured_on) {
    if (std::holds_alternative<Measured>(kernel) || !unsupported(gpu, kernel).empty() ||
        !unsupported(measured_on, kernel).empty()) {
        return 0;
    }
    return to_seconds(kernel_time(gpu, kernel).duration) /
           to_seconds(kernel_time(measured_on, kernel).duration);
}

void rescale(TraceOp& op, const Gpu& gpu, Measurements& all) {
    const double scale = all.gpu ? scale_of(op.kernel, gpu, *all.gpu) : 0;
    if (!(scale > 0)) {
        ++all.kept;
        return;
    }
    op.measured_scale = scale;
    all.least = all.rescaled == 0 ? scale : std::min(all.least, scale);
    all.most = std::max(all.most, scale);
    ++all.rescaled;
}

std::optional<Gpu> find_gpu(const std::string& name, DataSource& source) {
    Diagnostics unheard;  // a GPU that is not known is an answer here
    return load_gpu(name, source, unheard);
}

}  // namespace

void rescale_measured(WorkloadTrace& trace,
                      const Gpu& gpu,
                      const Place& place,
                      DataSource& source,
                      Diagnostics& diagnostics) {
    std::map<std::string, Measurements> by_gpu;
    for (LayerTrace& kind : trace.kinds) {
        for (std::vector<TraceItem>* items : {&kind.forward, &kind.backward}) {
            for (TraceItem& item : *items) {
                if (!item.op || !item.op->measured || item.op->measured_gpu.empty() ||
                    item.op->measured_gpu == gpu.name) {
                    continue;
                }
                const auto [found, is_first] = by_gpu.try_emplace(item.op->measured_gpu);
                if (is_first) {
                    found->second.gpu = find_gpu(found->first, source);
                }
                rescale(*item.op, gpu, found->second);
            }
        }
    }
    for (const auto& [name, all] : by_gpu) {
        std::string text;
        if (all.rescaled > 0) {
            text =
                fmt::format("{} ops measured on {} are rescaled to {} by the kernel laws, x {:.3g}",
                            all.rescaled,
                            name,
                            gpu.name,
                            all.least);
            text += all.most > all.least ? fmt::format(" to {:.3g}", all.most) : "";
        }
        if (all.kept > 0) {
            text += fmt::format("{}{} ops measured on {} keep their duration on {}: {}",
                                text.empty() ? "" : "; ",
                                all.kept,
                                name,
                                gpu.name,
                                all.gpu ? "no law for their kernels" : "no gpu file of that name");
        }
        diagnostics.warning("W0530", place, std::move(text));
    }
}

}  // namespace memwall
