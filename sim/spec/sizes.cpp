// Sizes beyond which no machine goes: checked first, so that every later sum and product is an integer and every list fits.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/spec/legality.h"
#include "sim/spec/names.h"

namespace memwall {
namespace {

struct SizeLimit {
    const char* path;
    std::int64_t value;
    std::int64_t limit;
};

// Sums and products that later integer arithmetic relies on, in doubles: parameters, and the bytes of the widest tensors.
void check_products(const JobCheck& check) {
    constexpr double kMost = 1152921504606846976.0;  // 2^60
    const Job& job = check.job;
    const Model& m = job.model;
    const auto d = [](std::int64_t value) { return static_cast<double>(value); };
    // Runs before the model is completed: widths that are not given yet are at most these.
    const double heads =
        d(m.heads) *
        std::max({d(m.head_dim), d(m.mla.nope_dim) + d(m.mla.rope_dim), d(m.mla.v_dim)});
    const double attention = std::max(d(m.hidden), heads);
    const double layer =
        4 * attention * (d(m.hidden) + d(m.mla.q_rank) + d(m.mla.kv_rank)) +
        3 * d(m.hidden) * (d(m.ffn) + d(m.moe.shared_ffn) + d(m.moe.experts) * d(m.moe.ffn));
    const double parameters =
        d(m.layers) * layer + d(m.hidden) * (2 * d(m.vocabulary) + d(m.positions));
    if (16 * parameters > kMost) {
        check
            .error(
                "E0336",
                "workload.model",
                fmt::format("a model of {:.3g} parameters is beyond what is simulated", parameters))
            .hint = "it must be below 2^56";
    }
    const double tokens = d(job.batch.micro) * d(job.sequence);
    const double width = std::max({attention,
                                   2 * d(m.ffn),
                                   2 * d(m.moe.shared_ffn),
                                   d(m.vocabulary),
                                   d(m.moe.experts),
                                   d(m.moe.top_k) * std::max(d(m.hidden), 2 * d(m.moe.ffn))});
    const double scores = d(m.heads) * tokens * d(job.sequence);
    if (64 * std::max(tokens * width, scores) > kMost) {
        check
            .error("E0336",
                   "workload.sequence",
                   fmt::format(
                       "micro-batches of {:.3g} tokens are beyond what is simulated for this model",
                       tokens))
            .hint = "a tensor of one layer must stay below 2^54 elements";
    }
}

}  // namespace

// Beyond these no machine goes; they keep every later product within 64 bits and every list within memory.
void check_sizes(const JobCheck& check) {
    const Job& job = check.job;
    const std::array limits = {
        SizeLimit{"workload.model.layers", job.model.layers, 10'000},
        SizeLimit{"workload.model.hidden", job.model.hidden, std::int64_t{1} << 24},
        SizeLimit{"workload.model.heads", job.model.heads, std::int64_t{1} << 20},
        SizeLimit{"workload.model.kv_heads", job.model.kv_heads, std::int64_t{1} << 20},
        SizeLimit{"workload.model.head_dim", job.model.head_dim, std::int64_t{1} << 20},
        SizeLimit{"workload.model.ffn", job.model.ffn, std::int64_t{1} << 26},
        SizeLimit{"workload.model.vocabulary", job.model.vocabulary, std::int64_t{1} << 28},
        SizeLimit{"workload.model.positions", job.model.positions, std::int64_t{1} << 30},
        SizeLimit{"workload.model.mla.q_rank", job.model.mla.q_rank, std::int64_t{1} << 24},
        SizeLimit{"workload.model.mla.kv_rank", job.model.mla.kv_rank, std::int64_t{1} << 24},
        SizeLimit{"workload.model.mla.nope_dim", job.model.mla.nope_dim, std::int64_t{1} << 20},
        SizeLimit{"workload.model.mla.rope_dim", job.model.mla.rope_dim, std::int64_t{1} << 20},
        SizeLimit{"workload.model.mla.v_dim", job.model.mla.v_dim, std::int64_t{1} << 20},
        SizeLimit{"workload.model.moe.top_k", job.model.moe.top_k, std::int64_t{1} << 16},
        SizeLimit{"workload.model.moe.shared_ffn", job.model.moe.shared_ffn, std::int64_t{1} << 26},
        SizeLimit{"workload.model.moe.experts", job.model.moe.experts, std::int64_t{1} << 16},
        SizeLimit{"workload.model.moe.ffn", job.model.moe.ffn, std::int64_t{1} << 26},
        SizeLimit{"workload.sequence", job.sequence, std::int64_t{1} << 26},
        SizeLimit{"batch.micro", job.batch.micro, std::int64_t{1} << 20},
        SizeLimit{"batch.global", job.batch.global, std::int64_t{1} << 32},
        SizeLimit{"parallel.vpp", job.parallel.vpp, 100'000},
        SizeLimit{
            "stack.vocabulary_multiple", job.stack.vocabulary_multiple, std::int64_t{1} << 20},
    };
    for (const SizeLimit& size : limits) {
        if (size.value > size.limit) {
            check
                .error("E0336",
                       size.path,
                       fmt::format("{} {} is beyond what is simulated", size.path, size.value))
                .hint = fmt::format("it must be at most {}", size.limit);
        }
    }
    check_products(check);
}

// A bucket is an op of every rank and a collective: a floor in bytes would depend on the model, so the number is bounded.
void check_buckets(const JobCheck& check, double stage_gradients) {
    constexpr double kMostOfStage = 100'000;  // played in a fifth of a second
    constexpr double kMostOfStep = 1'000'000;
    const Gradients& gradients = check.job.parallel.gradients;
    if (gradients.bucket.value == 0) {
        return;
    }
    const double bytes = stage_gradients * bytes_per_element(gradients.reduce_dtype);
    const bool each_micro_batch = check.job.parallel.sharding.kind == ShardingKind::Zero2;
    const double rounds = each_micro_batch ? static_cast<double>(check.job.micro_batches) : 1;
    const double most = std::min(kMostOfStage, kMostOfStep / rounds);
    const double buckets = bytes / static_cast<double>(gradients.bucket.value);
    if (buckets <= most) {
        return;
    }
    Diagnostic& error = check.error("E0336",
                                    "parallel.gradients.bucket",
                                    fmt::format("buckets of {} cut the {:.3g} gradients of a stage "
                                                "into {:.3g}, beyond what is simulated",
                                                to_text(gradients.bucket),
                                                stage_gradients,
                                                std::ceil(buckets)));
    error.notes.push_back(
        {check.at("workload.model"),
         fmt::format("its gradients are reduced in {}", name_of(gradients.reduce_dtype))});
    if (each_micro_batch) {
        error.notes.push_back({check.at("batch.global"),
                               fmt::format("zero2 reduces them in each of {} micro-batches",
                                           check.job.micro_batches)});
    }
    constexpr double kKilobyte = 1e3;
    const Bytes least(std::int64_t{1000} * std::llround(std::ceil(bytes / most / kKilobyte)));
    error.hint =
        fmt::format("at least {}; frameworks take 25MiB or more, 0B is one bucket", to_text(least));
}

// Biases, norms and routers are left out: they are small beside the matrices.
double stage_gradients(const Job& job) {
    const auto d = [](std::int64_t value) { return static_cast<double>(value); };
    const Model& m = job.model;
    const double attention = 2 * d(m.hidden) * d(m.head_dim) * (d(m.heads) + d(m.kv_heads));
    const double width = std::max(d(m.ffn), d(m.moe.experts) * d(m.moe.ffn) + d(m.moe.shared_ffn));
    const double layer = attention + (m.gated ? 3 : 2) * d(m.hidden) * width;
    const double rows = m.position == PositionKind::Learned ? d(m.positions) : 0;
    const double table = d(m.hidden) * (d(job.padded_vocabulary) + rows);
    double most = 0;
    for (const std::vector<ChunkLayout>& stage : job.stages) {
        double sum = 0;
        for (const ChunkLayout& chunk : stage) {
            const bool own_head = chunk.head && !(job.stages.size() == 1 && m.tied_embeddings);
            sum += layer * chunk.layers + table * ((chunk.embedding ? 1 : 0) + (own_head ? 1 : 0));
        }
        most = std::max(most, sum);
    }
    return most / job.degrees.tp;
}

}  // namespace memwall
