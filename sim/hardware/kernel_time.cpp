#include "sim/hardware/kernel_time.h"

#include <variant>

#include "sim/hardware/attention.h"
#include "sim/hardware/copy.h"
#include "sim/hardware/gemm.h"
#include "sim/hardware/measured.h"
#include "sim/hardware/memory_bound.h"
#include "sim/hardware/rates.h"

namespace memwall {
namespace {

const char* dtype_name(Dtype d) {
    switch (d) {
    case Dtype::Fp32:
        return "fp32";
    case Dtype::Tf32:
        return "tf32";
    case Dtype::Fp16:
        return "fp16";
    case Dtype::Bf16:
        return "bf16";
    case Dtype::Fp8:
        return "fp8";
    case Dtype::MxFp8:
        return "mxfp8";
    case Dtype::NvFp4:
        return "nvfp4";
    }
    return "";
}

}  // namespace

KernelBreakdown kernel_time_explained(const Gpu& gpu,
                                      const Kernel& kernel,
                                      const KernelConditions& conditions) {
    struct Law {
        const Gpu& gpu;
        const KernelConditions& conditions;
        KernelBreakdown operator()(const Gemm& g) const { return gemm_time(gpu, g, conditions); }
        KernelBreakdown operator()(const Attention& a) const {
            return attention_time(gpu, a, conditions);
        }
        KernelBreakdown operator()(const MemoryBound& m) const {
            return memory_bound_time(gpu, m, conditions);
        }
        KernelBreakdown operator()(const Copy& c) const { return copy_time(gpu, c); }
        KernelBreakdown operator()(const Measured& m) const {
            return measured_time(gpu, m, conditions);
        }
    };
    return std::visit(Law{.gpu = gpu, .conditions = conditions}, kernel);
}

KernelTime kernel_time(const Gpu& gpu, const Kernel& kernel, int blocks) {
    const KernelBreakdown all = kernel_time_explained(gpu, kernel, {.blocks = blocks});
    return {.duration = all.duration, .limit = all.limit};
}

std::string unsupported(const Gpu& gpu, const Kernel& kernel) {
    if (const auto* g = std::get_if<Gemm>(&kernel)) {
        if (!gemm_rates(gpu, g->dtype)) {
            return gpu.name + " has no " + dtype_name(g->dtype) + " arithmetic";
        }
    }
    if (const auto* a = std::get_if<Attention>(&kernel)) {
        if (a->kind == AttentionKind::Flash3 && gpu.architecture != "sm90") {
            return "flash3 needs an sm90 GPU; " + gpu.name + " is " + gpu.architecture;
        }
        if (!attention_rates(gpu, {.kind = a->kind, .backward = a->backward, .dtype = a->dtype})) {
            return gpu.name + " has no fused attention in " + dtype_name(a->dtype);
        }
    }
    return {};
}

}  // namespace memwall
