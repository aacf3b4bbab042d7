#include "tests/fuzz/random_scenario.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace memwall::testing {
namespace {

constexpr std::array<std::string_view, 8> kNodes = {"dgx-a100",
                                                    "dgx-h100",
                                                    "pcie-8xa100-80g",
                                                    "bridge-8xa100-80g",
                                                    "gb200-nvl72",
                                                    "mi300x-8",
                                                    "h100-4x200g",
                                                    "dgx-b200"};
constexpr std::array<std::string_view, 6> kFabrics = {"hdr-rail-optimised",
                                                      "edr-fat-tree",
                                                      "ndr-fat-tree-3l",
                                                      "roce-100g",
                                                      "slingshot-200g",
                                                      "ndr-rail-optimised-3l"};
constexpr std::array<std::string_view, 6> kStacks = {"megatron-lm-2025",
                                                     "megatron-lm-2021",
                                                     "torchtitan-2025",
                                                     "deepspeed-2024",
                                                     "pytorch-ddp-2024",
                                                     "megatron-deepspeed-2022"};
constexpr std::array<std::string_view, 4> kFidelities = {
    "fluid", "alpha_beta", "ideal", "stepwise"};
constexpr std::array<std::string_view, 6> kAlgorithms = {
    "ring", "tree", "hierarchical", "nvls", "pairwise", "p2p"};
constexpr std::array<std::string_view, 6> kShardings = {
    "none", "zero1", "zero2", "zero3", "fsdp", "hsdp"};
constexpr std::array<std::string_view, 3> kP2p = {"batched", "blocking", "overlapped"};
constexpr std::array<std::string_view, 3> kRecomputes = {"none", "selective", "full"};
constexpr std::array<std::string_view, 3> kPrecisions = {
    "bf16_mixed", "fp16_mixed", "bf16_params_fp32_states"};
constexpr std::array<std::string_view, 4> kOptimizers = {"adam", "adamw", "adamw_fused", "sgd"};
// Of machines of more than one node, with and without several spines.
constexpr std::array<std::string_view, 6> kLinks = {"node0/nic0->network",
                                                    "node0/network->nic0",
                                                    "leaf0->spine",
                                                    "spine->leaf0",
                                                    "leaf0->spine0",
                                                    "spine0->leaf1"};

class Writer {
  public:
    explicit Writer(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

    std::string write() {
        text_ = "schema: memwall/scenario/1\nname: fuzz\n";
        write_machine();
        const int world = nodes_ * gpus_;
        write_job(world, "");
        if (background_nodes_ > 0) {
            add("background:\n  - nodes: {}..{}\n    start: {}us\n    scenario:\n",
                nodes_,
                nodes_ + background_nodes_ - 1,
                pick(40) * 50);
            write_job(background_nodes_ * gpus_, "      ");
        }
        add("run: {{steps: {}}}\n", 2 + (one_in(4) ? 1 : 0));
        return std::move(text_);
    }

  private:
    int pick(int choices) {
        if (at_ == bytes_.size()) {
            return 0;
        }
        return bytes_[at_++] % choices;
    }
    bool one_in(int n) { return pick(n) == n - 1; }
    bool yes() { return pick(2) == 1; }
    template <std::size_t N>
    std::string_view word(const std::array<std::string_view, N>& words) {
        return words[static_cast<std::size_t>(pick(static_cast<int>(N)))];
    }
    template <class... Args>
    void add(fmt::format_string<Args...> format, Args&&... args) {
        text_ += fmt::format(format, std::forward<Args>(args)...);
    }
    // A divisor of `n` that is a power of two, at most 8.
    int degree(int n) {
        int most = 0;
        while (most < 3 && n % (2 << most) == 0) {
            ++most;
        }
        return 1 << pick(most + 1);
    }

    void write_machine() {
        gpus_ = 1 << pick(4);
        nodes_ = 1 + pick(4);
        background_nodes_ = one_in(4) ? 1 + pick(2) : 0;
        const std::string_view node = word(kNodes);
        // A mesh lists links between all of its eight GPUs.
        gpus_ = node == "mi300x-8" || node.starts_with("bridge") ? 8 : gpus_;
        nodes_ = std::min(nodes_, gpus_ == 8 ? 2 : 4);
        add("machine:\n  cluster:\n    name: small\n    nodes_max: 16\n    node: {{base: {}, gpus: "
            "{}",
            node,
            gpus_);
        if (one_in(4)) {
            add(", nics: {}", 1 << pick(3));
        }
        add("}}\n    fabric: {{base: {}", word(kFabrics));
        if (yes()) {
            add(", leaf_nodes: {}", 1 + pick(3));
        }
        if (yes()) {
            add(", oversubscription: {}", 1 + pick(4));
        }
        if (one_in(4)) {
            add(", spines: {}", 1 + pick(3));
        }
        add("}}\n  nodes: {}\n", nodes_);
        if (one_in(4)) {
            add("  placement: {{nodes: cyclic}}\n");
        }
        add("  network: {{fidelity: {}, law: {}, interference: {}",
            word(kFidelities),
            yes() ? "steps" : "nccl",
            one_in(4) ? "false" : "true");
        if (one_in(6)) {
            add(", algorithm: {}", word(kAlgorithms));
        }
        add("}}\n");
        const int world = nodes_ * gpus_;
        const int stragglers = std::min(pick(3), world);
        const bool slow_link = nodes_ > 1 && one_in(4);
        if (stragglers > 0 || slow_link) {
            add("  events:\n");
        }
        for (int i = 0; i < stragglers; ++i) {
            add("    - straggler: {{rank: {}, slower: {}%}}\n",
                i * world / stragglers + pick(world / stragglers),
                1 + pick(60));
        }
        if (slow_link) {
            add("    - {{link: {}, capacity: {}%}}\n", word(kLinks), 10 + pick(90));
        }
    }

    void write_job(int world, std::string_view indent) {
        const int tp = degree(gpus_);
        const int pp = degree(world / tp);
        const int dp = world / tp / pp;
        const int vpp = pp > 1 && one_in(3) ? 2 : 1;
        const int layers = pp * vpp * (1 + pick(2));
        const int kv_heads = yes() ? 8 : 16;
        add("{}workload:\n{}  sequence: {}\n", indent, indent, 64 << pick(6));
        add("{}  model: {{name: tiny, layers: {}, hidden: {}, heads: 16, kv_heads: {}, ffn: {}, ",
            indent,
            layers,
            256 << pick(4),
            kv_heads,
            512 << pick(4));
        add("vocabulary: {}, gated: {}, norm: {}, position: {}, tied_embeddings: {}, linear_bias: "
            "{}}}\n",
            1000 + 777 * pick(8),
            yes(),
            yes() ? "rms_norm" : "layer_norm",
            yes() ? "rotary" : "none",
            yes(),
            yes());
        const int micro_batches = (vpp > 1 ? pp : 1) * (1 + pick(vpp > 1 ? 2 : 5));
        const int micro = 1 + pick(2);
        add("{}batch: {{global: {}, micro: {}}}\n", indent, dp * micro_batches * micro, micro);
        write_parallel({.tp = tp, .pp = pp, .dp = dp, .vpp = vpp, .layers = layers}, indent);
        const std::string_view recompute = word(kRecomputes);
        add("{}training: {{precision: {}, optimizer: {}, recompute: {}",
            indent,
            word(kPrecisions),
            word(kOptimizers),
            recompute);
        if (recompute == "full" && yes()) {
            add(", recompute_layers: {}", pick(layers / (pp * vpp) + 1));
        }
        if (recompute == "selective" && yes()) {
            add(", recompute_modules: [{}]", yes() ? "mlp, norm" : "norm");
        }
        add("}}\n");
        write_stack(indent);
    }

    struct Shape {
        int tp = 1;
        int pp = 1;
        int dp = 1;
        int vpp = 1;
        int layers = 1;
    };

    void write_parallel(const Shape& s, std::string_view indent) {
        const bool interleaved = s.vpp > 1;
        add("{}parallel:\n{}  tp: {}\n{}  pp: {}\n{}  dp: {}\n{}  vpp: {}\n",
            indent,
            indent,
            s.tp,
            indent,
            s.pp,
            indent,
            s.dp,
            indent,
            s.vpp);
        add("{}  schedule: {}\n",
            indent,
            interleaved ? "interleaved_1f1b"
            : yes()     ? "gpipe"
                        : "1f1b");
        add("{}  sequence_parallel: {}\n", indent, s.tp > 1 && yes());
        if (!interleaved && s.layers >= 2 * s.pp && s.pp > 1 && one_in(3)) {
            // One layer of the last stage goes to the first.
            const int usual = s.layers / s.pp;
            add("{}  stage_layout: [[{}]", indent, usual + 1);
            for (int stage = 1; stage < s.pp; ++stage) {
                add(", [{}]", stage + 1 == s.pp ? usual - 1 : usual);
            }
            add("]\n");
        }
        const std::string_view sharding = s.dp > 1 ? word(kShardings) : kShardings[0];
        if (sharding != "none") {
            add("{}  sharding: {{kind: {}", indent, sharding);
            if (sharding == "hsdp") {
                add(", shard: {}, replicate: auto", degree(s.dp));
            }
            if (yes()) {
                add(", prefetch: {}, reshard_after_forward: {}, sync_every_micro_batch: {}",
                    pick(3),
                    yes(),
                    yes());
            }
            add("}}\n");
        }
        add("{}  gradients: {{bucket: {}, reduce_dtype: {}}}\n",
            indent,
            yes() ? fmt::format("{}kB", 200 << pick(8)) : "0MB",
            yes() ? "bf16" : "fp32");
    }

    void write_stack(std::string_view indent) {
        add("{}stack:\n{}  base: {}\n{}  with:\n", indent, indent, word(kStacks), indent);
        add("{}    overlap.p2p: {}\n", indent, word(kP2p));
        for (const std::string_view key : {"overlap.tp_backward_all_reduce",
                                           "overlap.gradient_reduce",
                                           "overlap.parameter_gather",
                                           "overlap.p2p_scatter_gather",
                                           "host.drain_each_micro_batch",
                                           "ragged_interleaving"}) {
            add("{}    {}: {}\n", indent, key, yes());
        }
        if (yes()) {
            add("{}    host.kernel_launch: {}us\n", indent, pick(30));
            add("{}    host.collective_launch: {}us\n", indent, pick(30));
            add("{}    host.micro_batch: {}us\n", indent, pick(3) * 20);
            add("{}    host.step: {}us\n", indent, pick(3) * 100);
        }
    }

    std::span<const std::uint8_t> bytes_;
    std::size_t at_ = 0;
    std::string text_;
    int gpus_ = 1;
    int nodes_ = 1;
    int background_nodes_ = 0;
};

}  // namespace

std::string random_scenario(std::span<const std::uint8_t> bytes) {
    return Writer(bytes).write();
}

}  // namespace memwall::testing
