#include "sim/spec/document.h"

#include <doctest/doctest.h>

using namespace memwall;

namespace {

DocNode scalar(const char* text) {
    DocNode node;
    node.kind = DocNode::Kind::Scalar;
    node.scalar = text;
    return node;
}

DocNode map(std::vector<DocEntry> entries) {
    DocNode node;
    node.kind = DocNode::Kind::Map;
    node.entries = std::move(entries);
    return node;
}

}  // namespace

TEST_CASE("a dotted path walks down maps, an empty path is the node itself") {
    const DocNode root = map({{"a", {}, map({{"b", {}, scalar("1")}})}});
    REQUIRE(root.at("a.b") != nullptr);
    CHECK(root.at("a.b")->scalar == "1");
    CHECK(root.at("") == &root);
}

TEST_CASE("a path with a missing part, or below a single value, leads nowhere") {
    const DocNode root = map({{"a", {}, map({{"b", {}, scalar("1")}})}});
    CHECK(root.at("a.c") == nullptr);
    CHECK(root.at("x.b") == nullptr);
    CHECK(root.at("a.b.c") == nullptr);
    CHECK(root.find("b") == nullptr);
}
