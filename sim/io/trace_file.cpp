#include "sim/io/trace_file.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/io/flow_text.h"
#include "sim/io/trace_fields.h"
#include "sim/io/trace_header.h"
#include "sim/io/yaml.h"
#include "sim/spec/read.h"
#include "sim/spec/write.h"

namespace memwall {
namespace {

constexpr std::string_view kSchema = "memwall/trace/1";
constexpr std::size_t kTensorsMax = 65'535;  // indices have 16 bits
constexpr std::int64_t kLayersMax = 10'000;

// --- writing

TraceItemFile item_file(const LayerTrace& layer, const TraceItem& item) {
    TraceItemFile file;
    file.item = item;
    if (item.op) {
        for (const std::uint16_t t : item.op->allocates) {
            file.allocates.push_back(layer.tensors[t].name);
        }
        for (const std::uint16_t t : item.op->frees) {
            file.frees.push_back(layer.tensors[t].name);
        }
    }
    return file;
}

TraceFile to_file(const WorkloadTrace& trace) {
    TraceFile file;
    file.trace = trace;
    file.embedding = trace.kinds[trace.embedding].kind;
    file.head = trace.kinds[trace.head].kind;
    for (const std::uint32_t kind : trace.layers) {
        const std::string& name = trace.kinds[kind].kind;
        if (file.layers.empty() || file.layers.back().kind != name) {
            file.layers.push_back({name, 0});
        }
        ++file.layers.back().layers;
    }
    for (const LayerTrace& layer : trace.kinds) {
        TraceKindFile kind;
        kind.layer = layer;
        for (const TraceItem& item : layer.forward) {
            kind.forward.push_back(item_file(layer, item));
        }
        for (const TraceItem& item : layer.backward) {
            kind.backward.push_back(item_file(layer, item));
        }
        file.kinds.push_back(std::move(kind));
    }
    return file;
}

// --- checks and names to indices; `doc` gives the places

// No tensor or kernel moves more; sums over layers then stay within 64 bits.
constexpr double kBytesMax = 1125899906842624.0;  // 1 PiB

double product(std::initializer_list<std::int64_t> sizes) {
    double result = 1;
    for (const std::int64_t size : sizes) {
        result *= static_cast<double>(size);
    }
    return result;
}

// Elements of the largest operand, in doubles; bytes for kernels that state them.
double largest_operand(const Kernel& kernel) {
    if (const auto* g = std::get_if<Gemm>(&kernel)) {
        return std::max({product({g->batch, g->m, g->k}),
                         product({g->batch, g->k, g->n}),
                         product({g->batch, g->m, g->n}) * g->output_bytes});
    }
    if (const auto* a = std::get_if<Attention>(&kernel)) {
        const std::int64_t heads = std::max(a->heads, a->kv_heads);
        const std::int64_t length = std::max(a->queries, a->keys);
        return product({a->batch, heads, length, std::max(a->head_dim_qk, a->head_dim_v)});
    }
    return static_cast<double>(hbm_bytes_of(kernel).value);
}

using Names = std::map<std::string, std::size_t, std::less<>>;

class KindReader {
  public:
    KindReader(TraceKindFile& file, const DocNode& doc, Diagnostics& diagnostics)
        : file_(file), doc_(doc), diagnostics_(diagnostics) {}

    LayerTrace read() {
        check_parameters();
        index_tensors();
        items(file_.forward, "forward", file_.layer.forward);
        items(file_.backward, "backward", file_.layer.backward);
        if (diagnostics_.errors() == errors_before_) {
            std::vector<bool> saved(file_.layer.tensors.size(), false);
            for (const std::set<ShardCondition>& holding : cases()) {
                check_lives(holding, saved);
                if (diagnostics_.errors() != errors_before_) {
                    return std::move(file_.layer);
                }
            }
            take_saved(saved);
        }
        return std::move(file_.layer);
    }

  private:
    void error(const Place& place, std::string text, std::string hint = "") {
        diagnostics_.error("E0530", place, std::move(text)).hint = std::move(hint);
    }

    void too_large(const Place& place, const std::string& name) {
        diagnostics_.error("E0206", place, fmt::format("'{}' is larger than 1 PiB", name));
    }

    const DocNode& item_node(const char* list, std::size_t i) const {
        return doc_.find(list)->items[i];
    }

