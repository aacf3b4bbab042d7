// The GPU files as shipped: they load, every number has a source, and the laws give sane times with them.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/hardware/kernel_time.h"
#include "sim/io/load.h"

using namespace memwall;

namespace {

struct Shelf {
    DiskFiles files;
    DataSource source{files, {MEMWALL_SOURCE_DIR}};

    Gpu gpu(const std::string& name) {
        Diagnostics diagnostics;
        const std::optional<Gpu> loaded = load_gpu(name, source, diagnostics);
        for (const Diagnostic& d : diagnostics.sorted()) {
            CAPTURE(d.place.line);
            const std::string problem = name + ": " + d.text;
            FAIL_CHECK(problem);
        }
        REQUIRE(loaded);
        return *loaded;
    }
};

// Dotted paths of all scalars that start with a digit.
void collect_numbers(const DocNode& node, const std::string& path, std::vector<std::string>& out) {
    if (node.kind == DocNode::Kind::Scalar && !node.scalar.empty() && node.scalar[0] >= '0' &&
        node.scalar[0] <= '9') {
        out.push_back(path);
    }
    for (const DocEntry& entry : node.entries) {
        if (entry.key != "sources") {
            collect_numbers(entry.value, path.empty() ? entry.key : path + "." + entry.key, out);
        }
    }
    for (const DocNode& item : node.items) {
        collect_numbers(item, path, out);
    }
}

Dtype sixteen_bit(const Gpu& gpu) {
    return gpu.gemm.contains(Dtype::Bf16) ? Dtype::Bf16 : Dtype::Fp16;
}

// Flops per second of a product so large that nothing but the clock limits it.
double plateau(const Gpu& gpu, Dtype dtype) {
    const Gemm huge{.m = 65536, .n = 65536, .k = 65536, .dtype = dtype};
    return flops_of(huge).value / to_seconds(kernel_time(gpu, huge).duration);
}

}  // namespace

TEST_CASE("all GPUs of the issue are on the shelf") {
    Shelf shelf;
    const std::vector<std::string> names = shelf.source.names(DataKind::Gpu);
    for (const char* wanted :
         {"v100-32g-sxm2", "a100-40g-sxm",  "a100-80g-sxm", "a100-40g-pcie", "a100-80g-pcie",
          "h100-80g-sxm",  "h100-80g-pcie", "h100-nvl",     "h200",          "b200",
          "gb200",         "gb300",         "l40s",         "rtx3090",       "rtx4090",
          "rtx5090",       "a6000",         "h20",          "h800",          "a800-80g-sxm",
          "mi250x",        "mi250x-gcd",    "mi300x"}) {
        CAPTURE(wanted);
        CHECK(std::ranges::find(names, wanted) != names.end());
    }
}

TEST_CASE("every number of a GPU file has a source") {
    Shelf shelf;
    for (const std::string& name : shelf.source.names(DataKind::Gpu)) {
        Diagnostics diagnostics;
        const auto document = load_document(DataKind::Gpu, name, shelf.source, diagnostics);
        REQUIRE(document);
        CHECK_FALSE(diagnostics.has_errors());
        const Provenance provenance = collect_sources(*document);
        std::vector<std::string> numbers;
        collect_numbers(*document, "", numbers);
        CHECK(numbers.size() > 30);
        for (const std::string& path : numbers) {
            CAPTURE(name);
            CAPTURE(path);
            CHECK_FALSE(provenance.find(path).empty());
        }
    }
}

TEST_CASE("every GPU file is consistent within itself") {
    Shelf shelf;
    for (const std::string& name : shelf.source.names(DataKind::Gpu)) {
        CAPTURE(name);
        const Gpu gpu = shelf.gpu(name);
        CHECK(gpu.name == name);
        CHECK(gpu.usable < gpu.memory);
        CHECK(gpu.usable / gpu.memory > 0.9);
        CHECK(gpu.pcie_efficiency > 0.5);
        for (const auto& [dtype, rates] : gpu.gemm) {
            CHECK(gpu.peak.contains(dtype));
            CHECK(rates.memory <= gpu.hbm);
        }
        for (const auto& [kind, rates] : gpu.memory_kernels) {
            CHECK(rates.efficiency <= 1);
        }
        CHECK(gpu.memory_kernels.contains(MemoryKind::Elementwise));
        CHECK(std::ranges::is_sorted(gpu.occupancy, {}, &OccupancyPoint::threads));
        CHECK(std::ranges::is_sorted(gpu.occupancy, {}, &OccupancyPoint::rate));
    }
}

