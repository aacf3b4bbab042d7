#include "sim/validation/frameworks.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/validation/words.h"

namespace memwall {
namespace {

bool says(const Row& row, std::string_view column, std::string_view word) {
    return mentions(row.text(column), word);
}

bool is_ampere(std::string_view gpu) {
    return gpu.starts_with("a100") || gpu.starts_with("a800") || gpu.starts_with("v100");
}

bool adapts(const Row& row) {  // LoRA and its kin
    return says(row, "notes", "lora") || says(row, "task", "lora") || says(row, "model", "lora") ||
           says(row, "framework", "bnb") || says(row, "notes", "4-bit");
}

bool is_fsdp(const Row& row) {
    return says(row, "framework", "fsdp") || says(row, "sharding", "fsdp") ||
           says(row, "sharding", "hsdp");
}

std::string recompute_lines(const Row& row, Framework& f) {
    const std::string word = plain_word(row.text("recompute"));
    if (word.starts_with("full")) {
        return "  recompute: full\n";
    }
    if (word == "op-sac") {
        return "  recompute: operators\n";
    }
    if (word.starts_with("selective") && !is_fsdp(row)) {
        return "  recompute: selective\n";
    }
    if (word.starts_with("selective")) {
        const int half = row.whole("layers").value_or(2) / 2;
        f.assumptions.emplace_back("selective recompute of FSDP: every other block in full");
        return fmt::format("  recompute: full\n  recompute_layers: {}\n", half);
    }
    if (word.empty()) {
        f.assumptions.emplace_back("recompute: none");
    } else if (word != "none") {
        f.not_yet = fmt::format("recompute '{}'", row.text("recompute"));
    }
    return "  recompute: none\n";
}

std::string sharding_lines(const Row& row, Framework& f) {
    const std::string word = plain_word(row.text("sharding"));
    if (word.starts_with("fsdp")) {
        return "  sharding: {kind: fsdp}\n";
    }
    if (word.starts_with("hsdp")) {
        return "  sharding: {kind: hsdp, shard: 8, replicate: auto}\n";
    }
    if (word.starts_with("zero")) {
        const std::string kind = word.substr(0, 5);
        if (says(row, "sharding", "within")) {
            return fmt::format("  sharding: {{kind: {}, shard: 8, replicate: auto}}\n", kind);
        }
        return fmt::format("  sharding: {{kind: {}}}\n", kind);
    }
    if ((word.empty() || word == "ddp") && f.stack.starts_with("nemo")) {
        f.assumptions.emplace_back("sharding: zero1 (distributed optimizer)");
        return "  sharding: {kind: zero1}\n";
    }
    if (word.empty()) {
        f.assumptions.emplace_back("sharding: none");
    }
    return "";
}

// Of NeMo and MLPerf: distributed optimizer, 16-bit gradient buckets.
Framework nemo(const Row& row, std::string stack) {
    Framework f;
    f.stack = std::move(stack);
    f.precision = "bf16_mixed";
    f.optimizer = "adamw_fused";
    f.gradients = "  gradients: {reduce_dtype: bf16}\n";
    f.sequence_parallel = true;
    f.memory = MemoryFigure::Allocated;
    f.vocabulary = row.whole("gated_mlp").value_or(0) != 0 ? 32000 : 51200;
    f.assumptions.emplace_back("gradients: reduced in bf16");
    return f;
}

// The recipe of the linear layers where the row says fp8, mxfp8 or nvfp4.
void take_recipe(const Row& row, Framework& f) {
    if (says(row, "precision", "mxfp8")) {
        f.recipe = "mxfp8";
    } else if (says(row, "precision", "nvfp4") || says(row, "precision", "fp4")) {
        f.recipe = "nvfp4";
    } else if (says(row, "precision", "fp8")) {
        if (says(row, "notes", "rowwise")) {
            f.not_yet = "fp8 with scales by rows";
            return;
        }
        const bool current = f.stack == "nemo-2025" || f.stack == "torchtitan-2025";
        f.recipe = current ? "fp8_tensorwise" : "fp8_delayed";
    }
    if (!f.recipe.empty()) {
        f.assumptions.push_back(fmt::format("recipe: {}", f.recipe));
    }
}

Framework megatron_deepspeed(const Row& row) {
    Framework f;
    f.stack = "megatron-deepspeed-2022";
    f.precision = says(row, "precision", "bf16") ? "bf16_mixed_fp32_gradients" : "fp16_mixed";
    f.optimizer = "adamw_fused";
    f.gradients = says(row, "precision", "bf16") ? "  gradients: {reduce_dtype: fp32}\n"
                                                 : "  gradients: {reduce_dtype: fp16}\n";
    f.attention = "unfused";
    f.dropout = 0.1;
    f.memory = MemoryFigure::Device;
    f.vocabulary = 50257;
    return f;
}

Framework megatron_2021() {
    Framework f;
    f.stack = "megatron-lm-2021";
    f.precision = "fp16_mixed";
    f.optimizer = "adamw_fused";
    f.gradients = "  gradients: {reduce_dtype: fp16}\n";
    f.attention = "unfused";
    f.dropout = 0.1;
    f.memory = MemoryFigure::Device;
    return f;
}

Framework transformer_engine(std::string stack) {
    Framework f;
    f.stack = std::move(stack);
    f.precision = "bf16_mixed_fp32_gradients";
    f.optimizer = "adamw_fused";
    f.gradients = "  gradients: {reduce_dtype: fp32, bucket: 200MB}\n";
    f.sequence_parallel = true;
    f.memory = MemoryFigure::Allocated;
    if (f.stack == "megatron-lm-2025") {
        f.gradients = "  gradients: {reduce_dtype: fp32}\n";
    }
    return f;
}

Framework fsdp(std::string stack, std::string_view reduce) {
    Framework f;
    f.stack = std::move(stack);
    f.precision = "bf16_params_fp32_states";
    f.optimizer = "adamw_fused";
    f.gradients = fmt::format("  gradients: {{reduce_dtype: {}}}\n", reduce);
    f.memory = MemoryFigure::Reserved;
    f.vocabulary = 32000;
    return f;
}

}  // namespace

tl::expected<Framework, std::string> framework_of(const Row& row, std::string_view gpu) {
    const std::string word = plain_word(row.text("framework"));
    Framework f;
    if (word.starts_with("megatron-deepspeed")) {
        f = megatron_deepspeed(row);
    } else if (word.starts_with("megatron") && is_ampere(gpu)) {
        f = megatron_2021();
    } else if (word.starts_with("megatron")) {
        f = transformer_engine("megatron-lm-2025");
    } else if (word.starts_with("nemo")) {
        f = nemo(row, says(row, "framework", "bridge") ? "nemo-2025" : "nemo-2024");
    } else if (word.starts_with("fsdp-(composer")) {
        f = fsdp("composer-2023", "bf16");
        f.optimizer = "adamw";  // DecoupledAdamW of Composer, an operator at a time
    } else if (word.starts_with("torchtitan")) {
        f = fsdp("torchtitan-2025", "fp32");
        f.sequence_parallel = true;
    } else if (word == "fsdp") {
        f = fsdp(says(row, "notes", "compile=Y") ? "fsdp1-compile-2024" : "fsdp1-2024", "bf16");
    } else if (word.starts_with("internevo")) {
        f = fsdp("internevo-2024", "bf16");
        f.precision = "bf16_mixed";
    } else if (word.starts_with("deepspeed")) {
        f = fsdp("deepspeed-2024", "bf16");
        f.precision = "bf16_mixed";
    } else if (word.starts_with("pytorch")) {
        f = fsdp("pytorch-ddp-2024", "bf16");
        f.precision = "bf16_mixed";
    } else {
        return tl::unexpected(
            word.empty() ? "it names no framework"
                         : fmt::format("framework '{}' has no stack file", row.text("framework")));
    }
    f.sharding = sharding_lines(row, f);
    f.recompute = recompute_lines(row, f);
    if (adapts(row)) {
        f.not_yet = "LoRA or QLoRA";
    } else if (says(row, "overlap", "asynctp")) {
        f.not_yet = "asynchronous tensor parallelism";
    } else if (says(row, "schedule", "zb") || says(row, "schedule", "dualpipe")) {
        f.not_yet = fmt::format("schedule {}", row.text("schedule"));
    } else if (says(row, "task", "sft")) {
        f.not_yet = "fine-tuning";
    } else if (f.not_yet.empty()) {
        take_recipe(row, f);
    }
    if (f.stack.starts_with("nemo") && row.text("precision").empty()) {
        return tl::unexpected(std::string("it does not state a precision"));
    }
    return f;
}

}  // namespace memwall
