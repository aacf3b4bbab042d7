#include "sim/io/chrome_trace.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/analyze/breakdown.h"
#include "sim/parallel/describe.h"

namespace memwall {
namespace {

std::string_view category_name(Category c) {
    switch (c) {
    case Category::Compute:
        return "compute";
    case Category::Recompute:
        return "recompute";
    case Category::Optimizer:
        return "optimizer";
    case Category::TpComm:
    case Category::PpComm:
    case Category::DpComm:
    case Category::CpComm:
    case Category::EpComm:
    case Category::FsdpGather:
    case Category::FsdpReduce:
    case Category::OffloadCopy:
        return communication_name(c);
    case Category::None:
        return "other";
    }
    return "other";
}

// Microseconds with all six decimals, so that picoseconds survive.
std::string micros(std::int64_t ps) {
    return fmt::format("{}.{:06d}", ps / 1'000'000, ps % 1'000'000);
}

// Viewers add start and duration in doubles, some after a shift; where rounding passes the start of the next slice they
// stack the one on the other. A picosecond less is more than the rounding of 1,000 seconds.
std::string duration_micros(Duration duration) {
    return micros(std::max<std::int64_t>(0, duration.count() - 1));
}

std::string json_text(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Threads of a rank: its streams, and above them the thread of the host that feeds them.
constexpr int kHostThread = kStreams;

void add_meta(
    std::string& out, std::uint32_t rank, int thread, const char* what, const std::string& args) {
    const std::string tid = thread < 0 ? "" : fmt::format(R"("tid":{},)", thread);
    out +=
        fmt::format(R"({{"ph":"M","pid":{},{}"name":"{}","args":{{{}}}}},)", rank, tid, what, args);
    out += '\n';
}

void add_name(
    std::string& out, std::uint32_t rank, int thread, std::string_view name, std::int64_t order) {
    const std::string of = thread < 0 ? "process" : "thread";
    add_meta(out, rank, thread, (of + "_name").c_str(), "\"name\":" + json_text(name));
    add_meta(
        out, rank, thread, (of + "_sort_index").c_str(), fmt::format(R"("sort_index":{})", order));
}

void add_names(std::string& out, const RunResult& result) {
    for (const TimelineRank& r : result.timeline_ranks) {
        const RankClass& of = result.classes.at(r.rank_class);
        const std::string others =
            of.multiplicity > 1 ? fmt::format(" \u00b7 stands for {} ranks", of.multiplicity) : "";
        add_name(out,
                 r.rank,
                 -1,
                 fmt::format("rank {} \u00b7 stage {}{}", r.rank, of.program, others),
                 r.rank);
    }
    std::set<std::pair<std::uint32_t, int>> threads;
    for (const TimelineEntry& e : result.timeline) {
        threads.insert({e.rank, static_cast<int>(e.stream)});
        if (e.host.count() > 0) {
            threads.insert({e.rank, kHostThread});
        }
    }
    for (const auto& [rank, thread] : threads) {
        if (thread == kHostThread) {
            add_name(out, rank, thread, "host", -1);
        } else {
            add_name(out, rank, thread, stream_name(static_cast<Stream>(thread)), thread);
        }
    }
}

// ---- Slices

// The layer in a label such as "L3 qkv", which counts from the chunk's first; -1 when there is none.
int layer_of(std::string_view label) {
    int layer = 0;
    std::size_t i = 1;
    for (; i < label.size() && label[i] >= '0' && label[i] <= '9'; ++i) {
        layer = 10 * layer + (label[i] - '0');
    }
    return label.starts_with('L') && i > 1 && i < label.size() && label[i] == ' ' ? layer : -1;
}

class Slices {
  public:
    Slices(std::string& out, const ProgramSet& programs, const Plan& plan)
        : out_(out), programs_(programs), job_(plan.jobs.front()) {}

    void add(const TimelineEntry& e) {
        const Named& named = name_of(e.label, first_layer(e));
        open(e.rank,
             static_cast<int>(e.stream),
             e.start,
             e.end - e.start,
             category_name(e.category),
             named.json);
        std::string& args = out_;
        args += R"(,"args":{)";
        if (e.micro_batch >= 0) {
            fmt::format_to(std::back_inserter(args), R"("micro_batch":{},)", e.micro_batch);
        }
        if (e.chunk >= 0) {
            fmt::format_to(std::back_inserter(args),
                           R"("chunk":{},"pass":"{}",)",
                           e.chunk,
                           e.backward ? "backward" : "forward");
        }
        if (named.layer >= 0) {
            fmt::format_to(std::back_inserter(args), R"("layer":{},)", named.layer);
        }
        add_work(e);
        out_ += "}},\n";
        if (e.host.count() > 0) {
            open(e.rank, kHostThread, e.issued - e.host, e.host, "host", named.json);
            out_ += "},\n";
        }
    }

  private:
    struct Named {
        int layer = -1;  // of the model
        std::string json;
    };
    struct Work {
        std::string json;
        double flops = 0;
        std::int64_t bytes = 0;
    };

    // Of the chunk; -1 for what belongs to none, and for executed workloads.
    [[nodiscard]] int first_layer(const TimelineEntry& e) const {
        const int per_stage = job_.degrees.world() / job_.degrees.pp;
        const auto stage = static_cast<std::size_t>(static_cast<int>(e.rank) / per_stage);
        const auto chunk = static_cast<std::size_t>(std::max<int>(0, e.chunk));
        const bool there =
            e.chunk >= 0 && stage < job_.stages.size() && chunk < job_.stages[stage].size();
        return there ? job_.stages[stage][chunk].first_layer : -1;
    }

    // The label with the layer of the model.
    const Named& name_of(std::uint32_t of, int first) {
        const auto [found, fresh] = names_.try_emplace({of, first});
        if (fresh) {
            const std::string& label = programs_.labels.at(of);
            const int layer = layer_of(label);
            const bool known = layer >= 0 && first >= 0;
            found->second.layer = known ? first + layer : -1;
            found->second.json = json_text(
                known ? fmt::format("L{}{}", first + layer, label.substr(label.find(' '))) : label);
        }
        return found->second;
    }

    const Work& work_of(OpKind kind, std::uint32_t index) {
        const auto [found, fresh] = works_.try_emplace({kind, index});
        Work& work = found->second;
        if (!fresh) {
            return work;
        }
        std::string text;
        switch (kind) {
        case OpKind::Compute: {
            const Kernel& kernel = programs_.kernels.at(index);
            text = describe_kernel(kernel);
            work.flops = flops_of(kernel).value;
            work.bytes = hbm_bytes_of(kernel).value;
            break;
        }
        case OpKind::Collective:
            text = describe_collective(programs_.collectives.at(index));
            work.bytes = programs_.collectives.at(index).bytes.value;
            break;
        case OpKind::Exchange:
            text = describe_exchange(programs_.exchanges.at(index));
            for (const PeerTransfer& t : programs_.exchanges.at(index).transfers) {
                work.bytes += t.bytes.value;
            }
            break;
        case OpKind::HostWork:
        case OpKind::Drain:
            break;
        }
        work.json = json_text(text);
        return work;
    }

    // What is done, how much, how fast.
    void add_work(const TimelineEntry& e) {
        const Work& work = work_of(e.kind, e.work);
        const double seconds = to_seconds(e.end - e.start);
        const auto to = std::back_inserter(out_);
        fmt::format_to(to, R"("work":{})", work.json);
        if (work.flops > 0) {
            fmt::format_to(to, R"(,"flops":{:.0f})", work.flops);
        }
        if (work.bytes > 0) {
            fmt::format_to(to, R"(,"bytes":{})", work.bytes);
        }
        if (work.flops > 0 && seconds > 0) {
            fmt::format_to(to, R"(,"TFLOP/s":{:.4g})", work.flops / seconds / 1e12);
        } else if (work.bytes > 0 && seconds > 0) {
            fmt::format_to(
                to, R"(,"GB/s":{:.4g})", static_cast<double>(work.bytes) / seconds / 1e9);
        }
    }

    void open(std::uint32_t rank,
              int thread,
              Time start,
              Duration duration,
              std::string_view category,
              const std::string& name) {
        fmt::format_to(std::back_inserter(out_),
                       R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"cat":"{}","name":{})",
                       rank,
                       thread,
                       micros(start.time_since_epoch().count()),
                       duration_micros(duration),
                       category,
                       name);
    }

    std::string& out_;
    const ProgramSet& programs_;
    const Job& job_;
    std::map<std::pair<std::uint32_t, int>, Named> names_;
    std::map<std::pair<OpKind, std::uint32_t>, Work> works_;
};

// ---- Memory

// Stacked counters. What is stacked is what is allocated, of classes that are not empty all the time; the context beside the
// allocator is a counter of its own. A sample like the one before is left out.
class Counters {
  public:
    Counters(std::string& out, const RunResult& result) : out_(out) {
        for (const MemorySample& sample : result.memory_timeline) {
            for (std::size_t c = 0; c < sample.bytes.size(); ++c) {
                used_.at(c) = used_.at(c) || sample.bytes.at(c) != 0;
            }
        }
    }

