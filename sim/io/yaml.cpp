#include "sim/io/yaml.h"

#include <algorithm>
#include <istream>
#include <map>
#include <set>
#include <streambuf>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "sim/io/yaml_text.h"

namespace memwall {
namespace {

// Ends the parse after an error has been recorded; never leaves this file.
struct Abandoned {};

// Reads from memory without copying the text.
class ViewBuffer : public std::streambuf {
  public:
    explicit ViewBuffer(std::string_view text) {
        // The get area is never written to.
        char* begin = const_cast<char*>(text.data());
        setg(begin, begin, begin + text.size());
    }
};

// Builds the tree bottom-up: a container is open until its end event, then moves into its parent.
class TreeBuilder : public YAML::EventHandler {
  public:
    TreeBuilder(const std::string& label,
                std::string_view text,
                const YamlLimits& limits,
                Diagnostics& diagnostics)
        : label_(label), text_(text), lines_(text), limits_(limits), diagnostics_(diagnostics) {}

    [[nodiscard]] bool has_root() const { return has_root_; }
    [[nodiscard]] DocNode take_root() { return std::move(root_); }
    [[nodiscard]] const LineIndex& lines() const { return lines_; }

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (has_root_) {
            fail("E0111",
                 place(mark),
                 "content after the end of the document",
                 "one file holds one document; remove `---` and what follows");
        }
    }
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        DocNode node;
        node.place = null_place(mark);
        add(std::move(node), anchor);
    }

    void OnScalar(const YAML::Mark& mark,
                  const std::string& tag,
                  YAML::anchor_t anchor,
                  const std::string& value) override {
        check_tag(mark, tag);
        DocNode node;
        node.kind = DocNode::Kind::Scalar;
        node.place = place(mark);
        node.scalar = value;
        node.quoted = tag == "!";
        if (node.quoted) {
            const std::size_t at = lines_.offset(mark.line, mark.column);
            if (at < text_.size() && (text_[at] == '"' || text_[at] == '\'') &&
                !quote_closes(text_, at)) {
                fail("E0106",
                     node.place,
                     "this quote is never closed",
                     "add the closing quote on the same line");
            }
        }
        add(std::move(node), anchor);
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const auto found = anchors_.find(anchor);
        if (found == anchors_.end()) {
            fail("E0110",
                 place(mark),
                 "this alias is used inside its own anchor",
                 "a value cannot contain itself");
        }
        if (stack_.size() + found->second.height > limits_.depth) {
            fail_depth(place(mark));
        }
        count(found->second.size - 1, place(mark));
        place_in_parent(found->second.node, found->second.height);
    }

    void OnSequenceStart(const YAML::Mark& mark,
                         const std::string& tag,
                         YAML::anchor_t anchor,
                         YAML::EmitterStyle::value /*style*/) override {
        check_tag(mark, tag);
        open(DocNode::Kind::Sequence, mark, anchor);
    }
    void OnSequenceEnd() override { close(); }

    void OnMapStart(const YAML::Mark& mark,
                    const std::string& tag,
                    YAML::anchor_t anchor,
                    YAML::EmitterStyle::value /*style*/) override {
        check_tag(mark, tag);
        open(DocNode::Kind::Map, mark, anchor);
    }
    void OnMapEnd() override { close(); }

    [[nodiscard]] Place place(const YAML::Mark& mark) const {
        return {label_, mark.line + 1, mark.column + 1};
    }

  private:
    struct Open {
        DocNode node;
        YAML::anchor_t anchor = 0;
        std::size_t nodes_before = 0;
        std::size_t height = 1;  // levels of this node and what is below it
        bool has_key = false;    // Map: the next node is the value of `key`
        std::string key;
        Place key_place;
        std::vector<DocNode> merges;  // values of `<<`
    };
    struct Anchored {
        DocNode node;
        std::size_t size = 0;    // nodes, aliases expanded
        std::size_t height = 0;  // levels
    };

    [[noreturn]] void fail(const char* code, Place where, std::string text, std::string hint = {}) {
        diagnostics_.error(code, std::move(where), std::move(text)).hint = std::move(hint);
        throw Abandoned{};
    }

    [[noreturn]] void fail_depth(Place where) {
        fail("E0108",
             std::move(where),
             fmt::format("nested more than {} levels deep", limits_.depth));
    }

    // A list or map where a key is wanted. yaml-cpp also takes a bracket that is never closed for the begin of a key.
    [[noreturn]] void fail_key(const YAML::Mark& mark) {
        const std::size_t at = lines_.offset(mark.line, mark.column);
        if (at < text_.size() && (text_[at] == '[' || text_[at] == '{')) {
            const BracketScan scan = scan_bracket(text_, at);
            if (stack_.size() + scan.depth > limits_.depth) {
                fail_depth(place(mark));
            }
            if (!scan.closed) {
                fail("E0106",
                     place(mark),
                     "this bracket is never closed",
                     text_[at] == '[' ? "add the closing ']'" : "add the closing '}'");
            }
        }
        fail("E0106", place(mark), "a key must be a plain word, not a list or map");
    }

