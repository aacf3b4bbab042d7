#include "sim/parallel/describe.h"

#include <fmt/format.h>

#include "sim/core/check.h"
#include "sim/core/quantity.h"
#include "sim/parallel/slots.h"

namespace memwall {
namespace {

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};

std::string_view dtype_name(Dtype dtype) {
    switch (dtype) {
    case Dtype::Fp32:
        return "fp32";
    case Dtype::Tf32:
        return "tf32";
    case Dtype::Fp16:
        return "fp16";
    case Dtype::Bf16:
        return "bf16";
    case Dtype::Fp8:
        return "fp8";
    case Dtype::MxFp8:
        return "mxfp8";
    case Dtype::NvFp4:
        return "nvfp4";
    }
    return "";
}

std::string_view memory_kind_name(MemoryKind kind) {
    switch (kind) {
    case MemoryKind::Elementwise:
        return "elementwise";
    case MemoryKind::Norm:
        return "norm";
    case MemoryKind::NormBackward:
        return "norm_backward";
    case MemoryKind::Softmax:
        return "softmax";
    case MemoryKind::Reduction:
        return "reduction";
    case MemoryKind::Embedding:
        return "embedding";
    case MemoryKind::CrossEntropy:
        return "cross_entropy";
    case MemoryKind::Optimizer:
        return "optimizer";
    case MemoryKind::Cast:
        return "cast";
    }
    return "";
}

std::string slot_name(std::uint16_t slot) {
    switch (slot) {
    case kSlotCompute:
        return "compute";
    case kSlotTp:
        return "tp";
    case kSlotTpGather:
        return "tp gather";
    case kSlotExchange:
        return "exchange";
    case kSlotRecvPrev:
        return "activation";
    case kSlotRecvNext:
        return "gradient";
    case kSlotReduce:
        return "reduction";
    case kSlotReplicate:
        return "replicas";
    case kSlotParameters:
        return "parameters";
    case kSlotRoot:
        return "root";
    default:
        return fmt::format("unit {}", slot - kSlotUnit);
    }
}

std::string describe_work(const ProgramSet& set, const Op& op) {
    switch (op.kind) {
    case OpKind::Compute:
        return describe_kernel(set.kernels[op.work]);
    case OpKind::Collective:
        return describe_collective(set.collectives[op.work]);
    case OpKind::Exchange:
        return describe_exchange(set.exchanges[op.work]);
    case OpKind::HostWork:
        return "host";
    case OpKind::Drain:
        return "host waits for the GPU";
    }
    return "";
}

ProgramLine line_of(const ProgramSet& set, const Item& item, const Op& op) {
    ProgramLine line;
    line.micro_batch = item.micro_batch;
    line.chunk = item.chunk;
    const bool on_stream = op.kind != OpKind::HostWork && op.kind != OpKind::Drain;
    line.stream = on_stream ? stream_name(op.stream) : "";
    line.label = set.labels[op.label];
    line.work = describe_work(set, op);
    line.host = op.host;
    for (const std::uint16_t slot : op.waits) {
        if (slot != kNoSlot) {
            line.waits += (line.waits.empty() ? "" : ", ") + slot_name(slot);
        }
    }
    line.records = op.records == kNoSlot ? "" : slot_name(op.records);
    return line;
}

void append_segment(const ProgramSet& set,
                    const Item& item,
                    bool expand,
                    std::vector<ProgramLine>& lines) {
    const Segment& segment = set.segments[item.index];
    if (!expand) {
        ProgramLine line;
        line.micro_batch = item.micro_batch;
        line.chunk = item.chunk;
        line.segment = segment.name;
        line.stream = "compute, tp";
        line.label = segment.name;
        line.work = fmt::format("{} ops", segment.ops.size());
        for (const Op& op : segment.ops) {
            line.host += op.host;
        }
        for (const MemoryEvent& event : segment.memory) {
            line.memory += event.bytes;
        }
        lines.push_back(std::move(line));
        return;
    }
    std::size_t event = 0;
    for (std::size_t i = 0; i < segment.ops.size(); ++i) {
        ProgramLine line = line_of(set, item, segment.ops[i]);
        line.segment = segment.name;
        // What is freed behind the last op is shown with it.
        const bool last = i + 1 == segment.ops.size();
        for (; event < segment.memory.size() && (last || segment.memory[event].before_op <= i);
             ++event) {
            line.memory += segment.memory[event].bytes;
        }
        lines.push_back(std::move(line));
    }
}

}  // namespace

