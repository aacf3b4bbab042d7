#include "sim/validation/training_row.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/validation/frameworks.h"
#include "sim/validation/machine_text.h"
#include "sim/validation/words.h"

namespace memwall {
namespace {

constexpr double kGiB = 1073741824.0;

class Mapper {
  public:
    explicit Mapper(const Row& row) : row_(row) {}

    tl::expected<TrainingCase, NotMapped> run() {
        if (!figures() || !gpu() || !degrees() || !framework() || !model() || !batch()) {
            return tl::unexpected(why_);
        }
        if (!supported()) {
            return tl::unexpected(why_);
        }
        write();
        return std::move(out_);
    }

  private:
    bool refuse(std::string reason, bool not_yet = false) {
        why_ = {std::move(reason), not_yet};
        return false;
    }
    void assume(std::string text) { out_.assumptions.push_back(std::move(text)); }

    // A count that the row may leave out.
    [[nodiscard]] int count(std::string_view column, int otherwise) const {
        const auto value = row_.whole(column);
        return value && *value > 0 ? *value : otherwise;
    }

    bool figures() {
        const auto time = row_.number("step_time_s");
        const auto derived = row_.number("derived_step_time_s");
        out_.step_time_s = time ? *time : derived.value_or(0);
        if (const auto gib = row_.number("peak_mem_gib")) {
            out_.peak_bytes = *gib * kGiB;
        } else if (const auto gb = row_.number("peak_mem_gb_nvidia_smi")) {
            out_.peak_bytes = *gb * 1e9;
        }
        out_.out_of_memory = row_.whole("oom").value_or(0) != 0;
        if (out_.step_time_s <= 0 && !row_.has("tokens_per_s_per_gpu") && out_.peak_bytes <= 0 &&
            !out_.out_of_memory) {
            return refuse("it states neither a step time, nor tokens/s, nor a memory peak");
        }
        return true;
    }

    bool gpu() {
        const std::string_view name = row_.text("gpu");
        const auto known = known_gpu(name);
        if (name.empty() || !known) {
            return refuse(name.empty() ? "it names no GPU"
                                       : fmt::format("GPU '{}' has no file", name));
        }
        gpu_ = *known;
        out_.gpu = gpu_.file;
        if (!gpu_.assumption.empty()) {
            assume(fmt::format("gpu '{}': {}", name, gpu_.assumption));
        }
        return true;
    }

    bool degrees() {
        gpus_ = count("n_gpus", 0);
        if (gpus_ == 0) {
            return refuse("it does not state the number of GPUs");
        }
        tp_ = count("tp", 1);
        pp_ = count("pp", 1);
        vpp_ = count("vpp", 1);
        cp_ = count("cp", 1);
        ep_ = count("ep", 1);
        if (gpus_ % (tp_ * pp_ * cp_) != 0) {
            return refuse(
                fmt::format("tp {} x pp {} x cp {} does not divide {} GPUs", tp_, pp_, cp_, gpus_));
        }
        dp_ = gpus_ / (tp_ * pp_ * cp_);
        out_.gpus = gpus_;
        return true;
    }

    bool framework() {
        const auto known = framework_of(row_, out_.gpu);
        if (!known) {
            return refuse(known.error());
        }
        framework_ = *known;
        out_.framework = row_.text("framework");
        out_.stack = framework_.stack;
        return true;
    }

    bool model() {
        out_.model = row_.text("model");
        layers_ = count("layers", count("layers_inferred", 0));
        hidden_ = count("hidden", 0);
        heads_ = count("heads", 0);
        sequence_ = count("seq_len", 0);
        for (const auto& [what, value] :
             {std::pair{"layers", layers_}, {"hidden", hidden_}, {"seq_len", sequence_}}) {
            if (value == 0) {
                return refuse(fmt::format("it does not state {}", what));
            }
        }
        if (heads_ == 0) {
            if (hidden_ % 128 != 0) {
                return refuse("it does not state heads");
            }
            heads_ = hidden_ / 128;
            assume("heads: hidden / 128");
        }
        gated_ = row_.whole("gated_mlp").value_or(0) != 0;
        ffn_ = count("ffn_hidden", 0);
        if (ffn_ == 0) {
            ffn_ = gated_ ? (8 * hidden_ / 3 + 255) / 256 * 256 : 4 * hidden_;
            assume(gated_ ? "ffn_hidden: 8/3 hidden, rounded up to 256" : "ffn_hidden: 4 hidden");
        }
        kv_heads_ = count("kv_heads", heads_);
        vocabulary_ = count("vocab", 0);
        if (vocabulary_ == 0) {
            vocabulary_ = framework_.vocabulary;
            assume(fmt::format("vocab: {}", vocabulary_));
        }
        head_dim_ = 0;
        const std::string_view notes = row_.text("notes");
        if (const std::size_t at = notes.find("head_dim "); at != std::string_view::npos) {
            head_dim_ = std::atoi(std::string(notes.substr(at + 9, 6)).c_str());
        }
        if (head_dim_ == 0 && hidden_ % heads_ != 0) {
            return refuse(fmt::format("{} heads do not divide hidden {}", heads_, hidden_));
        }
        return true;
    }

