#include "sim/spec/layout.h"

#include <doctest/doctest.h>

using namespace memwall;

namespace {

struct Case {
    Job job;
    Machine machine;
    DocNode document;
    Diagnostics diagnostics;

    std::vector<std::vector<ChunkLayout>> lay_out() {
        return lay_out_stages({job, machine, document, diagnostics});
    }
};

Case with(std::int64_t layers, int pp, int vpp, StageLayoutKind kind) {
    Case c;
    c.job.model.layers = layers;
    c.job.degrees.pp = pp;
    c.job.degrees.vpp = vpp;
    c.job.parallel.stage_layout.kind = kind;
    return c;
}

}  // namespace

TEST_CASE("an even layout gives each chunk layers / (pp x vpp), in order of virtual stages") {
    Case c = with(96, 8, 6, StageLayoutKind::Even);
    const auto stages = c.lay_out();
    REQUIRE(stages.size() == 8);
    REQUIRE(stages[3].size() == 6);
    // Virtual stage of chunk 2 on stage 3 is 2 x 8 + 3 = 19; two layers each.
    CHECK(stages[3][2].first_layer == 38);
    CHECK(stages[3][2].layers == 2);
    CHECK(stages[0][0].embedding);
    CHECK_FALSE(stages[0][1].embedding);
    CHECK(stages[7][5].head);
    CHECK_FALSE(stages[7][0].head);
}

TEST_CASE("405B: 126 layers with embedding and head as layers fill 16 x 8 chunks of one slot") {
    Case c = with(126, 16, 8, StageLayoutKind::EmbeddingAndHeadAsLayers);
    const auto stages = c.lay_out();
    REQUIRE(stages.size() == 16);
    int layers = 0;
    for (const auto& stage : stages) {
        for (const ChunkLayout& chunk : stage) {
            layers += chunk.layers;
        }
    }
    CHECK(layers == 126);
    CHECK(stages[0][0].layers == 0);
    CHECK(stages[0][0].embedding);
    CHECK(stages[15][7].layers == 0);
    CHECK(stages[15][7].head);
    CHECK(stages[1][0].first_layer == 0);
}

TEST_CASE("one stage holds everything under either layout") {
    for (const StageLayoutKind kind :
         {StageLayoutKind::Even, StageLayoutKind::EmbeddingAndHeadAsLayers}) {
        Case c = with(7, 1, 1, kind);
        const auto stages = c.lay_out();
        REQUIRE(stages.size() == 1);
        CHECK(stages[0][0].layers == 7);
        CHECK(stages[0][0].embedding);
        CHECK(stages[0][0].head);
    }
}

TEST_CASE("an uneven split is refused, with the layout that would do") {
    Case c = with(126, 16, 8, StageLayoutKind::Even);
    CHECK(c.lay_out().empty());
    REQUIRE(c.diagnostics.errors() == 1);
    CHECK(c.diagnostics.sorted()[0].code == "E0330");
    CHECK(c.diagnostics.sorted()[0].hint.find("embedding_and_head_as_layers") != std::string::npos);
    Case slots = with(127, 16, 8, StageLayoutKind::EmbeddingAndHeadAsLayers);
    CHECK(slots.lay_out().empty());
    CHECK(slots.diagnostics.sorted()[0].code == "E0331");
}

TEST_CASE("a listed layout must name every stage, chunk and layer once") {
    const auto listed = [](std::vector<std::vector<int>> layers) {
        Case c = with(10, 2, 2, StageLayoutKind::Explicit);
        c.job.parallel.stage_layout.layers = std::move(layers);
        const auto stages = c.lay_out();
        return std::pair(stages, c.diagnostics.errors());
    };
    const auto [stages, errors] = listed({{1, 3}, {2, 4}});
    CHECK(errors == 0);
    CHECK(stages[0][1].first_layer == 3);  // after chunk 0 of both stages: 1 + 2
    CHECK(stages[1][1].first_layer == 6);
    CHECK(listed({{1, 3}}).second == 1);          // a stage is missing
    CHECK(listed({{1, 3}, {6}}).second == 1);     // a chunk is missing
    CHECK(listed({{1, 3}, {2, 5}}).second == 1);  // 11 layers
    CHECK(listed({{5, 0}, {1, 4}}).second == 1);  // an empty chunk
    CHECK(listed({{0, 0}, {6, 4}}).second == 1);  // an empty stage
    CHECK(listed({{6, 4}, {0, 0}}).second == 1);
    CHECK(listed({{0, 4}, {2, 4}}).second == 0);  // the embedding alone is not empty
}

TEST_CASE("more chunks than layers is refused without building them") {
    Case c = with(4, 100'000, 100'000, StageLayoutKind::Even);
    CHECK(c.lay_out().empty());
    CHECK(c.diagnostics.errors() == 1);
}