    void check_parameters() {
        const std::vector<ParameterTensor>& list = file_.layer.parameters;
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (product({list[i].rows, list[i].columns, list[i].copies}) > kBytesMax) {
                too_large(item_node("parameters", i).place, list[i].name);
            }
        }
    }

    void index_tensors() {
        const std::vector<TraceTensor>& tensors = file_.layer.tensors;
        if (tensors.size() > kTensorsMax) {
            error(doc_.place, fmt::format("{} tensors, more than {}", tensors.size(), kTensorsMax));
            return;
        }
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            if (static_cast<double>(tensors[i].bytes.value) > kBytesMax) {
                too_large(item_node("tensors", i).place, tensors[i].name);
            }
            check_last_use(i);
            if (!names_.emplace(tensors[i].name, i).second) {
                error(item_node("tensors", i).place,
                      fmt::format("tensor '{}' is listed twice", tensors[i].name));
            }
        }
    }

    void check_last_use(std::size_t i) {
        const TraceTensor& tensor = file_.layer.tensors[i];
        const auto items = static_cast<std::int64_t>(file_.forward.size());
        if (tensor.last_forward_item >= items) {
            error(item_node("tensors", i).find("last_forward_item")->place,
                  fmt::format("last_forward_item {} of tensor '{}' is not an item of forward",
                              tensor.last_forward_item,
                              tensor.name),
                  items == 0 ? "forward of this kind has no items"
                             : fmt::format("its items count from 0 to {}", items - 1));
        }
    }

    void items(std::vector<TraceItemFile>& from, const char* list, std::vector<TraceItem>& to) {
        for (std::size_t i = 0; i < from.size(); ++i) {
            const DocNode& node = item_node(list, i);
            TraceItemFile& item = from[i];
            const Pass pass = item.item.op ? item.item.op->pass : item.item.boundary->pass;
            if ((pass == Pass::Forward) != (std::string_view(list) == "forward")) {
                error(node.place,
                      fmt::format("pass {} in the list of {}",
                                  enum_names(pass).names[static_cast<std::size_t>(pass)],
                                  list),
                      "backward: pass is input_gradient or weight_gradient; forward: leave it out");
            }
            if (item.item.op) {
                if (item.kernels != 1) {
                    error(node.place,
                          fmt::format("op '{}' has {} kernels", item.item.op->name, item.kernels),
                          "give one of gemm, attention, memory, copy, time");
                }
                if (largest_operand(item.item.op->kernel) > kBytesMax) {
                    too_large(node.place, item.item.op->name);
                }
                references(item.allocates, node, "allocates", item.item.op->allocates);
                references(item.frees, node, "frees", item.item.op->frees);
            }
            to.push_back(std::move(item.item));
        }
    }

    void references(const std::vector<std::string>& names,
                    const DocNode& op,
                    const char* key,
                    std::vector<std::uint16_t>& to) {
        for (std::size_t i = 0; i < names.size(); ++i) {
            const auto found = names_.find(names[i]);
            if (found == names_.end()) {
                error(op.find(key)->items[i].place,
                      fmt::format("no tensor '{}' in kind '{}'", names[i], file_.layer.kind),
                      "list it under tensors");
                continue;
            }
            to.push_back(static_cast<std::uint16_t>(found->second));
        }
    }

    // Which conditions hold together: none, all, and what the degrees of tensor parallelism make of them.
    [[nodiscard]] std::set<std::set<ShardCondition>> cases() const {
        constexpr std::int64_t kTpMax = 1024;  // the GPUs of a node
        std::set<ShardCondition> all;
        for (const auto* list : {&file_.layer.forward, &file_.layer.backward}) {
            for (const TraceItem& item : *list) {
                if (item.op && item.op->condition) {
                    all.insert(made_to_hold(*item.op->condition));
                }
            }
        }
        std::set<std::set<ShardCondition>> cases = {{}, all};
        for (std::int64_t tp = 1; tp <= kTpMax && all.size() > 1; ++tp) {
            std::set<ShardCondition> holding;
            for (const ShardCondition& condition : all) {
                if (condition.whole / tp % condition.multiple == 0) {
                    holding.insert(condition);
                }
            }
            cases.insert(std::move(holding));
        }
        return cases;
    }

    static ShardCondition made_to_hold(ShardCondition condition) {
        condition.holds = true;
        return condition;
    }

