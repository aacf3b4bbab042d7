#include "sim/spec/layout.h"

#include <numeric>

#include <fmt/format.h>

namespace memwall {
namespace {

using Stages = std::vector<std::vector<ChunkLayout>>;

// counts[virtual stage] = layers of that chunk.
Stages from_counts(const std::vector<int>& counts, int stages) {
    const auto p = static_cast<std::size_t>(stages);
    Stages layout(p);
    int first = 0;
    for (std::size_t v = 0; v < counts.size(); ++v) {
        layout[v % p].push_back({first, counts[v], v == 0, v + 1 == counts.size()});
        first += counts[v];
    }
    return layout;
}

Stages even(const JobCheck& check, int chunks) {
    const std::int64_t layers = check.job.model.layers;
    const Degrees& d = check.job.degrees;
    if (layers % chunks != 0) {
        Diagnostic& error = check.error(
            "E0330",
            "workload.model.layers",
            fmt::format("{} layers cannot be split evenly over pp {} x vpp {} = {} chunks",
                        layers,
                        d.pp,
                        d.vpp,
                        chunks));
        error.notes.push_back({check.at("parallel.pp"), "pp is given here"});
        error.hint = (layers + 2) % chunks == 0
                         ? "say `stage_layout: embedding_and_head_as_layers`: " +
                               fmt::format("{} + 2 slots divide", layers)
                         : fmt::format(
                               "pp x vpp must divide {}: {}; or list the layers of each chunk in "
                               "stage_layout",
                               layers,
                               divisors_of(layers, layers));
        return {};
    }
    return from_counts(
        std::vector<int>(static_cast<std::size_t>(chunks), static_cast<int>(layers / chunks)),
        d.pp);
}

Stages with_slots(const JobCheck& check, int chunks) {
    const std::int64_t slots = check.job.model.layers + 2;
    const Degrees& d = check.job.degrees;
    if (slots % chunks != 0 || slots / chunks < 1) {
        Diagnostic& error =
            check.error("E0331",
                        "parallel.stage_layout",
                        fmt::format("{} layers + embedding + head = {} slots cannot be split "
                                    "evenly over pp {} x vpp {} = {} chunks",
                                    check.job.model.layers,
                                    slots,
                                    d.pp,
                                    d.vpp,
                                    chunks));
        error.notes.push_back({check.at("workload.model.layers"), "layers is given here"});
        error.hint = fmt::format("pp x vpp must divide {}: {}", slots, divisors_of(slots, slots));
        return {};
    }
    std::vector<int> counts(static_cast<std::size_t>(chunks), static_cast<int>(slots / chunks));
    counts.front() -= 1;
    counts.back() -= 1;
    return from_counts(counts, d.pp);
}

Stages listed(const JobCheck& check) {
    const std::vector<std::vector<int>>& layers = check.job.parallel.stage_layout.layers;
    const Degrees& d = check.job.degrees;
    const DocNode* list = check.document.at("parallel.stage_layout");
    const auto complain = [&](const Place& place, std::string text, std::string_view other) {
        Diagnostic& error = check.diagnostics.error("E0332", place, std::move(text));
        error.notes.push_back({check.at(other), "the other value is here"});
        error.hint =
            "stage_layout lists, for each of pp stages, the layers of each of its vpp chunks";
        return Stages{};
    };
    const Place whole = check.at("parallel.stage_layout");
    if (layers.size() != static_cast<std::size_t>(d.pp)) {
        return complain(whole,
                        fmt::format("stage_layout lists {} stages, pp is {}", layers.size(), d.pp),
                        "parallel.pp");
    }
    std::vector<int> counts(static_cast<std::size_t>(d.pp) * static_cast<std::size_t>(d.vpp));
    std::int64_t sum = 0;
    for (std::size_t stage = 0; stage < layers.size(); ++stage) {
        const std::vector<int>& chunks = layers[stage];
        const Place& place =
            list != nullptr && stage < list->items.size() ? list->items[stage].place : whole;
        if (chunks.size() != static_cast<std::size_t>(d.vpp)) {
            return complain(place,
                            fmt::format("stage {} of stage_layout lists {} chunks, vpp is {}",
                                        stage,
                                        chunks.size(),
                                        d.vpp),
                            "parallel.vpp");
        }
        for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) {
            const std::size_t v = chunk * layers.size() + stage;
            counts[v] = chunks[chunk];
            sum += counts[v];
            if (counts[v] == 0 && v != 0 && v + 1 != counts.size()) {
                return complain(place,
                                fmt::format("chunk {} of stage {} is empty", chunk, stage),
                                "workload.model.layers");
            }
        }
        if (std::accumulate(chunks.begin(), chunks.end(), std::int64_t{0}) == 0) {
            return complain(place,
                            fmt::format("stage {} of stage_layout holds no layer", stage),
                            "workload.model.layers");
        }
    }
    if (sum != check.job.model.layers) {
        return complain(
            whole,
            fmt::format(
                "stage_layout holds {} layers, the model has {}", sum, check.job.model.layers),
            "workload.model.layers");
    }
    return from_counts(counts, d.pp);
}

}  // namespace

Stages lay_out_stages(const JobCheck& check) {
    const std::int64_t chunks = product(check.job.degrees.pp, check.job.degrees.vpp);
    if (chunks > check.job.model.layers + 2) {
        Diagnostic& error =
            check.error("E0330",
                        "parallel.pp",
                        fmt::format("pp {} x vpp {} = {} chunks are more than {} layers can fill",
                                    check.job.degrees.pp,
                                    check.job.degrees.vpp,
                                    chunks,
                                    check.job.model.layers));
        error.notes.push_back({check.at("workload.model.layers"), "layers is given here"});
        error.hint = fmt::format("pp x vpp must divide {}: {}",
                                 check.job.model.layers,
                                 divisors_of(check.job.model.layers, check.job.model.layers));
        return {};
    }
    switch (check.job.parallel.stage_layout.kind) {
    case StageLayoutKind::Even:
        return even(check, static_cast<int>(chunks));
    case StageLayoutKind::EmbeddingAndHeadAsLayers:
        return with_slots(check, static_cast<int>(chunks));
    case StageLayoutKind::Explicit:
        return listed(check);
    }
    return {};
}

}  // namespace memwall
