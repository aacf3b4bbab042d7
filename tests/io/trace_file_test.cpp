#include "sim/io/trace_file.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/model/build.h"

using namespace memwall;

namespace {

Stack stack_2021() {
    Stack s;
    s.kernels.fused_gradient_accumulation = false;
    return s;
}

Stack stack_2025() {
    Stack s;
    s.kernels.attention = AttentionImplementation::Cudnn;
    s.kernels.loss = LossImplementation::Fused;
    s.memory.dummy_weight_gradients = true;
    return s;
}

Model gpt() {
    Model m;
    m.name = "gpt: small";  // needs quotes
    m.layers = 3;
    m.hidden = 256;
    m.heads = m.kv_heads = 4;
    m.head_dim = 64;
    m.ffn = 1024;
    m.vocabulary = 1000;
    m.positions = 128;
    m.tied_embeddings = true;
    m.linear_bias = true;
    m.dropout = 0.1;
    return m;
}

Model moe() {
    Model m = gpt();
    m.name = "moe";
    m.positions = 0;
    m.gated = true;
    m.linear_bias = false;
    m.dropout = 0;
    m.norm = NormKind::RmsNorm;
    m.position = PositionKind::Rotary;
    m.moe.experts = 8;
    m.moe.top_k = 3;
    m.moe.ffn = 128;
    m.moe.layers.push_back(false);
    m.moe.layers.push_back(true);
    m.moe.layers.push_back(true);
    return m;
}

std::vector<WorkloadTrace> traces() {
    const TraceShape shape{.micro_batch = 2, .sequence = 128, .gradient_bytes = 4};
    std::vector<WorkloadTrace> list = {build_trace(gpt(), stack_2021(), shape),
                                       build_trace(moe(), stack_2025(), shape)};
    TraceOp& op = *list[0].kinds[2].forward[0].op;
    op.measured = Duration(12'345'678);
    op.measured_gpu = "a100-80g-sxm";
    op.kernel = Measured{Duration(77), Flops(1.5e9)};
    return list;
}

// A trace of one op per list, for tests of what is refused.
std::string small(const std::string& forward,
                  const std::string& backward,
                  const std::string& tensors = "[]") {
    return "schema: memwall/trace/1\nname: x\ntokens: 4\nsequence: 4\nboundary_bytes: "
           "8B\nparameters: 1\nmatmul_parameters: 1\n"
           "embedding: e\nhead: e\nlayers:\n  - {kind: e, layers: 2}\nkinds:\n  - kind: e\n    "
           "parameters: []\n    tensors: " +
           tensors + "\n    forward:\n      - " + forward + "\n    backward:\n      - " + backward +
           "\n";
}

const std::string kForward = "{op: a, memory: {kind: norm, bytes: 1KiB}}";
const std::string kBackward = "{op: b, pass: input_gradient, memory: {kind: norm, bytes: 1KiB}}";

Diagnostic bad(const std::string& text) {
    Diagnostics d;
    CHECK_FALSE(read_trace("t.yaml", text, d).has_value());
    REQUIRE(d.has_errors());
    return d.sorted().front();
}

}  // namespace

TEST_CASE("writing what was read gives the same bytes, in YAML and in JSON") {
    for (const WorkloadTrace& trace : traces()) {
        for (const TraceFormat format : {TraceFormat::Yaml, TraceFormat::Json}) {
            const std::string text = write_trace(trace, format);
            Diagnostics d;
            const std::optional<WorkloadTrace> read = read_trace("t", text, d);
            for (const Diagnostic& each : d.sorted()) {
                CAPTURE(each.text);
                CHECK(each.code.empty());
            }
            REQUIRE(read.has_value());
            CHECK(write_trace(*read, format) == text);
            // The other format carries the same trace.
            CHECK(write_trace(*read, TraceFormat::Yaml) == write_trace(trace, TraceFormat::Yaml));
        }
    }
}

