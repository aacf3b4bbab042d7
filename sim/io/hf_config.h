#pragma once
// A Hugging Face config.json as a model document (schema memwall/model/1), decided by its fields: llama, mistral, mixtral,
// qwen2, qwen2_moe, qwen3, qwen3_moe, deepseek_v2, deepseek_v3, gpt2, gpt_neox, opt, and files that look like one of them.
//
// Strict about missing meaning (a size that the architecture needs is an error, an assumed default that changes the
// parameters is a warning), lenient about extra keys. Multimodal files: the decoder in `text_config`.
// Defaults when a key is missing are those of the architecture's class in transformers:
//   num_key_value_heads = num_attention_heads; head_dim = hidden_size / num_attention_heads;
//   tie_word_embeddings false (gpt2, opt: true); hidden_act silu; attention_bias false (qwen2: q, k, v have biases);
//   sliding_window none (mistral: 4096); decoder_sparse_step 1, mlp_only_layers []; first_k_dense_replace 0,
//   moe_layer_freq 1; gpt2: n_inner = 4 n_embd, resid_pdrop 0.1; opt: dropout 0.1, positions = max_position_embeddings + 2.
// Left out, with a warning: multi-token prediction modules, windows on some layers only, a bias on the output projection
// alone.
#include <optional>
#include <string>
#include <string_view>

#include "sim/core/diagnostics.h"
#include "sim/spec/document.h"

namespace memwall {

// True for a map that has no `schema` and carries the marks of a config.json.
[[nodiscard]] bool is_hf_config(const DocNode& document);

// nullopt: at least one error was added. Places are those of the keys in the file.
[[nodiscard]] std::optional<DocNode> model_document_from_hf(const std::string& label,
                                                            std::string_view text,
                                                            Diagnostics& diagnostics);
// The same from a file that is already a tree.
[[nodiscard]] std::optional<DocNode> model_document_from_hf(const DocNode& config,
                                                            Diagnostics& diagnostics);

}  // namespace memwall