// Measured plateaus lie between 0.45 (B200, long runs) and 0.93 (A100) of the datasheet; GeForce boards clock above it.
TEST_CASE("every GPU multiplies large matrices at a plausible share of its datasheet rate") {
    Shelf shelf;
    for (const std::string& name : shelf.source.names(DataKind::Gpu)) {
        CAPTURE(name);
        const Gpu gpu = shelf.gpu(name);
        for (const auto& [dtype, rates] : gpu.gemm) {
            const double share = plateau(gpu, dtype) / gpu.peak.at(dtype).value;
            CAPTURE(static_cast<int>(dtype));
            CHECK(share > 0.4);
            CHECK(share < 1.02);
        }
    }
}

TEST_CASE("every GPU answers for every kind of kernel it supports") {
    Shelf shelf;
    for (const std::string& name : shelf.source.names(DataKind::Gpu)) {
        CAPTURE(name);
        const Gpu gpu = shelf.gpu(name);
        std::vector<Kernel> kernels{
            Gemm{.m = 4096, .n = 4096, .k = 4096, .dtype = sixteen_bit(gpu)},
            Gemm{.m = 4096, .n = 4096, .k = 4096, .dtype = Dtype::Fp32},
            MemoryBound{.bytes = Bytes(1 << 28)},
            MemoryBound{.kind = MemoryKind::Optimizer, .bytes = Bytes(1 << 28)},
            Copy{.bytes = Bytes(1 << 28)}};
        if (name != "v100-32g-sxm2") {
            for (const bool backward : {false, true}) {
                kernels.emplace_back(Attention{.batch = 1,
                                               .heads = 32,
                                               .kv_heads = 8,
                                               .queries = 4096,
                                               .keys = 4096,
                                               .head_dim_qk = 128,
                                               .head_dim_v = 128,
                                               .backward = backward});
            }
        }
        for (const Kernel& kernel : kernels) {
            CAPTURE(kernel.index());
            REQUIRE(unsupported(gpu, kernel).empty());
            const Duration free = kernel_time(gpu, kernel).duration;
            CHECK(free > Duration(0));
            CHECK(free < Duration(1'000'000'000'000));
            CHECK(kernel_time(gpu, kernel, 16).duration >= free);
        }
    }
}

// Sustained plateaus of the fits, TFLOP/s: min(Ps, P / (1 + rb)); the two-CTA tile of sm90 and sm100 adds up to 1.9 %.
TEST_CASE("measured GPUs reach their sustained plateaus") {
    Shelf shelf;
    const std::vector<std::pair<const char*, double>> plateaus{{"a100-80g-sxm", 272},
                                                               {"a100-80g-pcie", 232},
                                                               {"h100-80g-sxm", 746},
                                                               {"h200", 724},
                                                               {"b200", 1090},
                                                               {"b300", 1454},
                                                               {"gb200", 1514},
                                                               {"gb300", 1871},
                                                               {"l40s", 204},
                                                               {"rtx-pro-6000", 396}};
    for (const auto& [name, tflops] : plateaus) {
        CAPTURE(name);
        Gpu gpu = shelf.gpu(name);
        gpu.gemm[Dtype::Bf16].long_run =
            1;  // the fits are to sweeps, not to thousands of repetitions
        CHECK(plateau(gpu, Dtype::Bf16) == doctest::Approx(tflops * 1e12).epsilon(0.02));
    }
}

TEST_CASE("a variant differs from its base where its file says so, and only there") {
    Shelf shelf;
    const Gpu base = shelf.gpu("a100-80g-sxm");
    const Gpu variant = shelf.gpu("a100-40g-sxm");
    CHECK(variant.memory == Bytes(40LL << 30));
    CHECK(variant.hbm == Bandwidth(1555e9));
    CHECK(variant.gemm.at(Dtype::Bf16).burst == base.gemm.at(Dtype::Bf16).burst);
    CHECK(variant.gemm.at(Dtype::Bf16).memory == Bandwidth(1555e9));
    CHECK(variant.nccl.ring == base.nccl.ring);
    CHECK(shelf.gpu("a800-80g-sxm").links == 8);
    CHECK(shelf.gpu("h100-80g-pcie").nccl.nvls == Bandwidth(0));
}

TEST_CASE("a V100 has neither bf16 nor a flash kernel") {
    Shelf shelf;
    const Gpu v100 = shelf.gpu("v100-32g-sxm2");
    CHECK(unsupported(v100, Gemm{.m = 1, .n = 1, .k = 1, .dtype = Dtype::Bf16}) ==
          "v100-32g-sxm2 has no bf16 arithmetic");
    CHECK(unsupported(v100, Attention{.dtype = Dtype::Fp16}) ==
          "v100-32g-sxm2 has no fused attention in fp16");
}