TEST_CASE("a trace that was read holds what was written") {
    const WorkloadTrace trace = traces()[1];
    Diagnostics d;
    const WorkloadTrace read = *read_trace("t", write_trace(trace, TraceFormat::Json), d);
    CHECK(read.name == trace.name);
    CHECK(read.layers == trace.layers);
    CHECK(read.parameters == trace.parameters);
    CHECK(read.boundary_bytes == trace.boundary_bytes);
    REQUIRE(read.kinds.size() == trace.kinds.size());
    for (std::size_t k = 0; k < read.kinds.size(); ++k) {
        const LayerTrace& a = read.kinds[k];
        const LayerTrace& b = trace.kinds[k];
        CHECK(a.parameters == b.parameters);
        REQUIRE(a.forward.size() == b.forward.size());
        REQUIRE(a.backward.size() == b.backward.size());
        REQUIRE(a.tensors.size() == b.tensors.size());
        for (std::size_t i = 0; i < a.tensors.size(); ++i) {
            CHECK(a.tensors[i].bytes == b.tensors[i].bytes);
            CHECK(a.tensors[i].saved == b.tensors[i].saved);
            CHECK(a.tensors[i].last_forward_item == b.tensors[i].last_forward_item);
        }
        for (std::size_t i = 0; i < a.backward.size(); ++i) {
            CHECK(a.backward[i].boundary == b.backward[i].boundary);
            if (a.backward[i].op) {
                CHECK(a.backward[i].op->kernel == b.backward[i].op->kernel);
                CHECK(a.backward[i].op->split == b.backward[i].op->split);
                CHECK(a.backward[i].op->frees == b.backward[i].op->frees);
                CHECK(a.backward[i].op->condition == b.backward[i].op->condition);
            }
        }
    }
}

TEST_CASE("names with any characters survive") {
    WorkloadTrace trace = traces()[1];
    for (const char* name : {"a\tb",
                             "\x01",
                             "\x7F",
                             "\"quoted\"",
                             "back\\slash",
                             "true",
                             "12",
                             "a: b",
                             "# x",
                             "{",
                             "ends:",
                             "\xC3\xBC"}) {
        trace.kinds[2].forward[0].op->name = name;
        trace.kinds[2].tensors[0].name = name;
        for (const TraceFormat format : {TraceFormat::Yaml, TraceFormat::Json}) {
            CAPTURE(name);
            Diagnostics d;
            const std::optional<WorkloadTrace> read =
                read_trace("t", write_trace(trace, format), d);
            REQUIRE(read.has_value());
            CHECK(read->kinds[2].forward[0].op->name == name);
            CHECK(read->kinds[2].tensors[0].name == name);
        }
    }
}

TEST_CASE("a measured duration and its GPU survive") {
    Diagnostics d;
    const WorkloadTrace read = *read_trace("t", write_trace(traces()[0], TraceFormat::Yaml), d);
    const TraceOp& op = *read.kinds[2].forward[0].op;
    CHECK(op.measured == Duration(12'345'678));
    CHECK(op.measured_gpu == "a100-80g-sxm");
    CHECK(std::get<Measured>(op.kernel).flops.value == 1.5e9);
}

TEST_CASE("a hand-written trace needs only sizes and kernels") {
    Diagnostics d;
    const std::optional<WorkloadTrace> read = read_trace("t.yaml", small(kForward, kBackward), d);
    REQUIRE(read.has_value());
    CHECK(read->layers.size() == 2);
    CHECK(std::get<MemoryBound>(read->kinds[0].forward[0].op->kernel).bytes.value == 1024);
}

TEST_CASE("an op has one kernel, with its sizes") {
    CHECK(bad(small("{op: a}", kBackward)).text == "op 'a' has 0 kernels");
    CHECK(
        bad(small("{op: a, copy: {bytes: 1B}, memory: {kind: norm, bytes: 1B}}", kBackward)).text ==
        "op 'a' has 2 kernels");
    CHECK(bad(small("{op: a, gemm: {m: 4, n: 4}}", kBackward)).code == "E0202");
    CHECK(bad(small("{op: a, gemm: {m: 4, n: 4, k: 0}}", kBackward)).code == "E0206");
    CHECK(bad(small("{op: a, memory: {kind: norm, bytes: 1024}}", kBackward)).code == "E0204");
    CHECK(bad(small("{op: a, memory: {kind: magic, bytes: 1B}}", kBackward)).code == "E0205");
    CHECK(bad(small("{op: a, memory: {kind: norm, bytes: 1B}, color: red}", kBackward)).code ==
          "E0201");
}

