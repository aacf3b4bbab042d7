#include "sim/io/hf_config.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/io/hf_keys.h"
#include "sim/io/yaml.h"

namespace memwall {
namespace {

using hf::Config;
using hf::ModelDocument;
using hf::Names;
using hf::Value;

constexpr std::array<std::string_view, 12> kLlamaLike = {"llama",
                                                         "mistral",
                                                         "mixtral",
                                                         "qwen2",
                                                         "qwen2_moe",
                                                         "qwen3",
                                                         "qwen3_moe",
                                                         "deepseek_v2",
                                                         "deepseek_v3",
                                                         "deepseek_v32",
                                                         "kimi_k2",
                                                         "deepseek"};
constexpr std::string_view kKnown =
    "llama, mistral, mixtral, qwen2, qwen2_moe, qwen3, qwen3_moe, deepseek_v2, deepseek_v3, gpt2, "
    "gpt_neox, opt";
constexpr std::int64_t kMistralWindow = 4096;   // MistralConfig
constexpr std::int64_t kOptPositionOffset = 2;  // OPTLearnedPositionalEmbedding
std::string type_of(const Config& c) {
    const std::string type = c.text("model_type");
    return type.empty() ? "config" : type;
}

void tied(const Config& c, ModelDocument& m, bool fallback) {
    const Names key = {"tie_word_embeddings"};
    if (!c.has(key)) {
        c.warn(
            key,
            "W0520",
            fmt::format(
                "tie_word_embeddings is missing; the default of {} is {}", type_of(c), fallback));
    }
    m.flag("tied_embeddings", c.flag(key, fallback));
}

void sizes(const Config& c, ModelDocument& m, const Value& hidden, const Value& heads) {
    m.number("layers", c.required({"num_hidden_layers", "n_layer", "n_layers"}));
    m.number("hidden", hidden);
    m.number("heads", heads);
    m.number("vocabulary", c.required({"vocab_size"}));
}

Value head_dim(const Config& c, const Value& hidden, const Value& heads) {
    if (const std::optional<Value> given = c.integer({"head_dim"})) {
        return *given;
    }
    if (hidden.known && heads.known && hidden.number % heads.number != 0) {
        c.error({"num_attention_heads", "n_head"},
                "E0502",
                fmt::format("{} heads do not divide hidden_size {}, and head_dim is not given",
                            heads.number,
                            hidden.number));
    }
    return {hidden.number / heads.number, hidden.place};
}

// --- mixture of experts

DocNode layer_flags(const std::vector<bool>& flags, const Place& place) {
    DocNode list;
    list.kind = DocNode::Kind::Sequence;
    list.place = place;
    for (const bool experts : flags) {
        DocNode node;
        node.kind = DocNode::Kind::Scalar;
        node.place = place;
        node.scalar = experts ? "true" : "false";
        list.items.push_back(std::move(node));
    }
    return list;
}

std::vector<std::int64_t> dense_layers(const Config& c) {
    const DocNode* list = c.find({"mlp_only_layers"});
    std::vector<std::int64_t> layers;
    if (list == nullptr) {
        return layers;
    }
    if (list->kind != DocNode::Kind::Sequence) {
        c.error({"mlp_only_layers"}, "E0203", "mlp_only_layers is not a list");
        return layers;
    }
    for (const DocNode& item : list->items) {
        const Parsed<std::int64_t> layer = parse<std::int64_t>(item.scalar);
        if (item.kind != DocNode::Kind::Scalar || !layer) {
            c.error({"mlp_only_layers"},
                    "E0204",
                    "mlp_only_layers holds something else than layer numbers");
            return layers;
        }
        layers.push_back(*layer);
    }
    return layers;
}

// Which layers have experts, by the rule of the family: Qwen counts sparse steps, DeepSeek dense layers first.
std::vector<bool> expert_layers(const Config& c, std::int64_t layers, bool deepseek) {
    const std::vector<std::int64_t> dense = dense_layers(c);
    const std::int64_t first = deepseek ? c.integer_or({"first_k_dense_replace"}, 0, 0).number : 0;
    const std::int64_t step =
        c.integer_or({deepseek ? "moe_layer_freq" : "decoder_sparse_step"}, 1).number;
    std::vector<bool> flags;
    for (std::int64_t i = 0; i < layers; ++i) {
        const bool on_step = deepseek ? i % step == 0 : (i + 1) % step == 0;
        flags.push_back(i >= first && on_step &&
                        std::find(dense.begin(), dense.end(), i) == dense.end());
    }
    return flags;
}

constexpr std::int64_t kLayersMax = 10'000;  // more is a mistake, and each gets a flag

void experts(const Config& c, ModelDocument& m) {
    const Names count = {
        "n_routed_experts", "num_routed_experts", "num_local_experts", "num_experts"};
    const bool deepseek = c.has({"n_routed_experts", "num_routed_experts"});
    const std::optional<Value> total = c.integer(count, 0);
    if (!total || total->number == 0) {
        return;
    }
    const bool mixtral = c.has({"num_local_experts"}) && !c.has({"moe_intermediate_size"});
    ModelDocument moe(total->place);
    moe.number("experts", *total);
    moe.number("top_k", c.required({"num_experts_per_tok", "num_experts_per_token", "moe_topk"}));
    const Value ffn =
        mixtral ? c.required({"intermediate_size"}) : c.required({"moe_intermediate_size"});
    moe.number("ffn", ffn);
    if (const auto width = c.integer({"shared_expert_intermediate_size"}, 0)) {
        moe.number("shared_ffn", *width);
        if (width->number > 0) {
            moe.flag("shared_gate", true);
        }
    } else if (const auto shared = c.integer({"n_shared_experts", "num_shared_experts"}, 0)) {
        moe.number("shared_ffn", {shared->number * ffn.number, shared->place});
    }
    if (deepseek) {
        const bool corrected =
            c.text("topk_method") == "noaux_tc" || c.text("scoring_func") == "sigmoid";
        moe.flag("router_bias", corrected);
    }
    const std::int64_t layers = c.integer({"num_hidden_layers"}).value_or(Value{}).number;
    if (layers > kLayersMax) {
        c.error({"num_hidden_layers"},
                "E0206",
                fmt::format("num_hidden_layers is {}, more than {}", layers, kLayersMax));
    } else if (!mixtral) {
        const std::vector<bool> flags = expert_layers(c, layers, deepseek);
        if (std::find(flags.begin(), flags.end(), false) != flags.end()) {
            moe.add("layers", layer_flags(flags, total->place));
        }
    }
    m.add("moe", moe.take());
}

// --- attention

void window(const Config& c, ModelDocument& m) {
    const std::string type = type_of(c);
    if (!c.stated("sliding_window")) {
        if (type == "mistral") {
            m.number("window", {kMistralWindow, c.place()});
        }
        return;
    }
    // Qwen writes a width that is used only when the flag says so, from max_window_layers on.
    const bool used = c.flag({"use_sliding_window"}, !type.starts_with("qwen"));
    const std::optional<Value> width = c.integer({"sliding_window"});
    if (!used || !width) {
        return;
    }
    const std::optional<Value> full = c.integer({"max_window_layers"}, 0);
    if (!full || full->number == 0) {
        m.number("window", *width);
        return;
    }
    const std::int64_t layers = c.integer({"num_hidden_layers"}).value_or(Value{}).number;
    if (full->number < layers) {
        c.warn({"max_window_layers"},
               "W0521",
               "a window on some layers only is not modelled; all layers attend fully");
    }
}

void latent_attention(const Config& c, ModelDocument& m, const Value& heads) {
    const Value nope = c.required({"qk_nope_head_dim"});
    const Value rope = c.required({"qk_rope_head_dim"});
    ModelDocument mla(c.find({"kv_lora_rank"})->place);
    mla.number("q_rank", c.integer_or({"q_lora_rank"}, 0, 0));
    mla.number("kv_rank", c.required({"kv_lora_rank"}));
    mla.number("nope_dim", nope);
    mla.number("rope_dim", rope);
    mla.number("v_dim", c.required({"v_head_dim"}));
    if (c.flag({"attention_bias"}, false)) {
        c.warn({"attention_bias"}, "W0521", "the biases of latent attention are left out");
    }
    m.number("kv_heads", heads);
    m.number("head_dim", {nope.number + rope.number, nope.place});
    m.add("mla", mla.take());
}

// Qwen2 has biases on q, k, v and Qwen3 norms on q and k. A file may name the wrong one: fields decide.
struct QwenKind {
    bool biases = false;
    bool norms = false;
};

QwenKind qwen_kind(const Config& c) {
    const std::string type = type_of(c);
    if (type.starts_with("qwen3")) {
        return {.biases = false, .norms = true};
    }
    if (type == "qwen2_moe" && !c.has({"shared_expert_intermediate_size"}) && c.has({"head_dim"})) {
        c.warn({"model_type"},
               "W0520",
               "model_type says qwen2_moe, but head_dim without a shared expert is Qwen3-MoE; read "
               "as such");
        return {.biases = false, .norms = true};
    }
    return {.biases = type.starts_with("qwen2"), .norms = false};
}

void plain_attention(const Config& c, ModelDocument& m, const Value& hidden, const Value& heads) {
    const Value kv = c.integer_or({"num_key_value_heads"}, heads.number);
    m.number("kv_heads", {kv.number, kv.place == c.place() ? heads.place : kv.place});
    m.number("head_dim", head_dim(c, hidden, heads));
    const QwenKind qwen = qwen_kind(c);
    if (c.flag({"attention_bias"}, false)) {
        m.flag("attention_bias", true);
    } else if (qwen.biases) {
        m.flag("qkv_bias", true);
    }
    if (qwen.norms) {
        m.flag("qk_norm", true);
    }
    window(c, m);
}

// --- families

// Of rotary models: no table, but a longer sequence is warned of.
void trained_length(const Config& c, ModelDocument& m) {
    if (const std::optional<Value> length = c.integer({"max_position_embeddings"})) {
        m.number("positions", *length);
    }
}

void llama_family(const Config& c, ModelDocument& m) {
    const Value hidden = c.required({"hidden_size"});
    const Value heads = c.required({"num_attention_heads"});
    sizes(c, m, hidden, heads);
    m.number("ffn", c.required({"intermediate_size"}));
    m.flag("gated", true);
    if (c.flag({"mlp_bias"}, false)) {
        m.flag("mlp_bias", true);
    }
    tied(c, m, false);
    m.word("norm", "rms_norm");
    m.word("position", "rotary");
    trained_length(c, m);
    if (c.has({"kv_lora_rank"})) {
        latent_attention(c, m, heads);
    } else {
        plain_attention(c, m, hidden, heads);
    }
    experts(c, m);
    const std::optional<Value> predicted = c.integer({"num_nextn_predict_layers"}, 0);
    if (predicted && predicted->number > 0) {
        c.warn(
            {"num_nextn_predict_layers"}, "W0521", "multi-token prediction modules are left out");
    }
}

void share(const Config& c, ModelDocument& m, std::string_view key, std::string_view fallback) {
    const DocNode* node = c.find({key});
    m.scalar("dropout",
             node != nullptr ? node->scalar : std::string(fallback),
             node != nullptr ? node->place : c.place());
}

void layer_norm_decoder(ModelDocument& m) {
    m.flag("linear_bias", true);
    m.word("norm", "layer_norm");
}

void gpt2_family(const Config& c, ModelDocument& m) {
    const Value hidden = c.required({"n_embd", "hidden_size"});
    const Value heads = c.required({"n_head", "num_attention_heads"});
    sizes(c, m, hidden, heads);
    m.number("kv_heads", heads);
    m.number("head_dim", head_dim(c, hidden, heads));
    m.number("ffn", c.integer_or({"n_inner"}, 4 * hidden.number));
    m.number("positions", c.required({"n_positions", "n_ctx", "max_position_embeddings"}));
    tied(c, m, true);
    layer_norm_decoder(m);
    m.word("position", "learned");
    share(c, m, "resid_pdrop", "0.1");
}

void neox_family(const Config& c, ModelDocument& m) {
    const Value hidden = c.required({"hidden_size"});
    const Value heads = c.required({"num_attention_heads"});
    sizes(c, m, hidden, heads);
    m.number("kv_heads", heads);
    m.number("head_dim", head_dim(c, hidden, heads));
    m.number("ffn", c.required({"intermediate_size"}));
    tied(c, m, false);
    layer_norm_decoder(m);
    m.word("position", "rotary");
    trained_length(c, m);
    share(c, m, "hidden_dropout", "0");
}

void opt_family(const Config& c, ModelDocument& m) {
    const Value hidden = c.required({"hidden_size"});
    const Value heads = c.required({"num_attention_heads"});
    const std::optional<Value> embedded = c.integer({"word_embed_proj_dim"});
    if (embedded && hidden.known && embedded->number != hidden.number) {
        c.error({"word_embed_proj_dim"},
                "E0520",
                fmt::format("word_embed_proj_dim {} differs from hidden_size {}: projected "
                            "embeddings are not modelled",
                            embedded->number,
                            hidden.number));
    }
    sizes(c, m, hidden, heads);
    m.number("kv_heads", heads);
    m.number("head_dim", head_dim(c, hidden, heads));
    m.number("ffn", c.required({"ffn_dim"}));
    const Value positions = c.required({"max_position_embeddings"});
    m.number("positions", {positions.number + kOptPositionOffset, positions.place});
    tied(c, m, true);
    layer_norm_decoder(m);
    m.word("position", "learned");
    share(c, m, "dropout", "0.1");
}

// Activations of transformers 4.5x (activations.py, ACT2FN). All are one elementwise kernel: none changes a size.
constexpr std::array<std::string_view, 22> kActivations = {
    "silu",       "swish",       "gelu",    "gelu_new",      "gelu_pytorch_tanh",
    "gelu_fast",  "gelu_python", "gelu_10", "gelu_accurate", "gelu_python_tanh",
    "quick_gelu", "relu",        "relu2",   "relu6",         "leaky_relu",
    "laplace",    "linear",      "mish",    "sigmoid",       "tanh",
    "prelu",      "xielu"};

void activation(const Config& c) {
    for (const char* key : {"hidden_act", "activation_function", "hidden_activation"}) {
        const std::string name = c.text(key);
        if (name.empty() ||
            std::find(kActivations.begin(), kActivations.end(), name) != kActivations.end()) {
            continue;
        }
        const std::string_view near = nearest(name, {kActivations.begin(), kActivations.end()});
        c.error({key},
                "E0205",
                fmt::format("{} '{}' is not a known activation", key, name),
                near.empty() ? "known: silu, gelu, gelu_new, relu and the others of transformers"
                             : fmt::format("did you mean '{}'?", near));
    }
}

// Weights stored for inference. A training step has its own precision.
void quantization(const Config& c) {
    const DocNode* quantization = c.find({"quantization_config"});
    if (quantization == nullptr) {
        return;
    }
    const DocNode* method = quantization->find("quant_method");
    c.warn({"quantization_config"},
           "W0521",
           fmt::format(
               "quantization_config{} is left out: weights are held as training.precision says",
               method != nullptr ? fmt::format(" ({})", method->scalar) : ""));
}

using Family = void (*)(const Config&, ModelDocument&);

Family family_of(const Config& c) {
    const std::string type = c.text("model_type");
    if (type == "gpt2" || (type.empty() && c.has({"n_embd"}))) {
        return gpt2_family;
    }
    if (type == "gpt_neox") {
        return neox_family;
    }
    if (type == "opt") {
        return opt_family;
    }
    if (std::find(kLlamaLike.begin(), kLlamaLike.end(), type) != kLlamaLike.end()) {
        return llama_family;
    }
    const std::string act = c.text("hidden_act");
    if (c.has({"rms_norm_eps"}) && c.has({"hidden_size"}) && (act.empty() || act == "silu")) {
        c.warn(
            {"model_type"},
            "W0520",
            type.empty()
                ? "model_type is missing; read as a Llama-style decoder by its fields"
                : fmt::format(
                      "model_type '{}' is not known; read as a Llama-style decoder by its fields",
                      type));
        return llama_family;
    }
    return nullptr;
}

std::string stem_of(const std::string& file) {
    const std::size_t slash = file.find_last_of('/');
    std::string stem = slash == std::string::npos ? file : file.substr(slash + 1);
    stem = stem.substr(0, stem.rfind('.'));
    return stem.empty() ? "model" : stem;
}

// Downloads are all called config.json: the folder tells them apart.
std::string model_name(const Config& c) {
    std::string stem = stem_of(c.place().file);
    if (stem != "config") {
        return stem;
    }
    const std::string& file = c.place().file;
    const std::size_t slash = file.find_last_of('/');
    if (slash == std::string::npos || slash == 0) {
        return stem;
    }
    const std::string folder = file.substr(0, slash);
    const std::string name = folder.substr(folder.find_last_of('/') + 1);
    return name.empty() || name.starts_with('.') ? stem : name;
}

}  // namespace

bool is_hf_config(const DocNode& document) {
    if (document.kind != DocNode::Kind::Map || document.find("schema") != nullptr) {
        return false;
    }
    constexpr std::array<std::string_view, 5> kMarks = {
        "model_type", "architectures", "num_hidden_layers", "n_embd", "text_config"};
    return std::any_of(kMarks.begin(), kMarks.end(), [&](std::string_view mark) {
        return document.find(mark) != nullptr;
    });
}

std::optional<DocNode> model_document_from_hf(const DocNode& config, Diagnostics& diagnostics) {
    if (config.kind != DocNode::Kind::Map) {
        diagnostics.error("E0203", config.place, "a config.json is a map");
        return std::nullopt;
    }
    const DocNode* inner = config.find("text_config");
    const bool nested = inner != nullptr && inner->kind == DocNode::Kind::Map;
    const Config c(nested ? *inner : config, diagnostics);
    const std::size_t errors_before = diagnostics.errors();
    const Family family = family_of(c);
    if (family == nullptr) {
        const std::string type = c.text("model_type");
        diagnostics
            .error("E0520",
                   c.find({"model_type"}) != nullptr ? c.find({"model_type"})->place : c.place(),
                   type.empty() ? "this is no configuration of a known architecture"
                                : fmt::format("model_type '{}' is not a known architecture", type))
            .hint = fmt::format("known: {}; or describe the model in a workload file", kKnown);
        return std::nullopt;
    }
    if (c.flag({"is_encoder_decoder"}, false)) {
        c.error({"is_encoder_decoder"},
                "E0520",
                "is_encoder_decoder is true: an encoder is not modelled, only decoders are");
        return std::nullopt;
    }
    ModelDocument m(config.place);
    m.word("schema", "memwall/model/1");
    m.text("name", model_name(c));
    m.text("about", "read from a Hugging Face config.json");
    family(c, m);
    activation(c);
    quantization(Config(config, diagnostics));
    if (diagnostics.errors() != errors_before) {
        return std::nullopt;
    }
    return m.take();
}

std::optional<DocNode> model_document_from_hf(const std::string& label,
                                              std::string_view text,
                                              Diagnostics& diagnostics) {
    const std::optional<DocNode> document = read_yaml(label, text, diagnostics);
    return document ? model_document_from_hf(*document, diagnostics) : std::nullopt;
}

}  // namespace memwall
