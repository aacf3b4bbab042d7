#include "tools/commands/timeline.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/io/chrome_trace.h"
#include "sim/spec/legality.h"
#include "tools/cli/terminal.h"

namespace memwall::cli {
namespace {

// "0,8..15" into ranks; false when it is not such a list or a rank is not below `ranks`.
bool read_ranks(std::string_view text, std::uint32_t ranks, std::vector<std::uint32_t>& out) {
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        const std::string_view part = text.substr(0, comma);
        const std::size_t dots = part.find("..");
        const auto first = memwall::parse<std::int64_t>(part.substr(0, dots));
        const auto last = dots == std::string_view::npos
                              ? first
                              : memwall::parse<std::int64_t>(part.substr(dots + 2));
        if (!first || !last || *first < 0 || *last < *first ||
            *last >= static_cast<std::int64_t>(ranks)) {
            return false;
        }
        for (std::int64_t rank = *first; rank <= *last; ++rank) {
            out.push_back(static_cast<std::uint32_t>(rank));
        }
        text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return !out.empty();
}

// One rank of each pipeline stage stands for its class.
std::vector<std::uint32_t> one_of_each_stage(const Job& job) {
    std::vector<std::uint32_t> ranks;
    const int per_stage = job.degrees.world() / job.degrees.pp;
    for (int stage = 0; stage < job.degrees.pp; ++stage) {
        ranks.push_back(static_cast<std::uint32_t>(stage * per_stage));
    }
    return ranks;
}

// As every path in a file: from the folder of the file that names it.
std::string file_of_scenario(const Loaded& loaded) {
    const std::filesystem::path named_in = place_at(loaded.composed, "run.trace.file").file;
    return (named_in.parent_path() / loaded.plan.run.trace->file).lexically_normal().string();
}

std::vector<std::uint32_t> ranks_of_scenario(const Loaded& loaded) {
    std::vector<std::uint32_t> ranks;
    if (loaded.plan.run.trace) {
        for (const RankRange& range : loaded.plan.run.trace->ranks) {
            for (int rank = range.first; rank <= range.last; ++rank) {
                ranks.push_back(static_cast<std::uint32_t>(rank));
            }
        }
    }
    return ranks.empty() ? one_of_each_stage(loaded.plan.jobs.front()) : ranks;
}

}  // namespace

std::optional<TimelineRequest> timeline_request(Session& session, const Loaded& loaded) {
    const Arguments& arguments = session.arguments();
    TimelineRequest request;
    if (arguments.has("--trace-out")) {
        request.file = arguments.value("--trace-out");
        if (request.file.empty()) {
            session.refuse("--trace-out names no file", "write it as --trace-out step.json.gz");
            return std::nullopt;
        }
    } else if (loaded.plan.run.trace) {
        request.file = file_of_scenario(loaded);
    }
    if (request.file.empty()) {
        if (arguments.has("--trace-ranks")) {
            session.refuse("--trace-ranks without --trace-out has no effect",
                           "add --trace-out step.json.gz");
            return std::nullopt;
        }
        return request;
    }
    if (!arguments.has("--trace-ranks")) {
        request.ranks = ranks_of_scenario(loaded);
        return request;
    }
    const std::string list = arguments.value("--trace-ranks");
    const auto ranks = static_cast<std::uint32_t>(loaded.plan.jobs.front().degrees.world());
    if (!read_ranks(list, ranks, request.ranks)) {
        session.refuse(fmt::format("--trace-ranks {}: not a list of ranks below {}", list, ranks),
                       "write it as 0,8..15");
        return std::nullopt;
    }
    return request;
}

bool write_timeline(Session& session,
                    const TimelineRequest& request,
                    const Prediction& prediction) {
    if (request.file.empty()) {
        return true;
    }
    const std::string error = write_file(
        request.file,
        chrome_trace(prediction.result, prediction.parts.programs.front(), prediction.loaded.plan));
    if (!error.empty()) {
        if (session.arguments().has("--trace-out")) {
            session.refuse(error);
        } else {
            Diagnostics diagnostics;
            diagnostics
                .error("E0114", place_at(prediction.loaded.composed, "run.trace.file"), error)
                .hint = "paths are from the folder of the file that names them";
            session.complain(diagnostics);
        }
        return false;
    }
    print_error(fmt::format("{}: {} slices of {} ranks; open it in ui.perfetto.dev\n",
                            request.file,
                            prediction.result.timeline.size(),
                            request.ranks.size()));
    return true;
}

}  // namespace memwall::cli