    bool batch() {
        micro_ = count("micro_batch", 0);
        global_ = count("global_batch", 0);
        if (global_ == 0 && micro_ > 0) {
            const int accumulated = count("grad_accum", 1);
            global_ = micro_ * dp_ * accumulated;
            assume(fmt::format("global_batch: micro_batch x dp x {}", accumulated));
        }
        if (global_ == 0) {
            return refuse("it does not state the batch");
        }
        if (micro_ == 0) {
            const int accumulated = count("grad_accum", pp_ > 1 ? pp_ : 1);
            micro_ = std::max(1, global_ / dp_ / accumulated);
            assume(fmt::format("micro_batch: {} ({} micro-batches)", micro_, accumulated));
        }
        if (global_ % (micro_ * dp_) != 0) {
            const int wanted = global_;
            global_ = std::max(1, global_ / (micro_ * dp_)) * micro_ * dp_;
            assume(fmt::format("global_batch {} is not a multiple of micro_batch x dp: {} is run",
                               wanted,
                               global_));
            scale_ = static_cast<double>(global_) / wanted;
        }
        if (out_.step_time_s <= 0) {
            if (const auto tokens = row_.number("tokens_per_s_per_gpu")) {
                out_.step_time_s =
                    static_cast<double>(global_) / scale_ * sequence_ / (*tokens * gpus_);
            }
        }
        out_.step_time_s *= scale_;
        return true;
    }

    bool supported() {
        if (ep_ > 1 || count("experts", 0) > 1) {
            return refuse(ep_ > 1 ? "expert parallelism" : "a model with experts", true);
        }
        if (!framework_.not_yet.empty()) {
            return refuse(framework_.not_yet, true);
        }
        return true;
    }

    void write_model(std::string& y) const {
        y += fmt::format(
            "workload:\n  model:\n    name: row\n    layers: {}\n    hidden: {}\n    heads: {}\n   "
            " "
            "kv_heads: {}\n    ffn: {}\n    vocabulary: {}\n    gated: {}\n    tied_embeddings: "
            "{}\n  "
            "  linear_bias: {}\n    norm: {}\n    position: {}\n    dropout: {}\n",
            layers_,
            hidden_,
            heads_,
            kv_heads_,
            ffn_,
            vocabulary_,
            gated_,
            !gated_,
            !gated_,
            gated_ ? "rms_norm" : "layer_norm",
            gated_ ? "rotary" : "learned",
            framework_.dropout);
        if (head_dim_ > 0) {
            y += fmt::format("    head_dim: {}\n", head_dim_);
        }
        if (!gated_) {
            y += fmt::format("    positions: {}\n", sequence_);
        }
        if (!framework_.attention.empty()) {
            y += fmt::format("    attention: {}\n", framework_.attention);
        }
        y += fmt::format("  sequence: {}\n", sequence_);
    }

    // Megatron's default is the ring (context_parallel comm type p2p), and torchtitan's of 2024.
    const char* context_kind() {
        const bool heads =
            mentions(row_.text("notes"), "a2a") || mentions(row_.text("notes"), "ulysses");
        if (cp_ > 1 && !heads) {
            assume("cp_kind: ring");
        }
        return heads ? "all_to_all" : "ring";
    }

    void write_strategy(std::string& y) {
        y += fmt::format("batch: {{global: {}, micro: {}}}\n", global_, micro_);
        const bool sequence_parallel = row_.has("sequence_parallel")
                                           ? row_.whole("sequence_parallel").value_or(0) != 0
                                           : tp_ > 1 && framework_.sequence_parallel;
        y += fmt::format(
            "parallel:\n  tp: {}\n  pp: {}\n  vpp: {}\n  cp: {}\n  cp_kind: {}\n  dp: {}\n  "
            "sequence_parallel: "
            "{}\n  "
            "schedule: {}\n  stage_layout: {}\n",
            tp_,
            pp_,
            vpp_,
            cp_,
            context_kind(),
            dp_,
            sequence_parallel && tp_ > 1,
            vpp_ > 1 ? "interleaved_1f1b" : "1f1b",
            layers_ % (pp_ * vpp_) == 0 ? "even" : "embedding_and_head_as_layers");
        y += framework_.sharding;
        y += framework_.gradients;
        y += fmt::format("training:\n  precision: {}\n  optimizer: {}\n",
                         framework_.precision,
                         framework_.optimizer);
        if (!framework_.recipe.empty()) {
            y += fmt::format("  recipe: {}\n", framework_.recipe);
        }
        y += framework_.recompute;
        y += fmt::format("stack: {}\n", framework_.stack);
    }

    void write() {
        std::string& y = out_.scenario;
        y = fmt::format(
            "# {} of {}\nschema: memwall/scenario/1\nname: row\n", row_.id(), row_.table().name);
        const int per_node = std::min(count("gpus_per_node", std::min(8, gpus_)), gpus_);
        y += machine_of(row_, gpu_, gpus_, per_node, out_.assumptions).text;
        write_model(y);
        write_strategy(y);
        out_.memory = out_.peak_bytes > 0 ? framework_.memory : MemoryFigure::None;
        for (const std::string& a : framework_.assumptions) {
            assume(a);
        }
    }

    const Row& row_;
    TrainingCase out_;
    NotMapped why_;
    KnownGpu gpu_;
    Framework framework_;
    int gpus_ = 0;
    int tp_ = 1;
    int pp_ = 1;
    int vpp_ = 1;
    int cp_ = 1;
    int ep_ = 1;
    int dp_ = 1;
    int layers_ = 0;
    int hidden_ = 0;
    int heads_ = 0;
    int kv_heads_ = 0;
    int head_dim_ = 0;
    int ffn_ = 0;
    int vocabulary_ = 0;
    int sequence_ = 0;
    int micro_ = 0;
    int global_ = 0;
    bool gated_ = false;
    double scale_ = 1;
};

}  // namespace

tl::expected<TrainingCase, NotMapped> training_case(const Row& row) {
    return Mapper(row).run();
}

}  // namespace memwall