    // Plays forward then backward with the conditional ops that apply when these conditions hold and no others. Marks in
    // `saved` what is alive between the two.
    void check_lives(const std::set<ShardCondition>& holding, std::vector<bool>& saved) {
        enum class State : unsigned char { Absent, Live, Freed };
        std::vector<State> states(file_.layer.tensors.size(), State::Absent);
        const auto play = [&](const std::vector<TraceItem>& list, const char* name) {
            for (std::size_t i = 0; i < list.size(); ++i) {
                const std::optional<TraceOp>& op = list[i].op;
                if (!op || (op->condition && op->condition->holds !=
                                                 holding.contains(made_to_hold(*op->condition)))) {
                    continue;
                }
                const Place& place = item_node(name, i).place;
                for (const std::uint16_t t : op->allocates) {
                    if (states[t] != State::Absent) {
                        error(place,
                              fmt::format("tensor '{}' is allocated a second time",
                                          file_.layer.tensors[t].name));
                    }
                    states[t] = State::Live;
                }
                for (const std::uint16_t t : op->frees) {
                    if (states[t] != State::Live) {
                        error(place,
                              fmt::format("tensor '{}' is freed but not alive",
                                          file_.layer.tensors[t].name));
                    }
                    states[t] = State::Freed;
                }
            }
        };
        play(file_.layer.forward, "forward");
        for (std::size_t t = 0; t < states.size(); ++t) {
            const bool live = states[t] == State::Live && !file_.layer.tensors[t].persistent;
            saved[t] = saved[t] || live;
        }
        play(file_.layer.backward, "backward");
        for (std::size_t t = 0; t < states.size(); ++t) {
            if (states[t] == State::Live && !file_.layer.tensors[t].persistent) {
                error(item_node("tensors", t).place,
                      fmt::format("tensor '{}' is never freed", file_.layer.tensors[t].name),
                      "add it to `frees` of its last use, or mark it persistent");
            }
        }
    }

    // `saved` follows from the lives; a file that states it must not contradict them.
    void take_saved(const std::vector<bool>& saved) {
        std::vector<TraceTensor>& tensors = file_.layer.tensors;
        for (std::size_t t = 0; t < tensors.size(); ++t) {
            if (tensors[t].saved && !saved[t]) {
                error(item_node("tensors", t).place,
                      fmt::format("tensor '{}' is saved but does not live until backward",
                                  tensors[t].name),
                      "leave `saved` out: it follows from `allocates` and `frees`");
            }
            tensors[t].saved = saved[t];
        }
    }

    TraceKindFile& file_;
    const DocNode& doc_;
    Diagnostics& diagnostics_;
    std::size_t errors_before_ = diagnostics_.errors();
    Names names_;
};

std::uint32_t kind_index(const Names& kinds,
                         const std::string& name,
                         const Place& place,
                         Diagnostics& diagnostics) {
    const auto found = kinds.find(name);
    if (found != kinds.end()) {
        return static_cast<std::uint32_t>(found->second);
    }
    diagnostics.error("E0530", place, fmt::format("no kind '{}' in this trace", name)).hint =
        "kinds are listed under kinds";
    return 0;
}

// What the whole model holds and keeps, in doubles: later sums are of 64-bit integers.
void check_totals(const WorkloadTrace& trace, const DocNode& doc, Diagnostics& diagnostics) {
    constexpr double kMost = 1152921504606846976.0;  // 2^60 B
    double bytes = 0;
    for (const std::uint32_t kind : trace.layers) {
        for (const TraceTensor& t : trace.kinds[kind].tensors) {
            bytes += static_cast<double>(t.bytes.value);
        }
        for (const ParameterTensor& p : trace.kinds[kind].parameters) {
            bytes += 16 * product({p.rows, p.columns, p.copies});
        }
    }
    const auto limit = [&](const char* key, double value, double most) {
        if (value > most) {
            const DocNode* node = doc.find(key);
            diagnostics.error("E0206",
                              node != nullptr ? node->place : doc.place,
                              fmt::format("{} is beyond what is simulated", key));
        }
    };
    limit("layers", bytes, kMost);
    limit("tokens", static_cast<double>(trace.tokens), 1e12);
    limit("sequence", static_cast<double>(trace.sequence), 1e12);
    limit("boundary_bytes", static_cast<double>(trace.boundary_bytes.value), kBytesMax);
    limit("parameters", static_cast<double>(trace.parameters), kBytesMax);
    limit("matmul_parameters", static_cast<double>(trace.matmul_parameters), kBytesMax);
    limit("attention_flops_factor", static_cast<double>(trace.attention_flops_factor), kBytesMax);
}

