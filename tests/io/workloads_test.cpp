// The data files of workloads/: all of them load, their parameters are the published ones, each number has a source.
#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include "sim/core/quantity.h"
#include "sim/io/load.h"
#include "sim/model/build.h"
#include "sim/model/parameters.h"

using namespace memwall;

namespace {

// A count that is not a whole number of hundreds of thousands was published to the unit.
bool is_exact(std::int64_t published) {
    return published % 100'000 != 0;
}

bool is_number(const DocNode& node) {
    return node.kind == DocNode::Kind::Scalar && !node.quoted &&
           parse<double>(node.scalar).has_value();
}

// The longest prefix of `path` that the sources cite.
bool has_source(const DocNode& sources, std::string path) {
    while (!path.empty()) {
        if (sources.find(path) != nullptr) {
            return true;
        }
        const std::size_t dot = path.rfind('.');
        path = dot == std::string::npos ? "" : path.substr(0, dot);
    }
    return false;
}

void check_sources(const DocNode& node, const std::string& path, const DocNode& sources) {
    for (const DocEntry& entry : node.entries) {
        if (path.empty() && entry.key == "sources") {
            continue;
        }
        const std::string here = path.empty() ? entry.key : path + "." + entry.key;
        CAPTURE(here);
        if (is_number(entry.value)) {
            CHECK(has_source(sources, here));
        }
        check_sources(entry.value, here, sources);
    }
}

}  // namespace

TEST_CASE("every model of workloads/ has the published number of parameters, and sources") {
    DiskFiles files;
    DataSource source(files, {MEMWALL_SOURCE_DIR});
    const std::vector<std::string> names = source.names(DataKind::Model);
    CHECK(names.size() >= 40);
    for (const std::string& name : names) {
        CAPTURE(name);
        Diagnostics diagnostics;
        const std::optional<Model> model = load_model(name, source, diagnostics);
        CHECK(diagnostics.sorted().empty());
        REQUIRE(model.has_value());
        CHECK(model->name == name);
        const std::int64_t count = parameter_count(*model);
        const std::int64_t published = model->published_parameters;
        CHECK(published > 0);
        if (is_exact(published)) {
            CHECK(count == published);
        } else {
            // Papers round to two or three digits: 1.7 stands for 1.652.
            CHECK(std::abs(static_cast<double>(count - published)) <
                  0.03 * static_cast<double>(published));
        }
        const std::optional<DocNode> document =
            load_document(DataKind::Model, name, source, diagnostics);
        REQUIRE(document.has_value());
        REQUIRE(document->find("sources") != nullptr);
        check_sources(*document, "", *document->find("sources"));
    }
}

TEST_CASE("every model of workloads/ has a workload trace on a plain stack") {
    DiskFiles files;
    DataSource source(files, {MEMWALL_SOURCE_DIR});
    for (const std::string& name : source.names(DataKind::Model)) {
        CAPTURE(name);
        Diagnostics diagnostics;
        const std::optional<Model> model = load_model(name, source, diagnostics);
        REQUIRE(model.has_value());
        Stack stack;
        stack.kernels.attention = AttentionImplementation::Flash2;
        const WorkloadTrace trace =
            build_trace(*model, stack, {.micro_batch = 1, .sequence = 1024});
        CHECK(static_cast<std::int64_t>(trace.layers.size()) == model->layers);
        CHECK(trace.parameters == parameter_count(*model));
    }
}

TEST_CASE("a scenario may name a folder with a config.json") {
    MemoryFiles files;
    files.texts["models/tiny/config.json"] =
        "{\"model_type\": \"gpt2\", \"n_embd\": 8, \"n_head\": 2, \"n_layer\": 3, "
        "\"n_positions\": 4, \"vocab_size\": 5, \"tie_word_embeddings\": true}";
    DataSource source(files, {""});
    Diagnostics diagnostics;
    const std::optional<Model> model = load_model("models/tiny/config.json", source, diagnostics);
    CHECK(diagnostics.sorted().empty());
    REQUIRE(model.has_value());
    CHECK(model->name == "tiny");
    CHECK(model->layers == 3);
    CHECK(model->ffn == 32);
}
