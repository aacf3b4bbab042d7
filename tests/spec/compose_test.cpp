#include "sim/spec/compose.h"

#include <doctest/doctest.h>

using namespace memwall;

namespace {

DocNode scalar(const char* text) {
    DocNode node;
    node.kind = DocNode::Kind::Scalar;
    node.scalar = text;
    return node;
}

DocNode map(std::vector<std::pair<std::string, DocNode>> entries) {
    DocNode node;
    node.kind = DocNode::Kind::Map;
    for (auto& [key, value] : entries) {
        node.entries.push_back({key, Place{}, std::move(value)});
    }
    return node;
}

// Documents by kind and name.
class Table : public DocumentSource {
  public:
    std::map<std::string, DocNode> documents;

    const DocNode* load(DataKind kind,
                        const std::string& reference,
                        const Place& from,
                        Diagnostics& diagnostics) override {
        const auto found = documents.find(std::string(kind_name(kind)) + " " + reference);
        if (found == documents.end()) {
            diagnostics.error("E0113", from, "no " + reference);
            return nullptr;
        }
        found->second.place.file = reference;
        return &found->second;
    }
};

}  // namespace

TEST_CASE("later changes win: base, keys beside it, with, override") {
    Table table;
    table.documents["gpu a"] = map({{"w", scalar("base")},
                                    {"x", scalar("base")},
                                    {"y", scalar("base")},
                                    {"z", scalar("base")}});
    DocNode variant = map({{"base", scalar("a")},
                           {"x", scalar("key")},
                           {"y", scalar("key")},
                           {"z", scalar("key")},
                           {"with", map({{"y", scalar("with")}, {"z", scalar("with")}})}});
    Diagnostics diagnostics;
    const DocNode composed =
        compose(variant, DataKind::Gpu, {{"z", Place{}, scalar("set")}}, table, diagnostics);
    CHECK(composed.at("w")->scalar == "base");
    CHECK(composed.at("x")->scalar == "key");
    CHECK(composed.at("y")->scalar == "with");
    CHECK(composed.at("z")->scalar == "set");
    CHECK(composed.find("base") == nullptr);
    CHECK(composed.find("with") == nullptr);
    CHECK_FALSE(diagnostics.has_errors());
}

TEST_CASE("a variant of a variant merges maps key by key and replaces lists") {
    Table table;
    DocNode list;
    list.kind = DocNode::Kind::Sequence;
    list.items = {scalar("1"), scalar("2")};
    DocNode shorter = list;
    shorter.items.pop_back();
    table.documents["gpu a"] =
        map({{"m", map({{"p", scalar("1")}, {"q", scalar("1")}})}, {"l", list}});
    table.documents["gpu b"] =
        map({{"base", scalar("a")}, {"m", map({{"q", scalar("2")}})}, {"l", shorter}});
    Diagnostics diagnostics;
    const DocNode composed =
        compose(map({{"base", scalar("b")}}), DataKind::Gpu, {}, table, diagnostics);
    CHECK(composed.at("m.p")->scalar == "1");
    CHECK(composed.at("m.q")->scalar == "2");
    CHECK(composed.at("l")->items.size() == 1);
}

TEST_CASE("a reference that fails is reported once and marked") {
    Table table;
    Diagnostics diagnostics;
    const DocNode composed =
        compose(map({{"gpu", scalar("nope")}}), DataKind::Node, {}, table, diagnostics);
    CHECK(diagnostics.errors() == 1);
    CHECK(composed.at("gpu")->unresolved);
}

TEST_CASE("an override deeper than any format, or inside a list, is refused") {
    Table table;
    DocNode list;
    list.kind = DocNode::Kind::Sequence;
    std::string deep = "a";
    for (int i = 0; i < 100'000; ++i) {
        deep += ".a";
    }
    Diagnostics diagnostics;
    (void)compose(map({}), DataKind::Gpu, {{deep, Place{}, scalar("1")}}, table, diagnostics);
    CHECK(diagnostics.sorted()[0].code == "E0108");
    Diagnostics inside;
    (void)compose(
        map({{"l", list}}), DataKind::Gpu, {{"l.0", Place{}, scalar("1")}}, table, inside);
    CHECK(inside.sorted()[0].code == "E0203");
}
