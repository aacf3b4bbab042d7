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

std::string recompute_lines(const Row& row, Framework& f) {
    const std::string word = plain_word(row.text("recompute"));
    if (word.starts_with("full")) {
        return "  recompute: full\n";
    }
    if (word.starts_with("selective")) {
        return "  recompute: selective\n";
    }
    if (word.empty()) {
        f.assumptions.emplace_back("recompute: none");
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
    if (word.empty()) {
        f.assumptions.emplace_back("sharding: none");
    }
    return "";
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

Framework megatron_2021(const Row&) {
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

std::string low_precision(const Row& row, std::string otherwise) {
    const std::string word = plain_word(row.text("precision"));
    for (const std::string_view name : {"fp8", "mxfp8", "nvfp4"}) {
        if (word.starts_with(name)) {
            return std::string(name) + "_mixed_fp32_gradients";
        }
    }
    return otherwise;
}

Framework transformer_engine(const Row& row, std::string stack) {
    Framework f;
    f.stack = std::move(stack);
    f.precision = low_precision(row, "bf16_mixed_fp32_gradients");
    f.optimizer = "adamw_fused";
    f.gradients = "  gradients: {reduce_dtype: fp32, bucket: 200MB}\n";
    f.sequence_parallel = true;
    f.memory = MemoryFigure::Allocated;
    if (f.stack == "megatron-lm-2025") {
        f.gradients = "  gradients: {reduce_dtype: fp32}\n";
    }
    return f;
}

Framework fsdp(const Row& row, std::string stack, std::string_view reduce) {
    Framework f;
    f.stack = std::move(stack);
    f.precision =
        says(row, "precision", "fp8") ? "fp8_params_fp32_states" : "bf16_params_fp32_states";
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
        f = megatron_2021(row);
    } else if (word.starts_with("megatron")) {
        f = transformer_engine(row, "megatron-lm-2025");
    } else if (word.starts_with("nemo")) {
        f = transformer_engine(row, "nemo-2024");
    } else if (word.starts_with("fsdp-(composer")) {
        f = fsdp(row, "composer-2023", "bf16");
    } else if (word.starts_with("torchtitan")) {
        f = fsdp(row, "torchtitan-2025", "fp32");
        f.sequence_parallel = true;
    } else if (word == "fsdp") {
        f = fsdp(
            row, says(row, "notes", "compile=Y") ? "fsdp1-compile-2024" : "fsdp1-2024", "bf16");
    } else if (word.starts_with("internevo")) {
        f = fsdp(row, "internevo-2024", "bf16");
        f.precision = "bf16_mixed";
    } else if (word.starts_with("deepspeed")) {
        f = fsdp(row, "deepspeed-2024", "bf16");
        f.precision = "bf16_mixed";
    } else if (word.starts_with("pytorch")) {
        f = fsdp(row, "pytorch-ddp-2024", "bf16");
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
    } else if (says(row, "recompute", "sac")) {
        f.not_yet = "";
    }
    return f;
}

}  // namespace memwall
