#pragma once
// Typed access to the keys of a config.json, and the model document that grows from them; inside sim/io only.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/spec/document.h"

namespace memwall::hf {

// A number with the place that the model document shows for it.
struct Value {
    std::int64_t number = 0;
    Place place;
    bool known = true;  // false: a stand-in after an error, of which nothing follows
};

// Spellings of one key, the usual one first.
using Names = std::vector<std::string_view>;

// Wrong values are reported, once per look at them; the caller goes on with what it gets.
class Config {
  public:
    Config(const DocNode& map, Diagnostics& diagnostics) : map_(map), diagnostics_(diagnostics) {}

    [[nodiscard]] const Place& place() const { return map_.place; }

    // A key that is there and not null.
    [[nodiscard]] const DocNode* find(const Names& keys) const;
    [[nodiscard]] bool has(const Names& keys) const { return find(keys) != nullptr; }
    // Also when it is null.
    [[nodiscard]] bool stated(std::string_view key) const { return map_.find(key) != nullptr; }

    // nullopt: missing, or wrong and reported.
    [[nodiscard]] std::optional<Value> integer(const Names& keys, std::int64_t least = 1) const;
    // 1, not known, after an error.
    [[nodiscard]] Value required(const Names& keys) const;
    [[nodiscard]] Value integer_or(const Names& keys,
                                   std::int64_t fallback,
                                   std::int64_t least = 1) const;
    [[nodiscard]] bool flag(const Names& keys, bool fallback) const;
    // Empty when there is no such text.
    [[nodiscard]] std::string text(std::string_view key) const;

    void warn(const Names& keys, std::string code, std::string message) const;
    void error(const Names& keys,
               std::string code,
               std::string message,
               std::string hint = {}) const;

  private:
    const DocNode& map_;
    Diagnostics& diagnostics_;
};

class ModelDocument {
  public:
    explicit ModelDocument(const Place& place);

    void number(std::string_view key, const Value& v);
    void flag(std::string_view key, bool value);
    void word(std::string_view key, std::string_view text);
    void text(std::string_view key, std::string text);
    void scalar(std::string_view key, std::string text, const Place& place, bool quoted = false);
    void add(std::string_view key, DocNode node);
    [[nodiscard]] DocNode take() { return std::move(root_); }

  private:
    DocNode root_;
};

}  // namespace memwall::hf
