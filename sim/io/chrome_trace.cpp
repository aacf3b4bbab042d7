#include "sim/io/chrome_trace.h"

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

std::string json_text(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void add_names(std::string& out, const RunResult& result) {
    std::set<std::uint32_t> ranks;
    std::set<std::pair<std::uint32_t, Stream>> threads;
    for (const TimelineEntry& e : result.timeline) {
        ranks.insert(e.rank);
        threads.insert({e.rank, e.stream});
    }
    for (const std::uint32_t rank : ranks) {
        out += fmt::format(
            "{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":\"rank "
            "{}\"}}}},\n",
            rank,
            rank);
        out += fmt::format(
            "{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_sort_index\",\"args\":{{\"sort_index\":{}"
            "}}}},\n",
            rank,
            rank);
    }
    for (const auto& [rank, stream] : threads) {
        const int tid = static_cast<int>(stream);
        out += fmt::format(
            "{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":\"{}"
            "\"}}}},\n",
            rank,
            tid,
            stream_name(stream));
        out += fmt::format(
            "{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_sort_index\",\"args\":{{\"sort_"
            "index\":{}}}}},\n",
            rank,
            tid,
            tid);
    }
}

// One stacked counter: the classes for which `shown` holds.
void add_counter(std::string& out,
                 const MemorySample& sample,
                 std::string_view name,
                 bool (*shown)(TensorClass)) {
    out += fmt::format("{{\"ph\":\"C\",\"pid\":{},\"ts\":{},\"name\":\"{}\",\"args\":{{",
                       sample.rank,
                       micros(sample.at.time_since_epoch().count()),
                       name);
    bool first = true;
    for (std::size_t i = 0; i < sample.bytes.size(); ++i) {
        if (!shown(static_cast<TensorClass>(i))) {
            continue;
        }
        out += fmt::format("{}\"{}\":{:.4f}",
                           first ? "" : ",",
                           kTensorClassNames.at(i),
                           static_cast<double>(sample.bytes.at(i)) / 1073741824.0);
        first = false;
    }
    out += "}},\n";
}

// What is stacked is what is allocated; the context beside the allocator is a counter of its own.
void add_memory(std::string& out, const RunResult& result) {
    for (const MemorySample& sample : result.memory_timeline) {
        add_counter(out, sample, "allocated memory (GiB)", is_allocated);
        add_counter(out, sample, "memory outside the allocator (GiB)", [](TensorClass c) {
            return !is_allocated(c);
        });
    }
}

}  // namespace

std::string chrome_trace(const RunResult& result,
                         const ProgramSet& programs,
                         const std::string& name) {
    std::string out = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"scenario\":" + json_text(name) +
                      "},\"traceEvents\":[\n";
    add_names(out, result);
    for (const TimelineEntry& e : result.timeline) {
        const std::int64_t start = e.start.time_since_epoch().count();
        out += fmt::format(
            "{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"cat\":\"{}\",\"name\":{}",
            e.rank,
            static_cast<int>(e.stream),
            micros(start),
            micros((e.end - e.start).count()),
            category_name(e.category),
            json_text(programs.labels.at(e.label)));
        if (e.micro_batch >= 0) {
            out += fmt::format(",\"args\":{{\"micro_batch\":{}}}", e.micro_batch);
        }
        out += "},\n";
    }
    add_memory(out, result);
    out += fmt::format(
        "{{\"ph\":\"M\",\"pid\":0,\"name\":\"trace_name\",\"args\":{{\"name\":{}}}}}\n]}}\n",
        json_text(name));
    return out;
}

}  // namespace memwall
