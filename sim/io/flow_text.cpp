#include "sim/io/flow_text.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

namespace memwall {
namespace {

// Both YAML's double quotes and JSON read this.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 0x20 || byte == 0x7F) {
            out += fmt::format("\\u{:04x}", byte);
        } else {
            out += c;
        }
    }
    return out + '"';
}

bool digits(std::string_view& text) {
    const std::size_t before = text.size();
    while (!text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0) {
        text.remove_prefix(1);
    }
    return text.size() < before;
}

// The number grammar of JSON, RFC 8259 section 6.
bool is_json_number(std::string_view text) {
    if (text.starts_with('-')) {
        text.remove_prefix(1);
    }
    if (text.size() > 1 && text[0] == '0' &&
        std::isdigit(static_cast<unsigned char>(text[1])) != 0) {
        return false;
    }
    if (!digits(text)) {
        return false;
    }
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        if (!digits(text)) {
            return false;
        }
    }
    if (text.starts_with('e') || text.starts_with('E')) {
        text.remove_prefix(1);
        if (text.starts_with('+') || text.starts_with('-')) {
            text.remove_prefix(1);
        }
        return digits(text) && text.empty();
    }
    return text.empty();
}

// YAML's plain scalars take no control characters.
bool is_printable(std::string_view text) {
    return std::none_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7F;
    });
}

std::string scalar(const DocNode& node, bool json) {
    if (node.kind == DocNode::Kind::Null) {
        return "null";
    }
    const bool plain =
        json ? node.scalar == "true" || node.scalar == "false" || is_json_number(node.scalar)
             : is_printable(node.scalar);
    return !node.quoted && plain ? node.scalar : quoted(node.scalar);
}

std::string key_text(const std::string& key, bool json) {
    return json ? quoted(key) : key;
}

std::string flow(const DocNode& node, bool json) {
    std::string text;
    switch (node.kind) {
    case DocNode::Kind::Null:
    case DocNode::Kind::Scalar:
        return scalar(node, json);
    case DocNode::Kind::Sequence:
        for (const DocNode& item : node.items) {
            text += (text.empty() ? "" : ", ") + flow(item, json);
        }
        return "[" + text + "]";
    case DocNode::Kind::Map:
        for (const DocEntry& entry : node.entries) {
            text += (text.empty() ? "" : ", ") + key_text(entry.key, json) + ": " +
                    flow(entry.value, json);
        }
        return "{" + text + "}";
    }
    return text;
}

bool holds_records(const DocNode& node) {
    return node.kind == DocNode::Kind::Sequence && !node.items.empty() &&
           node.items.front().kind == DocNode::Kind::Map;
}

// A record that holds records itself is spread over lines.
bool is_spread(const DocNode& node) {
    return std::any_of(node.entries.begin(), node.entries.end(), [](const DocEntry& entry) {
        return holds_records(entry.value);
    });
}

void yaml_map(const DocNode& map, std::size_t indent, std::string_view first, std::string& out) {
    std::string lead = std::string(indent - first.size(), ' ') + std::string(first);
    const std::string deeper(indent + 2, ' ');
    for (const DocEntry& entry : map.entries) {
        out += lead + entry.key + ":";
        lead = std::string(indent, ' ');
        if (!holds_records(entry.value)) {
            out += " " + flow(entry.value, false) + "\n";
            continue;
        }
        out += "\n";
        for (const DocNode& item : entry.value.items) {
            if (is_spread(item)) {
                yaml_map(item, indent + 4, "- ", out);
            } else {
                out += deeper + "- " + flow(item, false) + "\n";
            }
        }
    }
}

void json_map(const DocNode& map, std::size_t indent, std::string& out) {
    const std::string lead(indent + 2, ' ');
    out += "{\n";
    for (std::size_t i = 0; i < map.entries.size(); ++i) {
        const DocEntry& entry = map.entries[i];
        out += lead + quoted(entry.key) + ": ";
        if (holds_records(entry.value)) {
            out += "[\n";
            const std::vector<DocNode>& items = entry.value.items;
            for (std::size_t k = 0; k < items.size(); ++k) {
                out += lead + "  ";
                if (is_spread(items[k])) {
                    json_map(items[k], indent + 4, out);
                } else {
                    out += flow(items[k], true);
                }
                out += k + 1 < items.size() ? ",\n" : "\n";
            }
            out += lead + "]";
        } else {
            out += flow(entry.value, true);
        }
        out += i + 1 < map.entries.size() ? ",\n" : "\n";
    }
    out += std::string(indent, ' ') + "}";
}

}  // namespace

std::string flow_yaml(const DocNode& map) {
    std::string out;
    yaml_map(map, 0, "", out);
    return out;
}

std::string flow_json(const DocNode& map) {
    std::string out;
    json_map(map, 0, out);
    return out + "\n";
}

}  // namespace memwall
