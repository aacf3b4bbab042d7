#include "sim/spec/read.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/spec/value.h"

namespace memwall {
namespace {

const char* kind_word(const DocNode& node) {
    switch (node.kind) {
    case DocNode::Kind::Null:
        return "nothing";
    case DocNode::Kind::Scalar:
        return "a single value";
    case DocNode::Kind::Sequence:
        return "a list";
    case DocNode::Kind::Map:
        return "a map";
    }
    return "";
}

// Made by an override below a single value, such as --set parallel.tp.x=1: the value stands under an empty key.
bool has_key_below_scalar(const DocNode& node) {
    return node.kind == DocNode::Kind::Map && !node.entries.empty() &&
           node.entries.front().key.empty();
}

}  // namespace

DocReader::DocReader(const DocNode& root, std::string subject, Diagnostics& diagnostics)
    : subject_(std::move(subject)), diagnostics_(diagnostics) {
    if (root.kind != DocNode::Kind::Map && !root.unresolved) {
        diagnostics_.error(
            "E0203",
            root.place,
            fmt::format("{} must be a map of keys, this is {}", subject_, kind_word(root)));
    }
    push(root, "");
}

void DocReader::push(const DocNode& node, std::string path) {
    Level& level = levels_.emplace_back();
    level.node = &node;
    level.path = std::move(path);
}

void DocReader::push_shorthand(const DocNode& node, std::string_view key, std::string path) {
    Level& level = levels_.emplace_back();
    level.shorthand.kind = DocNode::Kind::Map;
    level.shorthand.place = node.place;
    if (node.kind == DocNode::Kind::Scalar) {
        level.shorthand.entries.push_back({std::string(key), node.place, node});
    } else {
        level.shorthand.entries = node.entries;
        level.shorthand.entries.front().key = key;
    }
    level.node = &level.shorthand;
    level.path = std::move(path);
}

const DocNode* DocReader::find(Key key) {
    Level& level = levels_.back();
    if (key.is_item()) {
        return &level.node->items[key.index];
    }
    level.known.push_back(key.name);
    return level.node->find(key.name);
}

std::string DocReader::path_of(Key key) const {
    const std::string& path = levels_.back().path;
    if (key.is_item()) {
        return fmt::format("{}[{}]", path, key.index);
    }
    return path.empty() ? std::string(key.name) : fmt::format("{}.{}", path, key.name);
}

// The node of a key that is there and not empty; reports a missing required key.
const DocNode* DocReader::wanted(Key key, Rules rules) {
    const DocNode* node = find(key);
    const Level& level = levels_.back();
    // After "must be a map" further complaints about its keys are noise.
    const bool in_map = key.is_item() || level.node->kind == DocNode::Kind::Map;
    if (node == nullptr) {
        if (rules.required && in_map) {
            const std::string where = level.path.empty() ? subject_ : "'" + level.path + "'";
            diagnostics_.error("E0202",
                               level.node->place,
                               fmt::format("key '{}' is missing in {}", key.name, where));
        }
        return nullptr;
    }
    if (node->unresolved) {
        return nullptr;
    }
    if (node->kind == DocNode::Kind::Null) {
        diagnostics_.error("E0203", node->place, fmt::format("{} has no value", path_of(key)))
            .hint = "give it a value, or leave the key out to take its default";
        return nullptr;
    }
    return node;
}

Shape DocReader::shape(std::string_view key, Shape /*in_value*/) {
    const DocNode* node = find(key);
    if (node == nullptr) {
        return Shape::Absent;
    }
    switch (node->kind) {
    case DocNode::Kind::Null:
    case DocNode::Kind::Scalar:
        return Shape::Scalar;
    case DocNode::Kind::Sequence:
        return Shape::List;
    case DocNode::Kind::Map:
        return Shape::Map;
    }
    return Shape::Absent;
}

bool DocReader::has(std::string_view key, bool /*in_value*/) {
    return find(key) != nullptr;
}

void DocReader::keep(std::string_view key) {
    levels_.back().known.push_back(key);
}

void DocReader::visit_leaf(Key key, Leaf leaf, Rules rules) {
    const DocNode* node = wanted(key, rules);
    if (node == nullptr) {
        return;
    }
    if (node->kind != DocNode::Kind::Scalar) {
        const bool below = has_key_below_scalar(*node);
        const Place& place = below ? node->entries.back().place : node->place;
        const std::string what =
            below ? fmt::format("has no key '{}' below it", node->entries.back().key)
                  : fmt::format("must be {}, this is {}", kind_of(leaf), kind_word(*node));
        diagnostics_.error("E0203", place, fmt::format("{} {}", path_of(key), what));
        return;
    }
    ValueProblem problem = read_value(leaf, node->scalar, node->quoted, rules);
    if (!problem.code.empty()) {
        diagnostics_
            .error(std::move(problem.code),
                   node->place,
                   fmt::format("{}: {}", path_of(key), problem.text))
            .hint = std::move(problem.hint);
    }
}

bool DocReader::enter(Key key, bool /*in_value*/, Rules rules, std::string_view shorthand) {
    const DocNode* node = wanted(key, rules);
    if (node == nullptr) {
        return false;
    }
    std::string path = path_of(key);
    const bool scalar = node->kind == DocNode::Kind::Scalar || has_key_below_scalar(*node);
    if (scalar && !shorthand.empty()) {
        push_shorthand(*node, shorthand, std::move(path));
        return true;
    }
    if (scalar) {
        const Place& place =
            node->kind == DocNode::Kind::Map ? node->entries.front().place : node->place;
        diagnostics_.error(
            "E0203", place, fmt::format("{} must be a map of keys, this is a single value", path));
        return false;
    }
    if (node->kind != DocNode::Kind::Map) {
        diagnostics_.error(
            "E0203",
            node->place,
            fmt::format("{} must be a map of keys, this is {}", path, kind_word(*node)));
        return false;
    }
    push(*node, std::move(path));
    return true;
}

std::optional<std::size_t> DocReader::enter_list(Key key, std::size_t /*in_value*/, Rules rules) {
    const DocNode* node = wanted(key, rules);
    if (node == nullptr) {
        return std::nullopt;
    }
    if (node->kind != DocNode::Kind::Sequence) {
        diagnostics_
            .error("E0203",
                   node->place,
                   fmt::format("{} must be a list, this is {}", path_of(key), kind_word(*node)))
            .hint = "write it as [a, b]";
        return std::nullopt;
    }
    push(*node, path_of(key));
    return node->items.size();
}

void DocReader::leave() {
    report_unknown(levels_.back());
    levels_.pop_back();
}

void DocReader::finish() {
    report_unknown(levels_.front());
}

void DocReader::report_unknown(const Level& level) {
    constexpr int kReported = 20;  // of one map; a file of another kind has hundreds
    const std::string where = level.path.empty() ? subject_ : "'" + level.path + "'";
    int reported = 0;
    for (const DocEntry& entry : level.node->entries) {
        if (std::find(level.known.begin(), level.known.end(), entry.key) != level.known.end()) {
            continue;
        }
        if (reported == kReported) {
            return;
        }
        ++reported;
        Diagnostic& error = diagnostics_.error(
            "E0201", entry.place, fmt::format("key '{}' is not known in {}", entry.key, where));
        const std::string_view near = nearest(entry.key, level.known);
        error.hint = near.empty() ? fmt::format("known keys: {}", fmt::join(level.known, ", "))
                                  : fmt::format("did you mean '{}'?", near);
    }
}

}  // namespace memwall
