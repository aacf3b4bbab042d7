#include "sim/spec/write.h"

#include <fmt/format.h>

#include "sim/spec/value.h"

namespace memwall {

DocWriter::DocWriter(const DocNode* source, const Derivations& derivations)
    : derivations_(derivations) {
    Level root;
    root.node.kind = DocNode::Kind::Map;
    root.source = source;
    levels_.push_back(std::move(root));
}

DocNode DocWriter::take() {
    return std::move(levels_.front().node);
}

const DocNode* DocWriter::source_of(Key key) const {
    const Level& level = levels_.back();
    if (level.source == nullptr) {
        return nullptr;
    }
    if (key.is_item()) {
        return key.index < level.source->items.size() ? &level.source->items[key.index] : nullptr;
    }
    // A bare value stands for one key of the map, alone or under an empty key (see spec/read.h).
    if (!level.shorthand.empty() && key.name == level.shorthand) {
        if (level.source->kind == DocNode::Kind::Scalar) {
            return level.source;
        }
        if (const DocNode* bare = level.source->find("")) {
            return bare;
        }
    }
    return level.source->find(key.name);
}

std::string DocWriter::path_of(Key key) const {
    const std::string& path = levels_.back().path;
    if (key.is_item()) {
        return fmt::format("{}[{}]", path, key.index);
    }
    return path.empty() ? std::string(key.name) : fmt::format("{}.{}", path, key.name);
}

Place DocWriter::origin(const std::string& path, const DocNode* source) const {
    if (const auto derived = derivations_.find(path); derived != derivations_.end()) {
        return {std::string(derived->second), 0, 0};
    }
    return source != nullptr ? source->place : Place{std::string(kFromDefault), 0, 0};
}

void DocWriter::add(std::string_view key, DocNode node) {
    DocNode& parent = levels_.back().node;
    if (parent.kind == DocNode::Kind::Sequence) {
        parent.items.push_back(std::move(node));
    } else {
        parent.entries.push_back({std::string(key), node.place, std::move(node)});
    }
}

Shape DocWriter::shape(std::string_view /*key*/, Shape in_value) {
    return in_value;
}

bool DocWriter::has(std::string_view /*key*/, bool in_value) {
    return in_value;
}

void DocWriter::keep(std::string_view key) {
    if (const DocNode* source = source_of(key)) {
        add(key, *source);
    }
}

void DocWriter::visit_leaf(Key key, Leaf leaf, Rules /*rules*/) {
    WrittenValue value = write_value(leaf);
    DocNode node;
    node.kind = DocNode::Kind::Scalar;
    node.scalar = std::move(value.text);
    node.quoted = value.quote;
    node.place = origin(path_of(key), source_of(key));
    add(key.name, std::move(node));
}

void DocWriter::push(Key key, DocNode::Kind kind, std::string_view shorthand) {
    Level level;
    level.path = path_of(key);
    level.source = source_of(key);
    level.key = key.name;
    level.shorthand = shorthand;
    level.node.kind = kind;
    level.node.place = origin(level.path, level.source);
    levels_.push_back(std::move(level));
}

bool DocWriter::enter(Key key, bool in_value, Rules /*rules*/, std::string_view shorthand) {
    if (in_value) {
        push(key, DocNode::Kind::Map, shorthand);
    }
    return in_value;
}

std::optional<std::size_t> DocWriter::enter_list(Key key, std::size_t in_value, Rules /*rules*/) {
    push(key, DocNode::Kind::Sequence, {});
    return in_value;
}

void DocWriter::leave() {
    Level done = std::move(levels_.back());
    levels_.pop_back();
    add(done.key, std::move(done.node));
}

}  // namespace memwall
