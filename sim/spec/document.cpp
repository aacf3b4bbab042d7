#include "sim/spec/document.h"

namespace memwall {

const DocNode* DocNode::find(std::string_view key) const {
    for (const DocEntry& entry : entries) {
        if (entry.key == key) {
            return &entry.value;
        }
    }
    return nullptr;
}

DocNode* DocNode::find(std::string_view key) {
    for (DocEntry& entry : entries) {
        if (entry.key == key) {
            return &entry.value;
        }
    }
    return nullptr;
}

const DocNode* DocNode::at(std::string_view path) const {
    const DocNode* node = this;
    while (node != nullptr && !path.empty()) {
        const std::size_t dot = path.find('.');
        node = node->find(path.substr(0, dot));
        path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
    }
    return node;
}

}  // namespace memwall