std::vector<ProgramLine> list_program(const ProgramSet& set, std::size_t program, bool expand) {
    MW_CHECK(program < set.programs.size(), "no such program");
    std::vector<ProgramLine> lines;
    for (const Item& item : set.programs[program].items) {
        if (item.kind == Item::Kind::Segment) {
            append_segment(set, item, expand, lines);
            continue;
        }
        ProgramLine line = line_of(set, item, set.ops[item.index]);
        for (std::uint32_t event = item.memory_begin; event < item.memory_end; ++event) {
            line.memory += set.memory[event].bytes;
        }
        lines.push_back(std::move(line));
    }
    return lines;
}

std::string_view stream_name(Stream stream) {
    switch (stream) {
    case Stream::Compute:
        return "compute";
    case Stream::Tp:
        return "tp";
    case Stream::Cp:
        return "cp";
    case Stream::Ep:
        return "ep";
    case Stream::Dp:
        return "dp";
    case Stream::Gather:
        return "gather";
    case Stream::PpSendNext:
        return "pp send next";
    case Stream::PpRecvPrev:
        return "pp receive previous";
    case Stream::PpSendPrev:
        return "pp send previous";
    case Stream::PpRecvNext:
        return "pp receive next";
    case Stream::Copy:
        return "copy";
    case Stream::Replicate:
        return "replicate";
    }
    return "";
}

std::string_view role_name(GroupRole role) {
    switch (role) {
    case GroupRole::Tp:
        return "tp";
    case GroupRole::Cp:
        return "cp";
    case GroupRole::Dp:
        return "dp";
    case GroupRole::Shard:
        return "shard";
    case GroupRole::Replicate:
        return "replicas";
    case GroupRole::Ep:
        return "ep";
    case GroupRole::Pp:
        return "pp";
    case GroupRole::Embedding:
        return "embedding";
    case GroupRole::World:
        return "world";
    }
    return "";
}

std::string_view collective_name(CollectiveKind kind) {
    switch (kind) {
    case CollectiveKind::AllReduce:
        return "all-reduce";
    case CollectiveKind::AllGather:
        return "all-gather";
    case CollectiveKind::ReduceScatter:
        return "reduce-scatter";
    case CollectiveKind::Broadcast:
        return "broadcast";
    case CollectiveKind::AllToAll:
        return "all-to-all";
    case CollectiveKind::Barrier:
        return "barrier";
    case CollectiveKind::Shift:
        return "shift";
    }
    return "";
}

std::string describe_kernel(const Kernel& kernel) {
    return std::visit(
        Overloaded{
            [](const Gemm& g) {
                const std::string batch = g.batch > 1 ? fmt::format("{} of ", g.batch) : "";
                return fmt::format(
                    "gemm {}{} x {} x {} {}", batch, g.m, g.n, g.k, dtype_name(g.dtype));
            },
            [](const Attention& a) {
                return fmt::format("attention {} x {} heads, {} queries, {} keys, head {} {}",
                                   a.batch,
                                   a.heads,
                                   a.queries,
                                   a.keys,
                                   a.head_dim_qk,
                                   a.backward ? "backward" : "forward");
            },
            [](const MemoryBound& m) {
                return fmt::format("{} {}", memory_kind_name(m.kind), human(m.bytes));
            },
            [](const Copy& c) {
                return fmt::format(
                    "copy {} {}", human(c.bytes), c.to_device ? "to device" : "to host");
            },
            [](const Measured& m) { return fmt::format("measured {}", human(m.duration)); },
        },
        kernel);
}

std::string describe_collective(const CollectiveCall& call) {
    return fmt::format(
        "{} {} {}", collective_name(call.kind), role_name(call.role), human(call.bytes));
}

std::string describe_exchange(const Exchange& exchange) {
    std::string text;
    for (const PeerTransfer& t : exchange.transfers) {
        text += fmt::format("{}{} {} {} stage {}: {}",
                            text.empty() ? "" : "; ",
                            t.send ? "send" : "receive",
                            t.channel == 0 ? "activation" : "gradient",
                            t.send ? "to" : "from",
                            t.stage,
                            human(t.bytes));
    }
    return text;
}

}  // namespace memwall
