// The field tables are complete: every member of a struct has its key, and every default passes its own rules.
#include <set>
#include <type_traits>
#include <utility>

#include <doctest/doctest.h>

#include "sim/spec/fields_machine.h"
#include "sim/spec/fields_work.h"
#include "sim/spec/keys.h"
#include "sim/spec/read.h"
#include "sim/spec/write.h"

using namespace memwall;

namespace {

// Converts to anything: S{Any{}, Any{}, ...} compiles for as many initialisers as the aggregate S has members.
struct Any {
    template <class T>
    operator T() const;  // NOLINT(google-explicit-constructor): only for counting members
};

template <class S, std::size_t... I>
constexpr bool takes(std::index_sequence<I...> /*indices*/) {
    return requires { S{((void)I, Any{})...}; };
}

template <class S, std::size_t N = 0>
constexpr std::size_t members() {
    if constexpr (takes<S>(std::make_index_sequence<N + 1>{})) {
        return members<S, N + 1>();
    } else {
        return N;
    }
}

// Keys at the top level of a struct, those that are kept for no member left out.
template <class S>
std::size_t described() {
    std::set<std::string> keys;
    for (const KeyInfo& key : list_keys(S{})) {
        keys.insert(key.path.substr(0, key.path.find_first_of(".[")));
    }
    return keys.size() - keys.count("about") - keys.count("sources");
}

template <class S>
void check_complete(const char* name) {
    CAPTURE(name);
    CHECK(described<S>() == members<S>());
}

// Visits every leaf and lists the plain numbers that are not bounded on both sides: nothing else keeps them in range.
class Unbounded : public KeyLister {
  public:
    std::vector<std::string> keys;

    void visit_leaf(Key key, Leaf leaf, Rules rules) override {
        KeyLister::visit_leaf(key, leaf, rules);
        const bool number = std::holds_alternative<double*>(leaf);
        if (number && !(rules.least >= 0 && rules.most < 1e30)) {
            keys.push_back(KeyLister::keys().back().path);
        }
    }
};

template <class S>
std::vector<std::string> unbounded(S value) {
    Unbounded fields;
    describe(fields, value);
    return fields.keys;
}

}  // namespace

TEST_CASE("every plain number of a machine, a stack and a policy has a range") {
    const std::vector<std::string> none;
    CHECK(unbounded(Cluster{}) == none);
    CHECK(unbounded(Stack{}) == none);
    CHECK(unbounded(Training{}) == none);
    CHECK(unbounded(Model{}) == none);
}

TEST_CASE("every member of a struct has a key in its table") {
    check_complete<GemmRates>("GemmRates");
    check_complete<GemmTiling>("GemmTiling");
    check_complete<AttentionRates>("AttentionRates");
    check_complete<MemoryRates>("MemoryRates");
    check_complete<NcclConstants>("NcclConstants");
    check_complete<Gpu>("Gpu");
    check_complete<Node>("Node");
    check_complete<FabricNccl>("FabricNccl");
    check_complete<FabricSpec>("FabricSpec");
    check_complete<Cluster>("Cluster");
    check_complete<Mla>("Mla");
    check_complete<Moe>("Moe");
    check_complete<Model>("Model");
    check_complete<StackHost>("StackHost");
    check_complete<StackKernels>("StackKernels");
    check_complete<StackOverlap>("StackOverlap");
    check_complete<StackInterference>("StackInterference");
    check_complete<StackRates>("StackRates");
    check_complete<StackMemory>("StackMemory");
    check_complete<Stack>("Stack");
    check_complete<Sharding>("Sharding");
    check_complete<Gradients>("Gradients");
    check_complete<Parallel>("Parallel");
    check_complete<Batch>("Batch");
    check_complete<Precision>("Precision");
    check_complete<Training>("Training");
    check_complete<RunOptions>("RunOptions");
    check_complete<Published>("Published");
}

TEST_CASE("the number of members is counted right") {
    struct Three {
        int a;
        double b;
        std::string c;
    };
    CHECK(members<Three>() == 3);
    CHECK(members<Batch>() == 2);
}

TEST_CASE("a key given twice in one struct would be caught: keys are distinct") {
    std::set<std::string> seen;
    for (const KeyInfo& key : list_keys(Gpu{})) {
        CAPTURE(key.path);
        CHECK(seen.insert(key.path).second);
    }
}

TEST_CASE("a key list names the unit wanted, the default, and what is required") {
    bool found = false;
    for (const KeyInfo& key : list_keys(Gpu{})) {
        if (key.path == "memory") {
            found = true;
            CHECK(key.required);
            CHECK(key.wanted == "a size, such as 80GiB");
        }
        if (key.path == "gemm_roles.forward") {
            CHECK_FALSE(key.required);
            CHECK(key.standard == "1");
        }
    }
    CHECK(found);
}

TEST_CASE("a document written from a struct reads back without error and writes the same") {
    Stack stack;
    stack.name = "s";
    stack.host.kernel_launch = Duration(3'590'000);
    const DocNode written = write_document(stack);
    Stack again;
    Diagnostics diagnostics;
    CHECK(read_document(written, "this stack", again, diagnostics));
    CHECK(again.host.kernel_launch == stack.host.kernel_launch);
    CHECK(again.name == "s");
    CHECK(write_document(again).at("host.kernel_launch")->scalar ==
          written.at("host.kernel_launch")->scalar);
}

TEST_CASE("of a map with many unknown keys only the first twenty are reported") {
    DocNode root;
    root.kind = DocNode::Kind::Map;
    for (int i = 0; i < 100; ++i) {
        DocNode value;
        value.kind = DocNode::Kind::Scalar;
        root.entries.push_back({"k" + std::to_string(i), Place{"f", i + 1, 1}, value});
    }
    Batch batch;
    Diagnostics diagnostics;
    CHECK_FALSE(read_document(root, "this batch", batch, diagnostics));
    CHECK(diagnostics.errors() == 21);  // and `global` is missing
}