std::optional<WorkloadTrace> from_file(TraceFile& file,
                                       const DocNode& doc,
                                       Diagnostics& diagnostics) {
    const std::size_t errors_before = diagnostics.errors();
    WorkloadTrace trace = std::move(file.trace);
    Names kinds;
    const DocNode& kinds_doc = *doc.find("kinds");
    for (std::size_t i = 0; i < file.kinds.size(); ++i) {
        const DocNode& kind_doc = kinds_doc.items[i];
        if (!kinds.emplace(file.kinds[i].layer.kind, i).second) {
            diagnostics.error("E0530",
                              kind_doc.place,
                              fmt::format("kind '{}' is listed twice", file.kinds[i].layer.kind));
        }
        trace.kinds.push_back(KindReader(file.kinds[i], kind_doc, diagnostics).read());
    }
    trace.embedding = kind_index(kinds, file.embedding, doc.find("embedding")->place, diagnostics);
    trace.head = kind_index(kinds, file.head, doc.find("head")->place, diagnostics);
    const DocNode& layers_doc = *doc.find("layers");
    std::int64_t layers = 0;
    for (std::size_t i = 0; i < file.layers.size(); ++i) {
        const LayerRun& run = file.layers[i];
        const std::uint32_t kind =
            kind_index(kinds, run.kind, layers_doc.items[i].place, diagnostics);
        if (run.layers > kLayersMax - layers) {
            diagnostics.error(
                "E0206", layers_doc.items[i].place, fmt::format("more than {} layers", kLayersMax));
            break;
        }
        layers += run.layers;
        trace.layers.insert(trace.layers.end(), static_cast<std::size_t>(run.layers), kind);
    }
    if (diagnostics.errors() == errors_before) {
        check_totals(trace, doc, diagnostics);
    }
    if (diagnostics.errors() == errors_before) {
        check_trace_header(trace, doc, diagnostics);
    }
    if (layers == 0 && diagnostics.errors() == errors_before) {
        diagnostics.error("E0530", layers_doc.place, "a trace without layers");
    }
    if (diagnostics.errors() != errors_before) {
        return std::nullopt;
    }
    return trace;
}

// JSON has no way to write 64MiB but in quotes.
void unquote(DocNode& node) {
    node.quoted = false;
    for (DocNode& item : node.items) {
        unquote(item);
    }
    for (DocEntry& entry : node.entries) {
        unquote(entry.value);
    }
}

}  // namespace

std::string write_trace(const WorkloadTrace& trace, TraceFormat format) {
    TraceFile file = to_file(trace);
    DocNode document = write_document(file);
    DocNode schema;
    schema.kind = DocNode::Kind::Scalar;
    schema.scalar = kSchema;
    document.entries.insert(document.entries.begin(), {"schema", {}, schema});
    return format == TraceFormat::Yaml ? flow_yaml(document) : flow_json(document);
}

std::optional<WorkloadTrace> read_trace(const DocNode& document, Diagnostics& diagnostics) {
    DocNode body = document;
    const DocNode* schema = body.find("schema");
    if (schema == nullptr || schema->scalar != kSchema) {
        diagnostics.error(
            "E0207",
            schema != nullptr ? schema->place : document.place,
            fmt::format("this is not a workload trace: 'schema: {}' is wanted", kSchema));
        return std::nullopt;
    }
    std::erase_if(body.entries, [](const DocEntry& entry) { return entry.key == "schema"; });
    TraceFile file;
    if (!read_document(body, "this trace", file, diagnostics)) {
        return std::nullopt;
    }
    return from_file(file, body, diagnostics);
}

std::optional<WorkloadTrace> read_trace(const std::string& label,
                                        std::string_view text,
                                        Diagnostics& diagnostics) {
    std::optional<DocNode> document = read_yaml(label, text, diagnostics);
    if (!document) {
        return std::nullopt;
    }
    const std::size_t start = text.find_first_not_of(" \t\r\n");
    if (start != std::string_view::npos && text[start] == '{') {
        unquote(*document);
    }
    return read_trace(*document, diagnostics);
}

}  // namespace memwall