TEST_CASE("sizes beyond 1 PiB are refused") {
    CHECK(bad(small("{op: a, gemm: {m: 4000000000000000000, n: 4, k: 4}}", kBackward)).text ==
          "'a' is larger than 1 PiB");
    CHECK(bad(small("{op: a, memory: {kind: norm, bytes: 2PiB}}", kBackward)).code == "E0206");
    CHECK(bad(small(kForward, kBackward, "[{name: x, bytes: 2PiB}]")).code == "E0206");
    std::string text = small(kForward, kBackward);
    text.replace(text.find("parameters: []"),
                 14,
                 "parameters: [{name: w, rows: 4000000000, columns: 4000000000}]");
    CHECK(bad(text).text == "'w' is larger than 1 PiB");
    text = small(kForward, kBackward, "[{name: x, bytes: 900TiB}]");
    text.replace(text.find("layers: 2"), 9, "layers: 9000");
    CHECK(bad(text).text == "layers is beyond what is simulated");
    text = small(kForward, kBackward);
    text.replace(text.find("tokens: 4"), 9, "tokens: 4000000000000");
    CHECK(bad(text).text == "tokens is beyond what is simulated");
}

TEST_CASE("a kernel that moves memory moves some") {
    const Diagnostic memory = bad(small("{op: a, memory: {kind: norm, bytes: 0B}}", kBackward));
    CHECK(memory.code == "E0206");
    CHECK(memory.place.line == 17);
    CHECK(bad(small("{op: a, copy: {bytes: 0B}}", kBackward)).code == "E0206");
}

TEST_CASE("counts that become ops are bounded") {
    CHECK(bad(small("{op: a, launches: 2000000000, memory: {kind: norm, bytes: 1B}}", kBackward))
              .code == "E0206");
    CHECK(bad(small("{boundary: loss, bytes: 1B, calls: 2000000000}", kBackward)).code == "E0206");
    CHECK(bad(small("{op: a, gemm: {m: 4, n: 4, k: 4, output_bytes: 9}}", kBackward)).code ==
          "E0206");
}

TEST_CASE("tensors live and end whichever conditions hold together") {
    // At tp 1 both hold; at tp 2 8 / 2 is even and 6 / 2 is odd: x is made and never ends.
    const auto op = [](const char* rest, int whole) {
        return fmt::format(
            "{{op: a, {}memory: {{kind: norm, bytes: 1B}}, condition: {{whole: {}, "
            "multiple: 2, holds: true}}, ",
            rest,
            whole);
    };
    const std::string tensors = "[{name: x, bytes: 8B}]";
    const std::string makes = op("", 8) + "allocates: [x]}";
    Diagnostics d;
    CHECK(read_trace(
              "t.yaml", small(makes, op("pass: input_gradient, ", 8) + "frees: [x]}", tensors), d)
              .has_value());
    const std::string other = op("pass: input_gradient, ", 6) + "frees: [x]}";
    CHECK(bad(small(makes, other, tensors)).code == "E0530");
}

TEST_CASE("the last use of a tensor is an item of forward") {
    const std::string makes = "{op: a, memory: {kind: norm, bytes: 1B}, allocates: [x]}";
    const std::string ends =
        "{op: b, pass: input_gradient, memory: {kind: norm, bytes: 1B}, frees: [x]}";
    const auto with = [&](const char* item) {
        return small(
            makes, ends, fmt::format("[{{name: x, bytes: 8B, last_forward_item: {}}}]", item));
    };
    Diagnostics d;
    CHECK(read_trace("t.yaml", with("0"), d).has_value());
    const Diagnostic beyond = bad(with("1"));
    CHECK(beyond.code == "E0530");
    CHECK(beyond.text == "last_forward_item 1 of tensor 'x' is not an item of forward");
    CHECK(beyond.hint == "its items count from 0 to 0");
    CHECK(beyond.place == Place{"t.yaml", 15, 55});
    CHECK(bad(with("4294967296")).code == "E0206");  // 0 when cut to 32 bits
}

TEST_CASE("what the header states is what the layers hold") {
    // 3 layers of 12 x 256^2 weights in products and 256 wide attention, a head of 256 x 1000 (padded to 1000 here).
    const auto written = [](std::int64_t matmul, std::int64_t attention) {
        WorkloadTrace trace = build_trace(
            gpt(), stack_2021(), {.micro_batch = 2, .sequence = 128, .gradient_bytes = 4});
        trace.matmul_parameters = matmul;
        trace.attention_flops_factor = attention;
        return write_trace(trace, TraceFormat::Yaml);
    };
    constexpr std::int64_t kLayers = std::int64_t{3} * 12 * 256 * 256;
    constexpr std::int64_t kHead = 256 * 1000;
    Diagnostics d;
    CHECK(read_trace("t", written(kLayers + kHead, 3 * 256), d).has_value());
    for (const std::int64_t wrong : {std::int64_t{1}, kLayers / 2, 2 * (kLayers + kHead)}) {
        const Diagnostic error = bad(written(wrong, 3 * 256));
        CHECK(error.code == "E0530");
        CHECK(error.text == fmt::format("matmul_parameters {} differs from what the layers list: "
                                        "2359296, with the head 2615296",
                                        wrong));
        CHECK(error.place.line > 1);
    }
    for (const std::int64_t wrong : {0, 384, 99'999'999}) {
        const Diagnostic error = bad(written(kLayers + kHead, wrong));
        CHECK(error.code == "E0530");
        CHECK(error.text ==
              fmt::format("attention_flops_factor {} differs from the 768 of the layers' "
                          "attention kernels",
                          wrong));
    }
}

