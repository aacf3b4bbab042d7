#pragma once
// Joins the two trunks: programs with the machine that they run on. Each rank gets its device, its groups and its peers,
// each collective of each group and each message of each pair its time and its links.
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "sim/network/fabric.h"
#include "sim/run/bound.h"
#include "sim/spec/plan.h"

namespace memwall {

// The device of a rank of a job.
[[nodiscard]] DeviceId device_of(const Plan& plan, const Job& job, std::uint32_t rank);

// programs: by job. Plan, fabric and programs must outlive the result. The error says why an algorithm that the plan names
// cannot run. coalesce = false: the plain engine.
[[nodiscard]] tl::expected<Bound, std::string> bind_plan(
    const Plan& plan,
    const Fabric& fabric,
    const std::vector<const ProgramSet*>& programs,
    bool coalesce);

}  // namespace memwall