    void add(const MemorySample& sample, std::string_view name, bool (*shown)(TensorClass)) {
        std::string values;
        for (std::size_t c = 0; c < sample.bytes.size(); ++c) {
            if (used_.at(c) && shown(static_cast<TensorClass>(c))) {
                fmt::format_to(std::back_inserter(values),
                               R"({}"{}":{:.4f})",
                               values.empty() ? "" : ",",
                               kTensorClassNames.at(c),
                               static_cast<double>(sample.bytes.at(c)) / 1073741824.0);
            }
        }
        std::string& before = before_[{sample.rank, name}];
        if (values.empty() || values == before) {
            return;
        }
        fmt::format_to(std::back_inserter(out_),
                       R"({{"ph":"C","pid":{},"ts":{},"name":"{}","args":{{{}}}}},)",
                       sample.rank,
                       micros(sample.at.time_since_epoch().count()),
                       name,
                       values);
        out_ += '\n';
        before = std::move(values);
    }

  private:
    std::string& out_;
    std::array<bool, kTensorClasses> used_{};
    std::map<std::pair<std::uint32_t, std::string_view>, std::string> before_;
};

void add_memory(std::string& out, const RunResult& result) {
    Counters counters(out, result);
    for (const MemorySample& sample : result.memory_timeline) {
        counters.add(sample, "allocated memory (GiB)", is_allocated);
        counters.add(sample, "memory outside the allocator (GiB)", [](TensorClass c) {
            return !is_allocated(c);
        });
    }
}

}  // namespace

std::string chrome_trace(const RunResult& result, const ProgramSet& programs, const Plan& plan) {
    std::string out =
        fmt::format(R"({{"displayTimeUnit":"ns","otherData":{{"scenario":{}}},"traceEvents":[)",
                    json_text(plan.name));
    out += '\n';
    add_names(out, result);
    Slices slices(out, programs, plan);
    for (const TimelineEntry& e : result.timeline) {
        slices.add(e);
    }
    add_memory(out, result);
    out += fmt::format(R"({{"ph":"M","pid":0,"name":"trace_name","args":{{"name":{}}}}})",
                       json_text(plan.name));
    return out + "\n]}\n";
}

}  // namespace memwall