TEST_CASE("pass and list agree") {
    CHECK(bad(small("{op: a, pass: weight_gradient, memory: {kind: norm, bytes: 1B}}", kBackward))
              .text == "pass weight_gradient in the list of forward");
    CHECK(bad(small(kForward, kForward)).text == "pass forward in the list of backward");
}

TEST_CASE("tensors are known, live once and end once") {
    const std::string x = "[{name: x, bytes: 8B}]";
    const std::string makes = "{op: a, memory: {kind: norm, bytes: 1B}, allocates: [x]}";
    const std::string ends =
        "{op: b, pass: input_gradient, memory: {kind: norm, bytes: 1B}, frees: [x]}";
    Diagnostics d;
    CHECK(read_trace("t.yaml", small(makes, ends, x), d).has_value());
    CHECK(bad(small(makes, ends)).text == "no tensor 'x' in kind 'e'");
    CHECK(bad(small(makes, kBackward, x)).text == "tensor 'x' is never freed");
    CHECK(bad(small(kForward, ends, x)).text == "tensor 'x' is freed but not alive");
    CHECK(bad(small("{op: a, memory: {kind: norm, bytes: 1B}, allocates: [x, x]}", ends, x)).text ==
          "tensor 'x' is allocated a second time");
    CHECK(bad(small(makes, ends, "[{name: x, bytes: 8B}, {name: x, bytes: 9B}]")).text ==
          "tensor 'x' is listed twice");
    Diagnostics persistent;
    CHECK(read_trace("t.yaml",
                     small(makes, kBackward, "[{name: x, bytes: 8B, persistent: true}]"),
                     persistent)
              .has_value());
}

TEST_CASE("what lives from forward to backward is saved, whether the file says so or not") {
    const std::string makes = "{op: a, memory: {kind: norm, bytes: 1B}, allocates: [x]}";
    const std::string ends =
        "{op: b, pass: input_gradient, memory: {kind: norm, bytes: 1B}, frees: [x]}";
    for (const char* tensors : {"[{name: x, bytes: 8B}]", "[{name: x, bytes: 8B, saved: true}]"}) {
        Diagnostics d;
        const std::optional<WorkloadTrace> read =
            read_trace("t.yaml", small(makes, ends, tensors), d);
        REQUIRE(read.has_value());
        CHECK(read->kinds[0].tensors[0].saved);
    }
    const std::string both = "{op: a, memory: {kind: norm, bytes: 1B}, allocates: [x], frees: [x]}";
    CHECK(bad(small(both, kBackward, "[{name: x, bytes: 8B, saved: true}]")).text ==
          "tensor 'x' is saved but does not live until backward");
}

TEST_CASE("kinds and layers are known, and errors point at them") {
    std::string text = small(kForward, kBackward);
    text.replace(text.find("head: e"), 7, "head: f");
    const Diagnostic d = bad(text);
    CHECK(d.text == "no kind 'f' in this trace");
    CHECK(d.place.line == 9);
    text = small(kForward, kBackward);
    text.replace(text.find("layers: 2"), 9, "layers: 2000000");
    CHECK(bad(text).code == "E0206");
    text = small(kForward, kBackward);
    text.replace(text.find("\n  - {kind: e, layers: 2}"), 25, " []");
    CHECK(bad(text).text == "a trace without layers");
}

TEST_CASE("another kind of file is refused") {
    CHECK(bad("schema: memwall/model/1\nname: x\n").code == "E0207");
    CHECK(bad("name: x\n").code == "E0207");
    CHECK(bad("[]").code == "E0207");
    CHECK(bad("schema: memwall/trace/1\nname: x\n").code == "E0202");
}
