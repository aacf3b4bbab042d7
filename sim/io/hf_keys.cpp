#include "sim/io/hf_keys.h"

#include <utility>

#include <fmt/format.h>

#include "sim/core/quantity.h"

namespace memwall::hf {
namespace {

// Beyond any size of a model.
constexpr std::int64_t kLargest = std::int64_t{1} << 32;

}  // namespace

const DocNode* Config::find(const Names& keys) const {
    for (const std::string_view key : keys) {
        const DocNode* node = map_.find(key);
        if (node != nullptr && node->kind != DocNode::Kind::Null) {
            return node;
        }
    }
    return nullptr;
}

std::optional<Value> Config::integer(const Names& keys, std::int64_t least) const {
    const DocNode* node = find(keys);
    if (node == nullptr) {
        return std::nullopt;
    }
    const bool plain = node->kind == DocNode::Kind::Scalar && !node->quoted;
    const Parsed<std::int64_t> number =
        plain ? parse<std::int64_t>(node->scalar) : tl::unexpected(QuantityError{});
    if (!number) {
        error(keys, "E0204", fmt::format("{} is not a whole number", keys.front()));
        return std::nullopt;
    }
    if (*number < least || *number > kLargest) {
        error(keys,
              "E0206",
              fmt::format("{} is {}; {} to 2^32 is wanted", keys.front(), *number, least));
        return std::nullopt;
    }
    return Value{*number, node->place};
}

Value Config::required(const Names& keys) const {
    if (!has(keys)) {
        diagnostics_.error("E0202", place(), fmt::format("'{}' is missing", keys.front())).hint =
            "this architecture has no usable default for it";
    }
    return integer(keys).value_or(Value{1, place(), false});
}

Value Config::integer_or(const Names& keys, std::int64_t fallback, std::int64_t least) const {
    return integer(keys, least).value_or(Value{fallback, place()});
}

bool Config::flag(const Names& keys, bool fallback) const {
    const DocNode* node = find(keys);
    if (node == nullptr) {
        return fallback;
    }
    const bool scalar = node->kind == DocNode::Kind::Scalar && !node->quoted;
    if (!scalar || (node->scalar != "true" && node->scalar != "false")) {
        error(keys, "E0204", fmt::format("{} is neither true nor false", keys.front()));
        return fallback;
    }
    return node->scalar == "true";
}

std::string Config::text(std::string_view key) const {
    const DocNode* node = find({key});
    return node != nullptr && node->kind == DocNode::Kind::Scalar ? node->scalar : std::string();
}

void Config::warn(const Names& keys, std::string code, std::string message) const {
    const DocNode* node = find(keys);
    diagnostics_.warning(
        std::move(code), node != nullptr ? node->place : place(), std::move(message));
}

void Config::error(const Names& keys,
                   std::string code,
                   std::string message,
                   std::string hint) const {
    const DocNode* node = find(keys);
    diagnostics_.error(std::move(code), node != nullptr ? node->place : place(), std::move(message))
        .hint = std::move(hint);
}

ModelDocument::ModelDocument(const Place& place) {
    root_.kind = DocNode::Kind::Map;
    root_.place = place;
}

void ModelDocument::number(std::string_view key, const Value& v) {
    scalar(key, fmt::format("{}", v.number), v.place);
}

void ModelDocument::flag(std::string_view key, bool value) {
    scalar(key, value ? "true" : "false", root_.place);
}

void ModelDocument::word(std::string_view key, std::string_view text) {
    scalar(key, std::string(text), root_.place);
}

void ModelDocument::text(std::string_view key, std::string text) {
    scalar(key, std::move(text), root_.place, true);
}

void ModelDocument::scalar(std::string_view key,
                           std::string text,
                           const Place& place,
                           bool quoted) {
    DocNode node;
    node.kind = DocNode::Kind::Scalar;
    node.place = place;
    node.scalar = std::move(text);
    node.quoted = quoted;
    add(key, std::move(node));
}

void ModelDocument::add(std::string_view key, DocNode node) {
    const Place place = node.place;
    root_.entries.push_back({std::string(key), place, std::move(node)});
}

}  // namespace memwall::hf