    [[noreturn]] void fail_keys(Place where) {
        fail("E0109", std::move(where), fmt::format("more than {} keys in one map", limits_.keys));
    }

    void count(std::size_t nodes, const Place& where) {
        nodes_ += nodes;
        if (nodes_ > limits_.nodes) {
            fail("E0109",
                 where,
                 fmt::format("more than {} values after aliases are expanded", limits_.nodes));
        }
    }

    void check_tag(const YAML::Mark& mark, const std::string& tag) {
        if (!tag.empty() && tag != "?" && tag != "!") {
            fail("E0106",
                 place(mark),
                 fmt::format("tag '{}' is not used here", tag),
                 "remove the tag; quote a number to make it text");
        }
    }

    // yaml-cpp marks a missing value at the token that follows; its key is the better place.
    [[nodiscard]] Place null_place(const YAML::Mark& mark) const {
        return !stack_.empty() && stack_.back().has_key ? stack_.back().key_place : place(mark);
    }

    void open(DocNode::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
        if (stack_.size() >= limits_.depth) {
            fail_depth(place(mark));
        }
        if (!stack_.empty() && stack_.back().node.kind == DocNode::Kind::Map &&
            !stack_.back().has_key) {
            fail_key(mark);
        }
        Open opened;
        opened.node.kind = kind;
        opened.node.place = place(mark);
        opened.anchor = anchor;
        opened.nodes_before = nodes_;
        stack_.push_back(std::move(opened));
    }

    void close() {
        Open done = std::move(stack_.back());
        stack_.pop_back();
        refuse_duplicates(done.node);
        merge_all(done.node, done.merges);
        if (done.node.entries.size() > limits_.keys) {
            fail_keys(done.node.place);
        }
        remember(done.anchor, done.node, nodes_ - done.nodes_before + 1, done.height);
        place_in_parent(std::move(done.node), done.height);
    }

    void add(DocNode node, YAML::anchor_t anchor) {
        remember(anchor, node, 1, 1);
        place_in_parent(std::move(node), 1);
    }

    void remember(YAML::anchor_t anchor,
                  const DocNode& node,
                  std::size_t size,
                  std::size_t height) {
        if (anchor != 0) {
            count(size, node.place);  // the copy is memory too
            anchors_[anchor] = {node, size, height};
        }
    }

    void place_in_parent(DocNode node, std::size_t height) {
        count(1, node.place);
        if (stack_.empty()) {
            root_ = std::move(node);
            has_root_ = true;
            return;
        }
        Open& parent = stack_.back();
        parent.height = std::max(parent.height, height + 1);
        if (parent.node.kind == DocNode::Kind::Sequence) {
            parent.node.items.push_back(std::move(node));
        } else if (!parent.has_key) {
            take_key(parent, std::move(node));
        } else {
            take_value(parent, std::move(node));
        }
    }

    void take_key(Open& map, DocNode node) {
        if (node.kind != DocNode::Kind::Scalar) {
            fail("E0106", node.place, "a key must be a plain word, not a list or map");
        }
        if (node.scalar.empty()) {
            fail("E0106", node.place, "a key must not be empty");
        }
        map.has_key = true;
        map.key = std::move(node.scalar);
        map.key_place = std::move(node.place);
    }

    void take_value(Open& map, DocNode node) {
        map.has_key = false;
        if (map.key == "<<") {
            take_merge(map, std::move(node));
            return;
        }
        if (map.node.entries.size() >= limits_.keys) {
            fail_keys(map.key_place);
        }
        map.node.entries.push_back({std::move(map.key), std::move(map.key_place), std::move(node)});
    }

    void take_merge(Open& map, DocNode node) {
        if (node.kind == DocNode::Kind::Map) {
            map.merges.push_back(std::move(node));
            return;
        }
        if (node.kind == DocNode::Kind::Sequence) {
            for (DocNode& item : node.items) {
                if (item.kind != DocNode::Kind::Map) {
                    fail("E0106", item.place, "`<<` takes a map or a list of maps");
                }
                map.merges.push_back(std::move(item));
            }
            return;
        }
        fail("E0106", node.place, "`<<` takes a map or a list of maps");
    }

