#pragma once
// Fills structs from a document through their field tables (spec/fields.h). Strict: an unknown key, a missing required
// key, a missing unit, a value of another kind or out of range is an error at its place; reading goes on after each.
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/spec/document.h"
#include "sim/spec/fields.h"

namespace memwall {

class DocReader : public Fields {
  public:
    // `subject` names the document in messages about its top level, such as "this gpu file".
    DocReader(const DocNode& root, std::string subject, Diagnostics& diagnostics);

    // Call after the outermost describe(): reports the keys that nothing read.
    void finish();

    Shape shape(std::string_view key, Shape in_value) override;
    bool has(std::string_view key, bool in_value) override;
    void keep(std::string_view key) override;
    void visit_leaf(Key key, Leaf leaf, Rules rules) override;
    bool enter(Key key, bool in_value, Rules rules, std::string_view shorthand) override;
    std::optional<std::size_t> enter_list(Key key, std::size_t in_value, Rules rules) override;
    void leave() override;

  private:
    struct Level {
        const DocNode* node = nullptr;
        DocNode shorthand;  // owns the map made of a bare value
        std::string path;
        std::vector<std::string_view> known;
    };

    [[nodiscard]] const DocNode* find(Key key);
    [[nodiscard]] std::string path_of(Key key) const;
    [[nodiscard]] const DocNode* wanted(Key key, Rules rules);
    void report_unknown(const Level& level);
    void push(const DocNode& node, std::string path);
    void push_shorthand(const DocNode& node, std::string_view key, std::string path);

    std::string subject_;
    Diagnostics& diagnostics_;
    std::deque<Level> levels_;  // a deque: levels do not move, some point into themselves
};

// Reads one struct; true when no error was added.
template <class T>
bool read_document(const DocNode& root,
                   const std::string& subject,
                   T& value,
                   Diagnostics& diagnostics) {
    const std::size_t before = diagnostics.errors();
    DocReader reader(root, subject, diagnostics);
    describe(reader, value);
    reader.finish();
    return diagnostics.errors() == before;
}

}  // namespace memwall
