#include "sim/model/parameters.h"

#include <array>

#include <doctest/doctest.h>

#include "tests/model/models.h"

using namespace memwall;
using namespace memwall::testing;

TEST_CASE("GPT parameters follow 12 L h^2 + 13 L h + V h + s h + 2 h") {
    for (const auto& [layers, hidden, heads] :
         {std::array<std::int64_t, 3>{12, 768, 12}, {24, 2304, 24}, {96, 12288, 96}}) {
        const std::int64_t expected = 12 * layers * hidden * hidden + 13 * layers * hidden +
                                      50257 * hidden + 2048 * hidden + 2 * hidden;
        CHECK(parameter_count(gpt(layers, hidden, heads)) == expected);
    }
}

TEST_CASE("GPT-3 175B has 174.6 G parameters") {
    // 12 x 96 x 12288^2 + 13 x 96 x 12288 + (50257 + 2048) x 12288 + 2 x 12288
    CHECK(parameter_count(gpt(96, 12288, 96)) == 174'604'259'328);
}

TEST_CASE("GPT-2 counts are the published ones to the unit") {
    // Hugging Face openai-community/gpt2*, number of parameters of the checkpoints (tied output once).
    CHECK(parameter_count(gpt(12, 768, 12, 50257, 1024)) == 124'439'808);
    CHECK(parameter_count(gpt(24, 1024, 16, 50257, 1024)) == 354'823'168);
    CHECK(parameter_count(gpt(36, 1280, 20, 50257, 1024)) == 774'030'080);
    CHECK(parameter_count(gpt(48, 1600, 25, 50257, 1024)) == 1'557'611'200);
}

TEST_CASE("SC21 models follow P = 12 L h^2 (1 + 13/(12 h) + (V + s)/(12 L h))") {
    // Narayanan et al., SC21, eq. (2) and Table 1 (billions, one decimal). The final norm's 2 h is outside the formula.
    struct Row {
        std::int64_t layers, hidden, heads;
        double billions;
    };
    for (const Row& r : {Row{24, 2304, 24, 1.7},
                         {30, 3072, 32, 3.6},
                         {36, 4096, 32, 7.5},
                         {40, 6144, 48, 18.4},
                         {48, 8192, 64, 39.1},
                         {60, 10240, 80, 76.1},
                         {80, 12288, 96, 145.6},
                         {96, 16384, 128, 310.1},
                         {105, 20480, 128, 529.6},
                         {128, 25600, 160, 1008.0}}) {
        const auto l = static_cast<double>(r.layers);
        const auto h = static_cast<double>(r.hidden);
        const double formula = 12 * l * h * h * (1 + 13 / (12 * h) + (51200 + 2048) / (12 * l * h));
        const std::int64_t count = parameter_count(gpt(r.layers, r.hidden, r.heads, 51200));
        CHECK(static_cast<double>(count - 2 * r.hidden) == doctest::Approx(formula).epsilon(1e-12));
        CHECK(static_cast<double>(count) / 1e9 ==
              doctest::Approx(r.billions).epsilon(0.05 / r.billions));
    }
}

TEST_CASE("Llama counts are exact") {
    CHECK(parameter_count(llama3_8b()) == 8'030'261'248);
    CHECK(parameter_count(llama3_70b()) == 70'553'706'496);
    CHECK(parameter_count(llama({126, 16384, 128, 8, 53248, 128256})) == 405'853'388'800);
    CHECK(parameter_count(llama({32, 4096, 32, 32, 11008, 32000})) == 6'738'415'616);
}

TEST_CASE("mixture-of-experts counts are exact, total and active") {
    CHECK(parameter_count(mixtral_8x7b()) == 46'702'792'704);
    CHECK(active_parameter_count(mixtral_8x7b()) == 12'879'925'248);
    CHECK(parameter_count(qwen3_30b_a3b()) == 30'532'122'624);
    CHECK(active_parameter_count(qwen3_30b_a3b()) == 3'353'032'704);
    Model large = llama({94, 4096, 64, 4, 12288, 151936});
    large.head_dim = 128;
    large.qk_norm = true;
    large.moe = experts(128, 8, 1536);
    CHECK(parameter_count(large) == 235'093'634'560);
    CHECK(active_parameter_count(large) == 22'190'763'520);
}

TEST_CASE("DeepSeek-V3 without its prediction module is exact, total and active") {
    CHECK(parameter_count(deepseek_v3()) == 671'026'419'200);
    CHECK(active_parameter_count(deepseek_v3()) == 37'552'297'472);
}

TEST_CASE("biases on q, k, v alone give Qwen2.5-7B its published count") {
    Model m = llama({28, 3584, 28, 4, 18944, 152064});
    m.qkv_bias = true;
    CHECK(parameter_count(m) == 7'615'616'512);  // Hugging Face Qwen/Qwen2.5-7B
}

TEST_CASE("separate projections hold the same parameters as fused ones") {
    for (const Model& m : {llama3_8b(), gpt(12, 768, 12), qwen3_30b_a3b(), deepseek_v3()}) {
        for (const bool moe : {false, true}) {
            std::int64_t fused = 0;
            std::int64_t separate = 0;
            for (const ParameterTensor& p : layer_parameters(m, moe, true)) {
                fused += p.count();
            }
            for (const ParameterTensor& p : layer_parameters(m, moe, false)) {
                separate += p.count();
            }
            CHECK(fused == separate);
        }
    }
}

TEST_CASE("matrix-product parameters leave the embedding lookup out and the head in") {
    // Llama: total less the lookup table and less the norms; tied GPT: the table counts once, as the head.
    const Model m = llama3_8b();
    CHECK(matmul_parameter_count(m) ==
          parameter_count(m) - m.vocabulary * m.hidden - (2 * m.layers + 1) * m.hidden);
    const Model g = gpt(12, 768, 12);
    CHECK(matmul_parameter_count(g) ==
          12 * g.layers * g.hidden * g.hidden + g.vocabulary * g.hidden);
}

TEST_CASE("a layer list shorter than the model leaves the rest dense") {
    Model m = mixtral_8x7b();
    m.moe.layers.push_back(true);
    m.moe.layers.push_back(false);
    CHECK(layer_has_experts(m, 0));
    CHECK_FALSE(layer_has_experts(m, 1));
    CHECK_FALSE(layer_has_experts(m, 31));
    m.moe.experts = 0;
    CHECK_FALSE(layer_has_experts(m, 0));
}