    void refuse_duplicates(const DocNode& map) {
        std::vector<const DocEntry*> sorted;
        sorted.reserve(map.entries.size());
        for (const DocEntry& entry : map.entries) {
            sorted.push_back(&entry);
        }
        std::stable_sort(sorted.begin(), sorted.end(), [](const DocEntry* a, const DocEntry* b) {
            return a->key < b->key;
        });
        for (std::size_t i = 1; i < sorted.size(); ++i) {
            if (sorted[i]->key == sorted[i - 1]->key) {
                Diagnostic& error =
                    diagnostics_.error("E0107",
                                       sorted[i]->place,
                                       fmt::format("key '{}' is given twice", sorted[i]->key));
                error.notes.push_back({sorted[i - 1]->place, "first given here"});
                error.hint = "keep one of the two";
            }
        }
    }

    // Local keys win, then earlier merges.
    static void merge_all(DocNode& map, std::vector<DocNode>& merges) {
        if (merges.empty()) {
            return;
        }
        std::set<std::string> taken;
        for (const DocEntry& entry : map.entries) {
            taken.insert(entry.key);
        }
        for (DocNode& merge : merges) {
            for (DocEntry& entry : merge.entries) {
                if (taken.insert(entry.key).second) {
                    map.entries.push_back(std::move(entry));
                }
            }
        }
    }

    const std::string& label_;
    std::string_view text_;
    LineIndex lines_;
    const YamlLimits& limits_;
    Diagnostics& diagnostics_;
    std::vector<Open> stack_;
    std::map<YAML::anchor_t, Anchored> anchors_;
    std::size_t nodes_ = 0;
    DocNode root_;
    bool has_root_ = false;
};

// yaml-cpp's own complaints, with the likely cause where one is known.
void add_syntax_error(const YAML::Exception& exception,
                      const TreeBuilder& builder,
                      Diagnostics& diagnostics) {
    YAML::Mark mark = exception.mark;
    if (mark.is_null()) {
        mark.line = 0;
        mark.column = 0;
    }
    Diagnostic& error = diagnostics.error(
        "E0106", builder.place(mark), fmt::format("not readable as YAML: {}", exception.msg));
    const std::string_view line = builder.lines().line(mark.line);
    const std::string_view indent = line.substr(0, line.find_first_not_of(" \t"));
    const std::string_view message = exception.msg;
    if (indent.find('\t') != std::string_view::npos) {
        error.hint = "indent with spaces, not with tabs";
    } else if (message.find("unknown token") != std::string_view::npos) {
        error.hint = "a value that begins with %, @ or ` needs quotes: about: '%s'";
    } else if (message.find("map value") != std::string_view::npos) {
        error.hint =
            "check the indentation here and one line above; a value that contains ': ' must be "
            "quoted";
    } else if (message.find("flow") != std::string_view::npos) {
        error.hint = "a bracket '[' or '{' is not closed, or closed once too often";
    } else if (message.find("anchor") != std::string_view::npos) {
        error.code = "E0110";
        error.hint = "define the anchor with & before it is used with *";
    }
}

}  // namespace

std::optional<DocNode> read_yaml(const std::string& label,
                                 std::string_view text,
                                 Diagnostics& diagnostics,
                                 const YamlLimits& limits) {
    const std::optional<std::string_view> checked =
        check_text(label, text, limits.bytes, diagnostics);
    if (!checked) {
        return std::nullopt;
    }
    const std::size_t errors_before = diagnostics.errors();
    TreeBuilder builder(label, *checked, limits, diagnostics);
    try {
        ViewBuffer buffer(*checked);
        std::istream stream(&buffer);
        YAML::Parser parser(stream);
        while (parser.HandleNextDocument(builder)) {
        }
    } catch (const Abandoned&) {
        return std::nullopt;
    } catch (const YAML::Exception& exception) {
        add_syntax_error(exception, builder, diagnostics);
        return std::nullopt;
    }
    if (!builder.has_root()) {
        diagnostics.error("E0105", {label, 0, 0}, "the file is empty").hint =
            "see the files in scenarios/ for what to write";
        return std::nullopt;
    }
    if (diagnostics.errors() != errors_before) {
        return std::nullopt;
    }
    return builder.take_root();
}

namespace {

void set_places(DocNode& node, const Place& place) {
    node.place = place;
    for (DocNode& item : node.items) {
        set_places(item, place);
    }
    for (DocEntry& entry : node.entries) {
        entry.place = place;
        set_places(entry.value, place);
    }
}

}  // namespace

std::optional<DocNode> read_yaml_value(const Place& place,
                                       std::string_view text,
                                       Diagnostics& diagnostics) {
    Diagnostics own;
    std::optional<DocNode> node = read_yaml(place.file, text, own);
    constexpr std::size_t kShown = 60;
    const std::string value =
        text.size() <= kShown ? std::string(text) : std::string(text.substr(0, kShown)) + "...";
    for (Diagnostic problem : own.sorted()) {
        Diagnostic& error = diagnostics.error(
            problem.code, place, fmt::format("the value '{}': {}", value, problem.text));
        error.hint = std::move(problem.hint);
    }
    if (node) {
        set_places(*node, place);
    }
    return node;
}

}  // namespace memwall
