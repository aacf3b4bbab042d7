#pragma once
// Turns structs back into a document through their field tables: every field, defaults filled in, each with its origin.
#include <map>
#include <string>
#include <vector>

#include "sim/spec/document.h"
#include "sim/spec/fields.h"

namespace memwall {

// Pseudo files of places: where a value comes from that no file states.
inline constexpr std::string_view kFromDefault = "default";
inline constexpr std::string_view kFromDerived = "derived";
inline constexpr std::string_view kFromStack = "stack";

// Values that resolve() filled in: dotted path -> kFromDerived or kFromStack.
using Derivations = std::map<std::string, std::string_view, std::less<>>;

class DocWriter : public Fields {
  public:
    // `source`: the document that was read; gives the places, and the parts that are kept as they are. May be null.
    DocWriter(const DocNode* source, const Derivations& derivations);
    [[nodiscard]] DocNode take();

    Shape shape(std::string_view key, Shape in_value) override;
    bool has(std::string_view key, bool in_value) override;
    void keep(std::string_view key) override;
    void visit_leaf(Key key, Leaf leaf, Rules rules) override;
    bool enter(Key key, bool in_value, Rules rules, std::string_view shorthand) override;
    std::optional<std::size_t> enter_list(Key key, std::size_t in_value, Rules rules) override;
    void leave() override;

  private:
    struct Level {
        DocNode node;
        std::string key;
        std::string path;
        const DocNode* source = nullptr;
        std::string_view shorthand;
    };

    [[nodiscard]] const DocNode* source_of(Key key) const;
    [[nodiscard]] std::string path_of(Key key) const;
    [[nodiscard]] Place origin(const std::string& path, const DocNode* source) const;
    void push(Key key, DocNode::Kind kind, std::string_view shorthand);
    void add(std::string_view key, DocNode node);

    const Derivations& derivations_;
    std::vector<Level> levels_;
};

template <class T>
DocNode write_document(T& value,
                       const DocNode* source = nullptr,
                       const Derivations& derivations = {}) {
    DocWriter writer(source, derivations);
    describe(writer, value);
    return writer.take();
}

}  // namespace memwall
