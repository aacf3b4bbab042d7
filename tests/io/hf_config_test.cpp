#include "sim/io/hf_config.h"

#include <map>
#include <string>

#include <doctest/doctest.h>

#include "sim/model/parameters.h"
#include "sim/spec/fields_work.h"
#include "sim/spec/read.h"
#include "sim/spec/resolve.h"

using namespace memwall;

namespace {

// JSON object text from pairs; an empty value leaves the key out.
using Json = std::map<std::string, std::string>;

std::string text_of(const Json& json) {
    std::string text = "{";
    for (const auto& [key, value] : json) {
        if (!value.empty()) {
            text += (text.size() > 1 ? ",\n \"" : "\n \"") + key + "\": " + value;
        }
    }
    return text + "\n}\n";
}

std::optional<Model> read(const std::string& text, Diagnostics& d) {
    std::optional<DocNode> document = model_document_from_hf("models/name/config.json", text, d);
    Model model;
    if (!document) {
        return std::nullopt;
    }
    std::erase_if(document->entries, [](const DocEntry& e) { return e.key == "schema"; });
    if (!read_document(*document, "this model", model, d) || !complete_model(model, *document, d)) {
        return std::nullopt;
    }
    return model;
}

Model good(const Json& json) {
    Diagnostics d;
    const std::optional<Model> model = read(text_of(json), d);
    CHECK(d.errors() == 0);
    REQUIRE(model.has_value());
    return *model;
}

// Warnings of a good file.
std::size_t warnings(const Json& json) {
    Diagnostics d;
    REQUIRE(read(text_of(json), d).has_value());
    return d.sorted().size();
}

Diagnostic bad(const std::string& text) {
    Diagnostics d;
    CHECK_FALSE(read(text, d).has_value());
    REQUIRE(d.has_errors());
    for (const Diagnostic& each : d.sorted()) {
        if (each.severity == Severity::Error) {
            return each;
        }
    }
    return {};
}

Json with(Json json, const Json& changes) {
    for (const auto& [key, value] : changes) {
        json[key] = value;
    }
    return json;
}

const Json kLlama = {{"architectures", "[\"LlamaForCausalLM\"]"},
                     {"model_type", "\"llama\""},
                     {"hidden_act", "\"silu\""},
                     {"hidden_size", "4096"},
                     {"intermediate_size", "14336"},
                     {"max_position_embeddings", "8192"},
                     {"num_attention_heads", "32"},
                     {"num_hidden_layers", "32"},
                     {"num_key_value_heads", "8"},
                     {"rms_norm_eps", "1e-05"},
                     {"rope_scaling", "null"},
                     {"tie_word_embeddings", "false"},
                     {"torch_dtype", "\"bfloat16\""},
                     {"vocab_size", "128256"}};

const Json kDeepseek = {{"model_type", "\"deepseek_v3\""},
                        {"hidden_size", "7168"},
                        {"intermediate_size", "18432"},
                        {"kv_lora_rank", "512"},
                        {"moe_intermediate_size", "2048"},
                        {"n_routed_experts", "256"},
                        {"n_shared_experts", "1"},
                        {"num_attention_heads", "128"},
                        {"num_experts_per_tok", "8"},
                        {"num_hidden_layers", "61"},
                        {"num_key_value_heads", "128"},
                        {"first_k_dense_replace", "3"},
                        {"moe_layer_freq", "1"},
                        {"q_lora_rank", "1536"},
                        {"qk_nope_head_dim", "128"},
                        {"qk_rope_head_dim", "64"},
                        {"rms_norm_eps", "1e-06"},
                        {"scoring_func", "\"sigmoid\""},
                        {"tie_word_embeddings", "false"},
                        {"topk_method", "\"noaux_tc\""},
                        {"v_head_dim", "128"},
                        {"vocab_size", "129280"}};

const Json kQwen3Moe = {{"model_type", "\"qwen3_moe\""},
                        {"attention_bias", "false"},
                        {"decoder_sparse_step", "1"},
                        {"head_dim", "128"},
                        {"hidden_size", "2048"},
                        {"intermediate_size", "6144"},
                        {"mlp_only_layers", "[]"},
                        {"moe_intermediate_size", "768"},
                        {"num_attention_heads", "32"},
                        {"num_experts", "128"},
                        {"num_experts_per_tok", "8"},
                        {"num_hidden_layers", "48"},
                        {"num_key_value_heads", "4"},
                        {"rms_norm_eps", "1e-06"},
                        {"sliding_window", "null"},
                        {"tie_word_embeddings", "false"},
                        {"use_sliding_window", "false"},
                        {"vocab_size", "151936"}};

}  // namespace

