#pragma once
// Collects a ProgramSet: equal kernels, collectives, exchanges, labels and ops are stored once.
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/parallel/program.h"

namespace memwall {

class ProgramBuilder {
  public:
    std::uint32_t kernel(const Kernel& kernel);
    std::uint32_t collective(const CollectiveCall& call);
    std::uint32_t exchange(const Exchange& exchange);
    std::uint32_t label(const std::string& text);
    // A tensor of a layer at a position in its chunk, or (position, index) of any other owner named `owner`.
    std::uint32_t tensor(const std::string& owner,
                         int position,
                         std::uint32_t index,
                         const std::string& name);
    std::uint32_t segment(Segment segment);

    [[nodiscard]] Item segment_item(std::uint32_t segment, bool backward) const;
    // An op outside of segments, with the memory events at its issue.
    [[nodiscard]] Item op_item(const Op& op, std::span<const MemoryEvent> memory = {});

    std::size_t program(Program program);
    // Slots up to and including this one exist.
    void use_slot(std::uint16_t slot);

    [[nodiscard]] ProgramSet take();

  private:
    ProgramSet set_;
    std::map<Kernel, std::uint32_t> kernels_;
    std::map<CollectiveCall, std::uint32_t> collectives_;
    std::map<std::vector<PeerTransfer>, std::uint32_t> exchanges_;
    std::map<std::string, std::uint32_t> labels_;
    std::map<std::tuple<std::string, int, std::uint32_t>, std::uint32_t> tensors_;
};

// waits = {a, b}: the slots that are not kNoSlot, in order, each once; at most kWaits.
void add_wait(Op& op, std::uint16_t slot);

}  // namespace memwall
