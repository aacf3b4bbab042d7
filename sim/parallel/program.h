#pragma once
// What ranks run. A program is one training step in the order in which the host issues it; it is repeated for each step.
// Ranks of one pipeline stage share a program: groups are named by role, peers by stage.
//
// Streams are in order, as CUDA streams are. An op starts when (1) the host has issued it, (2) the op before it on its
// stream has ended, (3) every event it waits for has happened; a collective or exchange also needs its peers.
// The host issues ops in program order: each takes `host` time before it is issued; the host runs ahead without limit,
// except that a Drain op makes it wait for everything issued so far on its rank.
// Events are slots, as CUDA events are: an op records its completion into a slot; a later op (in program order) that waits
// for the slot waits for the latest record before it in program order. A slot never recorded is in the past.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/spec/collective.h"
#include "sim/spec/kernel.h"
#include "sim/spec/memory_class.h"

namespace memwall {

enum class Stream : std::uint8_t {
    Compute,
    Tp,
    Cp,
    Ep,
    Dp,          // gradient reduction and parameter gathers of one process group (FIFO)
    Gather,      // parameter gathers where the stack gives them a stream of their own
    PpSendNext,  // overlapped p2p: one stream per direction; batched p2p: PpSendNext only
    PpRecvPrev,
    PpSendPrev,
    PpRecvNext,
    Copy,       // host <-> device
    Replicate,  // HSDP: all-reduce of a gradient shard over its replicas (a process group of its own)
};
inline constexpr int kStreams = 12;

enum class OpKind : std::uint8_t {
    Compute,     // a kernel; work = index into ProgramSet::kernels
    Collective,  // work = index into ProgramSet::collectives
    Exchange,  // work = index into ProgramSet::exchanges; ends when all of its transfers have ended
    HostWork,  // host time only
    Drain,     // the host waits for all streams of its rank
};

// Which label of the breakdown a kernel counts as, and which kind of exposed communication a transfer is.
enum class Category : std::uint8_t {
    Compute,
    Recompute,
    Optimizer,  // kernels
    TpComm,
    PpComm,
    DpComm,
    CpComm,
    EpComm,
    FsdpGather,
    FsdpReduce,
    OffloadCopy,  // transfers
    None,
};
inline constexpr int kCategories = 12;

inline constexpr std::uint16_t kNoSlot = 0xFFFF;
inline constexpr std::size_t kWaits = 4;

struct Op {
    OpKind kind = OpKind::Compute;
    Stream stream = Stream::Compute;
    Category category = Category::Compute;
    std::uint32_t work = 0;
    Duration host{};
    std::array<std::uint16_t, kWaits> waits = {kNoSlot, kNoSlot, kNoSlot, kNoSlot};
    std::uint16_t records = kNoSlot;
    std::uint32_t label =
        0;  // index into ProgramSet::labels, such as "L3 qkv": the layer counts from 0 within its chunk
};

// Memory moves in issue order. `tensor` pairs an allocation with its free; an instance is (tensor, micro-batch, chunk).
struct MemoryEvent {
    TensorClass memory = TensorClass::Activations;
    std::int64_t bytes = 0;  // > 0 allocates, < 0 frees
    std::uint32_t tensor = 0;
    // Within its segment: happens at the issue of this op, before it; ops.size() = after the issue of the last. Ascending.
    std::uint32_t before_op = 0;
};

// Ops of one (chunk, pass) between two ops that meet the outside: only Compute and Tp stream, no exchange, no other group.
// Shared by all micro-batches, and by all chunks that do the same. Slots recorded outside are waited for only by its first
// op (and its first Compute op, when the first is a collective).
struct Segment {
    std::string name;  // "forward chunk 3"
    std::vector<Op> ops;
    std::vector<MemoryEvent> memory;
};

struct Item {
    enum class Kind : std::uint8_t { Segment, Op } kind = Kind::Segment;
    std::uint32_t index = 0;  // into segments or ops
    std::int32_t micro_batch = -1;
    std::int16_t chunk = -1;
    bool backward = false;
    std::uint32_t memory_begin =
        0;  // Op items: [memory_begin, memory_end) of ProgramSet::memory, at its issue
    std::uint32_t memory_end = 0;
};

// One directed message. The k-th send of (src, dst, channel) meets the k-th receive of the same.
struct PeerTransfer {
    bool send = true;
    int stage = 0;             // of the peer; same tp, cp, dp coordinates
    std::uint8_t channel = 0;  // 0 = activations, 1 = gradients
    Bytes bytes;
    auto operator<=>(const PeerTransfer&) const = default;
};

struct Exchange {
    std::vector<PeerTransfer> transfers;
};

struct Program {
    int stage = 0;
    std::vector<Item> items;
    std::vector<MemoryEvent> resident;  // live from the first step on: states, buffers, context
    std::int64_t parameters = 0;        // held by a rank of this stage
    Bytes host_bytes;                   // host memory per rank (offloaded states, pinned buffers)
};

struct ProgramSet {
    std::vector<Program> programs;  // one per stage
    std::vector<Segment> segments;
    std::vector<Op> ops;                      // of Op items
    std::vector<MemoryEvent> memory;          // of Op items
    std::vector<Kernel> kernels;              // distinct
    std::vector<CollectiveCall> collectives;  // distinct
    std::vector<Exchange> exchanges;          // distinct
    std::vector<std::string> labels;
    std::vector<std::string> tensors;  // names for MemoryEvent::tensor
    std::uint16_t slots = 0;           // event slots per rank
};

}  // namespace memwall