TEST_CASE("a Llama config has the published number of parameters") {
    const Model m = good(kLlama);
    CHECK(m.name == "name");
    CHECK(parameter_count(m) == 8'030'261'248);
    CHECK(m.gated);
    CHECK(m.norm == NormKind::RmsNorm);
    CHECK(m.position == PositionKind::Rotary);
    CHECK(warnings(kLlama) == 0);
}

TEST_CASE("mixture-of-experts configs have the published number of parameters") {
    const Json mixtral = with(kLlama,
                              {{"model_type", "\"mixtral\""},
                               {"num_local_experts", "8"},
                               {"num_experts_per_tok", "2"},
                               {"vocab_size", "32000"}});
    CHECK(parameter_count(good(mixtral)) == 46'702'792'704);
    CHECK(parameter_count(good(kQwen3Moe)) == 30'532'122'624);
    CHECK(good(kQwen3Moe).qk_norm);
    CHECK(parameter_count(good(kDeepseek)) == 671'026'419'200);
    CHECK(active_parameter_count(good(kDeepseek)) == 37'552'297'472);
}

TEST_CASE("other spellings of the expert counts are accepted") {
    const Json other = with(kDeepseek,
                            {{"n_routed_experts", ""},
                             {"n_shared_experts", ""},
                             {"num_routed_experts", "256"},
                             {"num_shared_experts", "1"}});
    CHECK(parameter_count(good(other)) == 671'026'419'200);
}

TEST_CASE("a Qwen3 file that calls itself qwen2_moe is read by its fields, with a warning") {
    const Json mislabelled = with(kQwen3Moe, {{"model_type", "\"qwen2_moe\""}});
    CHECK(parameter_count(good(mislabelled)) == 30'532'122'624);
    CHECK(warnings(mislabelled) == 1);
}

TEST_CASE("Qwen2 has biases on q, k and v; its window counts only when it is used") {
    const Json qwen = with(kLlama,
                           {{"model_type", "\"qwen2\""},
                            {"hidden_size", "3584"},
                            {"intermediate_size", "18944"},
                            {"num_attention_heads", "28"},
                            {"num_hidden_layers", "28"},
                            {"num_key_value_heads", "4"},
                            {"sliding_window", "131072"},
                            {"max_window_layers", "28"},
                            {"use_sliding_window", "false"},
                            {"vocab_size", "152064"}});
    CHECK(parameter_count(good(qwen)) == 7'615'616'512);
    CHECK(good(qwen).window == 0);
    CHECK(good(with(qwen, {{"use_sliding_window", "true"}, {"max_window_layers", "0"}})).window ==
          131072);
    const Json mixed = with(qwen, {{"use_sliding_window", "true"}, {"max_window_layers", "14"}});
    CHECK(good(mixed).window == 0);
    CHECK(warnings(mixed) == 1);
}

TEST_CASE("sparse steps and dense layers decide which layers have experts") {
    const Model stepped =
        good(with(kQwen3Moe, {{"decoder_sparse_step", "2"}, {"mlp_only_layers", "[3]"}}));
    CHECK_FALSE(layer_has_experts(stepped, 0));
    CHECK(layer_has_experts(stepped, 1));
    CHECK_FALSE(layer_has_experts(stepped, 3));
    CHECK(layer_has_experts(stepped, 47));
    const Model deepseek = good(kDeepseek);
    CHECK_FALSE(layer_has_experts(deepseek, 2));
    CHECK(layer_has_experts(deepseek, 3));
}

TEST_CASE("Qwen2-MoE has a gated shared expert") {
    const Model m = good(with(kQwen3Moe,
                              {{"model_type", "\"qwen2_moe\""},
                               {"head_dim", ""},
                               {"shared_expert_intermediate_size", "5632"}}));
    CHECK(m.moe.shared_ffn == 5632);
    CHECK(m.moe.shared_gate);
    CHECK(m.qkv_bias);
    CHECK_FALSE(m.qk_norm);
    CHECK(m.head_dim == 64);
}

TEST_CASE("GPT-2, GPT-NeoX and OPT configs have the published number of parameters") {
    const Json gpt2 = {{"model_type", "\"gpt2\""},
                       {"n_embd", "768"},
                       {"n_head", "12"},
                       {"n_layer", "12"},
                       {"n_positions", "1024"},
                       {"n_inner", "null"},
                       {"resid_pdrop", "0.1"},
                       {"tie_word_embeddings", "true"},
                       {"vocab_size", "50257"}};
    CHECK(parameter_count(good(gpt2)) == 124'439'808);
    CHECK(good(gpt2).dropout == 0.1);
    CHECK(warnings(with(gpt2, {{"tie_word_embeddings", ""}})) == 1);
    CHECK(parameter_count(good(with(gpt2, {{"tie_word_embeddings", ""}}))) == 124'439'808);
    // Hugging Face EleutherAI/pythia-1b, parameters of the checkpoint.
    const Json pythia = {{"model_type", "\"gpt_neox\""},
                         {"hidden_act", "\"gelu\""},
                         {"hidden_size", "2048"},
                         {"intermediate_size", "8192"},
                         {"num_attention_heads", "8"},
                         {"num_hidden_layers", "16"},
                         {"tie_word_embeddings", "false"},
                         {"vocab_size", "50304"}};
    CHECK(parameter_count(good(pythia)) == 1'011'781'632);
    // Hugging Face facebook/opt-125m.
    const Json opt = {{"model_type", "\"opt\""},
                      {"ffn_dim", "3072"},
                      {"hidden_size", "768"},
                      {"max_position_embeddings", "2048"},
                      {"num_attention_heads", "12"},
                      {"num_hidden_layers", "12"},
                      {"tie_word_embeddings", "true"},
                      {"vocab_size", "50272"},
                      {"word_embed_proj_dim", "768"}};
    CHECK(parameter_count(good(opt)) == 125'239'296);
    CHECK(bad(text_of(with(opt, {{"word_embed_proj_dim", "512"}}))).code == "E0520");
}

TEST_CASE("the decoder of a multimodal file is its text_config") {
    Diagnostics d;
    const std::string text =
        "{\"model_type\": \"llava\", \"text_config\": " + text_of(kLlama) + "}";
    const std::optional<Model> m = read(text, d);
    REQUIRE(m.has_value());
    CHECK(parameter_count(*m) == 8'030'261'248);
}

TEST_CASE("missing keys take the architecture's defaults") {
    const Json mha = with(kLlama, {{"num_key_value_heads", ""}});
    CHECK(good(mha).kv_heads == 32);
    CHECK(good(with(kLlama, {{"head_dim", "null"}})).head_dim == 128);
    CHECK(good(with(kLlama, {{"head_dim", "64"}})).head_dim == 64);
    CHECK(warnings(with(kLlama, {{"tie_word_embeddings", ""}})) == 1);
    const Json mistral = with(kLlama, {{"model_type", "\"mistral\""}});
    CHECK(good(mistral).window == 4096);
    CHECK(good(with(mistral, {{"sliding_window", "null"}})).window == 0);
    CHECK(good(with(mistral, {{"sliding_window", "8192"}})).window == 8192);
}

TEST_CASE("an unknown type that looks like Llama is read with a warning, another is refused") {
    const Json strange = with(kLlama, {{"model_type", "\"phi3\""}});
    CHECK(parameter_count(good(strange)) == 8'030'261'248);
    CHECK(warnings(strange) == 1);
    const Diagnostic d = bad("{\n \"model_type\": \"bert\",\n \"hidden_size\": 768\n}\n");
    CHECK(d.code == "E0520");
    CHECK(d.place.line == 2);
    CHECK(d.text == "model_type 'bert' is not a known architecture");
    CHECK(bad("{\"hello\": 1}").code == "E0520");
}

TEST_CASE("features that are left out are named") {
    CHECK(warnings(with(kDeepseek, {{"num_nextn_predict_layers", "1"}})) == 1);
    CHECK(warnings(with(kDeepseek, {{"attention_bias", "true"}})) == 1);
    CHECK(warnings(with(kLlama, {{"attention_bias", "true"}, {"mlp_bias", "true"}})) == 0);
    // 4 bits of inference say nothing about training.
    Diagnostics d;
    REQUIRE(read(
        text_of(with(kLlama, {{"quantization_config", R"({"quant_method": "gptq", "bits": 4})"}})),
        d));
    REQUIRE(d.sorted().size() == 1);
    CHECK(d.sorted()[0].code == "W0521");
    CHECK(d.sorted()[0].text.find("quantization_config (gptq) is left out") == 0);
}

// Llama-3 8B: 32 layers of 4096 wide, kv 8 x 128, ffn 14336.
TEST_CASE("Llama's biases are counted, each where its flag says") {
    constexpr std::int64_t kPlain = 8'030'261'248;
    constexpr std::int64_t kAttention = 32 * (4096 + 2 * 1024 + 4096);  // q, k, v, o
    constexpr std::int64_t kMlp = 32 * (2 * 14336 + 4096);              // gate, up, down
    const auto count = [](const char* attention, const char* mlp) {
        return parameter_count(
            good(with(kLlama, {{"attention_bias", attention}, {"mlp_bias", mlp}})));
    };
    CHECK(count("false", "false") == kPlain);
    CHECK(count("true", "false") == kPlain + kAttention);
    CHECK(count("false", "true") == kPlain + kMlp);
    CHECK(count("true", "true") == kPlain + kAttention + kMlp);
    CHECK(bad(text_of(with(kLlama, {{"mlp_bias", "1"}}))).code == "E0204");
}

TEST_CASE("an activation that nobody knows is refused, others change no size") {
    const Diagnostic d = bad(text_of(with(kLlama, {{"hidden_act", "\"swoosh\""}})));
    CHECK(d.code == "E0205");
    CHECK(d.hint == "did you mean 'swish'?");
    CHECK(d.place.line == 3);
    CHECK(bad(text_of(with(kLlama, {{"hidden_activation", "\"xyz\""}}))).code == "E0205");
    CHECK(parameter_count(good(with(kLlama, {{"hidden_act", "\"gelu_pytorch_tanh\""}}))) ==
          8'030'261'248);
}

TEST_CASE("of a size that is wrong or missing nothing is concluded") {
    const auto errors = [](const Json& json) {
        Diagnostics d;
        CHECK_FALSE(read(text_of(json), d));
        return d.errors();
    };
    CHECK(errors(with(kLlama, {{"hidden_size", ""}})) == 1);
    CHECK(errors(with(kLlama, {{"hidden_size", "\"4096\""}})) == 1);
    CHECK(errors(with(kLlama, {{"hidden_size", "0"}})) == 1);
    CHECK(errors(with(kLlama, {{"num_attention_heads", ""}})) == 1);
    const Json opt = {{"model_type", "\"opt\""},
                      {"ffn_dim", "3072"},
                      {"max_position_embeddings", "2048"},
                      {"num_attention_heads", "12"},
                      {"num_hidden_layers", "12"},
                      {"vocab_size", "50272"},
                      {"word_embed_proj_dim", "768"},
                      {"hidden_size", "x"},
                      {"tie_word_embeddings", "true"}};
    CHECK(errors(opt) == 1);
}

TEST_CASE("missing sizes are errors that name the key") {
    for (const char* key : {"hidden_size",
                            "num_hidden_layers",
                            "num_attention_heads",
                            "vocab_size",
                            "intermediate_size"}) {
        const Diagnostic d = bad(text_of(with(kLlama, {{key, ""}})));
        CHECK(d.code == "E0202");
        CHECK(d.text == "'" + std::string(key) + "' is missing");
    }
    CHECK(bad(text_of(with(kQwen3Moe, {{"num_experts_per_tok", ""}}))).code == "E0202");
    CHECK(bad(text_of(with(kQwen3Moe, {{"moe_intermediate_size", ""}}))).code == "E0202");
    CHECK(bad(text_of(with(kDeepseek, {{"qk_rope_head_dim", ""}}))).code == "E0202");
}

TEST_CASE("wrong values are errors at their place") {
    CHECK(bad(text_of(with(kLlama, {{"hidden_size", "\"4096\""}}))).code == "E0204");
    CHECK(bad(text_of(with(kLlama, {{"hidden_size", "4096.5"}}))).code == "E0204");
    CHECK(bad(text_of(with(kLlama, {{"hidden_size", "0"}}))).code == "E0206");
    CHECK(bad(text_of(with(kLlama, {{"hidden_size", "-4096"}}))).code == "E0206");
    CHECK(bad(text_of(with(kLlama, {{"vocab_size", "9000000000000000"}}))).code == "E0206");
    CHECK(bad(text_of(with(kLlama, {{"num_attention_heads", "[32]"}}))).code == "E0204");
    CHECK(bad(text_of(with(kLlama, {{"tie_word_embeddings", "1"}}))).code == "E0204");
    CHECK(bad(text_of(with(kLlama, {{"num_attention_heads", "33"}, {"num_key_value_heads", "33"}})))
              .code == "E0502");
    CHECK(bad(text_of(with(kQwen3Moe, {{"mlp_only_layers", "3"}}))).code == "E0203");
    CHECK(bad(text_of(with(kQwen3Moe, {{"mlp_only_layers", "[\"x\"]"}}))).code == "E0204");
    CHECK(bad(text_of(with(kQwen3Moe, {{"num_hidden_layers", "1000000000"}}))).code == "E0206");
    CHECK(bad("[1, 2]").code == "E0203");
    CHECK(bad("{\"model_type\": \"llama\", ").code == "E0106");
}

TEST_CASE("places point into the file") {
    Diagnostics d;
    const std::optional<DocNode> document =
        model_document_from_hf("x.json",
                               "{\"model_type\": \"gpt2\", \"n_embd\": 8, \"n_head\": 2,\n "
                               "\"n_layer\": 3, \"n_positions\": 4, \"vocab_size\": 5}",
                               d);
    REQUIRE(document.has_value());
    CHECK(document->find("layers")->place.line == 2);
    CHECK(document->find("layers")->scalar == "3");
    CHECK(document->find("name")->scalar == "x");
}

TEST_CASE("a config.json is told from a model file by its keys") {
    Diagnostics d;
    DocNode map;
    map.kind = DocNode::Kind::Map;
    CHECK_FALSE(is_hf_config(map));
    map.entries.push_back({"model_type", {}, {}});
    CHECK(is_hf_config(map));
    map.entries.push_back({"schema", {}, {}});
    CHECK_FALSE(is_hf_config(map));
}

TEST_CASE("an encoder is refused, where the file says so") {
    const Diagnostic error = bad(text_of(with(kLlama, {{"is_encoder_decoder", "true"}})));
    CHECK(error.code == "E0520");
    CHECK(error.place.line > 1);
    CHECK(good(with(kLlama, {{"is_encoder_decoder", "false"}})).layers > 0);
}

TEST_CASE("the length that a rotary model states is kept") {
    CHECK(good(with(kLlama, {{"max_position_embeddings", "8192"}})).positions == 8192);
    CHECK(good(with(kLlama, {{"max_position_embeddings", ""}})).positions == 0);
}
