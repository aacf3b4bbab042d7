#include "sim/spec/degrees.h"

#include <array>
#include <tuple>

#include <fmt/format.h>

namespace memwall {
namespace {

struct Axis {
    const char* name;
    std::optional<int> given;
    int* degree;
    bool* known;
};

std::int64_t gpus_of(const JobCheck& check) {
    return product(check.job.nodes, check.machine.cluster.node.gpus);
}

void note_gpus(const JobCheck& check, Diagnostic& error) {
    error.notes.push_back(
        {check.at("machine.nodes"),
         fmt::format("{} nodes x {} GPUs", check.job.nodes, check.machine.cluster.node.gpus)});
}

// Fills the axis that is auto and checks the product. Text for messages: "tp 8 x pp 8 x cp 1 x dp 16".
bool fill_axes(const JobCheck& check,
               std::array<Axis, 4>& axes,
               std::vector<std::string>& derived) {
    const std::int64_t gpus = gpus_of(check);
    std::int64_t known = 1;
    const Axis* open = nullptr;
    std::string text;
    for (const Axis& axis : axes) {
        const std::string path = fmt::format("parallel.{}", axis.name);
        text += (text.empty() ? "" : " x ") + std::string(axis.name) +
                (axis.given ? fmt::format(" {}", *axis.given) : " auto");
        if (axis.given) {
            known = product(known, *axis.given);
            *axis.degree = *axis.given;
            *axis.known = true;
            continue;
        }
        if (open != nullptr) {
            Diagnostic& error = check.error(
                "E0311", path, fmt::format("{} and {} are both auto", open->name, axis.name));
            error.notes.push_back({check.at(fmt::format("parallel.{}", open->name)),
                                   fmt::format("{} is auto here", open->name)});
            error.hint =
                "at most one of tp, pp, cp, dp can be worked out from the others; give the other a "
                "number";
            return false;
        }
        open = &axis;
    }
    if (!check.machine_known) {
        return false;
    }
    if (open == nullptr && known != gpus) {
        Diagnostic& error =
            check.error("E0310",
                        "parallel.dp",
                        fmt::format("{} = {} does not match {} GPUs", text, known, gpus));
        note_gpus(check, error);
        const std::int64_t rest = known / *axes[3].given;
        error.hint =
            gpus % rest == 0
                ? fmt::format("say `dp: {}`, or `dp: auto`", gpus / rest)
                : fmt::format("tp x pp x cp must divide {}: {}", gpus, divisors_of(gpus, gpus));
        return false;
    }
    if (open != nullptr) {
        if (gpus % known != 0) {
            Diagnostic& error =
                check.error("E0310",
                            fmt::format("parallel.{}", open->name),
                            fmt::format("{}: {} does not divide {} GPUs", text, known, gpus));
            note_gpus(check, error);
            error.hint = fmt::format(
                "the degrees that are given must divide {}: {}", gpus, divisors_of(gpus, gpus));
            return false;
        }
        *open->degree = static_cast<int>(gpus / known);
        *open->known = true;
        derived.push_back(fmt::format("parallel.{}", open->name));
    }
    return true;
}

// shard x replicate = dp x cp.
bool fill_sharding(const JobCheck& check, Degrees& d, std::vector<std::string>& derived) {
    const Sharding& sharding = check.job.parallel.sharding;
    const std::int64_t ranks = product(d.dp, d.cp);
    d.shard = 1;
    d.replicate = static_cast<int>(ranks);
    if (sharding.kind == ShardingKind::None) {
        for (const char* key : {"shard", "replicate"}) {
            if (key[0] == 's' ? sharding.shard.has_value() : sharding.replicate.has_value()) {
                check.warning("W0319",
                              fmt::format("parallel.sharding.{}", key),
                              fmt::format("{} does nothing with `kind: none`", key));
            }
        }
        return true;
    }
    if (sharding.kind == ShardingKind::Hsdp && !sharding.shard && !sharding.replicate) {
        check.error("E0319", "parallel.sharding", "hsdp needs shard or replicate").hint =
            "for example `shard: 8`: one copy of the states per node of 8";
        return false;
    }
    for (const auto& [key, given, other] :
         {std::tuple("shard", sharding.shard, sharding.replicate),
          std::tuple("replicate", sharding.replicate, sharding.shard)}) {
        if (given && !other && ranks % *given != 0) {
            Diagnostic& error = check.error(
                "E0319",
                fmt::format("parallel.sharding.{}", key),
                fmt::format(
                    "{} {} does not divide dp {} x cp {} = {}", key, *given, d.dp, d.cp, ranks));
            error.notes.push_back({check.at("parallel.dp"), fmt::format("dp is {}", d.dp)});
            error.hint =
                sharding.kind == ShardingKind::Hsdp
                    ? fmt::format("divisors of {}: {}", ranks, divisors_of(ranks, ranks))
                    : fmt::format(
                          "leave {} out: the states are then shared by all {} ranks", key, ranks);
            return false;
        }
    }
    const std::int64_t replicate =
        sharding.replicate.value_or(sharding.shard ? static_cast<int>(ranks / *sharding.shard) : 1);
    const std::int64_t shard = sharding.shard.value_or(static_cast<int>(ranks / replicate));
    if (product(shard, replicate) != ranks) {
        Diagnostic& error = check.error(
            "E0319",
            "parallel.sharding.shard",
            fmt::format("shard {} x replicate {} = {} does not match dp {} x cp {} = {}",
                        shard,
                        replicate,
                        product(shard, replicate),
                        d.dp,
                        d.cp,
                        ranks));
        error.notes.push_back({check.at("parallel.dp"), fmt::format("dp is {}", d.dp)});
        error.hint = fmt::format("divisors of {}: {}", ranks, divisors_of(ranks, ranks));
        return false;
    }
    if (sharding.kind == ShardingKind::Fsdp && replicate > 1) {
        Diagnostic& error = check.error(
            "E0319",
            "parallel.sharding.kind",
            fmt::format("fsdp holds one copy of the states, replicate is {}", replicate));
        error.notes.push_back({check.at(sharding.replicate ? "parallel.sharding.replicate"
                                                           : "parallel.sharding.shard"),
                               fmt::format("of {} data-parallel ranks", ranks)});
        error.hint = "say `kind: hsdp`";
        return false;
    }
    d.shard = static_cast<int>(shard);
    d.replicate = static_cast<int>(replicate);
    if (!sharding.shard) {
        derived.emplace_back("parallel.sharding.shard");
    }
    if (!sharding.replicate) {
        derived.emplace_back("parallel.sharding.replicate");
    }
    return true;
}

}  // namespace

FoundDegrees find_degrees(const JobCheck& check, std::vector<std::string>& derived) {
    constexpr std::int64_t kMostRanks = 1 << 30;  // beyond it the product is wrong anyway
    const Parallel& parallel = check.job.parallel;
    FoundDegrees found;
    Degrees& d = found.degrees;
    std::array<Axis, 4> axes = {Axis{"tp", parallel.tp, &d.tp, &found.tp},
                                Axis{"pp", parallel.pp, &d.pp, &found.pp},
                                Axis{"cp", parallel.cp, &d.cp, &found.cp},
                                Axis{"dp", parallel.dp, &d.dp, &found.dp}};
    d.vpp = parallel.vpp;
    d.ep = parallel.ep;
    found.sound = fill_axes(check, axes, derived);
    if (found.dp && found.cp && product(d.dp, d.cp) <= kMostRanks) {
        found.sound = fill_sharding(check, d, derived) && found.sound;
    }
    return found;
}

std::optional<std::int64_t> find_micro_batches(const JobCheck& check) {
    const Batch& batch = check.job.batch;
    const int dp = check.job.degrees.dp;
    const std::int64_t each = product(batch.micro, dp);
    if (batch.global % each != 0) {
        Diagnostic& error =
            check.error("E0320",
                        "batch.global",
                        fmt::format("global batch {} is not divisible by micro {} x dp {} = {}",
                                    batch.global,
                                    batch.micro,
                                    dp,
                                    each));
        error.notes.push_back({check.at("parallel.dp"), fmt::format("dp is {}", dp)});
        error.notes.push_back({check.at("batch.micro"), fmt::format("micro is {}", batch.micro)});
        const std::int64_t below = batch.global / each * each;
        error.hint = below > 0 ? fmt::format("the nearest that are: {} and {}", below, below + each)
                               : fmt::format("at least {}", each);
        return std::nullopt;
    }
    constexpr std::int64_t kMost = 1'000'000;
    if (batch.global / each > kMost) {
        check
            .error("E0336",
                   "batch.global",
                   fmt::format("{} micro-batches per step are beyond what is simulated",
                               batch.global / each))
            .hint = fmt::format("at most {}", kMost);
        return std::nullopt;
    }
    return batch.global / each;
}

}  // namespace memwall
