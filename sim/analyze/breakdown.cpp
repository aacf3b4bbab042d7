#include "sim/analyze/breakdown.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "sim/core/check.h"

namespace memwall {
namespace {

__extension__ using Wide =
    __int128;  // rank-picoseconds of 100,000 ranks over minutes exceed 64 bits

constexpr std::array<Category, 8> kCommunication = {Category::TpComm,
                                                    Category::PpComm,
                                                    Category::DpComm,
                                                    Category::CpComm,
                                                    Category::EpComm,
                                                    Category::FsdpGather,
                                                    Category::FsdpReduce,
                                                    Category::OffloadCopy};

struct Label {
    std::string name;
    Duration (*of)(const Breakdown&, Category);
    Category category = Category::None;
};

std::vector<Label> labels() {
    std::vector<Label> all = {
        {"compute", [](const Breakdown& b, Category) { return b.compute; }},
        {"recompute", [](const Breakdown& b, Category) { return b.recompute; }},
        {"optimizer", [](const Breakdown& b, Category) { return b.optimizer; }},
    };
    for (const Category c : kCommunication) {
        all.push_back({"exposed " + std::string(communication_name(c)),
                       [](const Breakdown& b, Category kind) {
                           return b.exposed.at(static_cast<std::size_t>(kind));
                       },
                       c});
    }
    all.push_back({"bubble", [](const Breakdown& b, Category) { return b.bubble; }});
    all.push_back({"imbalance", [](const Breakdown& b, Category) { return b.imbalance; }});
    all.push_back({"host", [](const Breakdown& b, Category) { return b.host; }});
    all.push_back({"idle", [](const Breakdown& b, Category) { return b.idle; }});
    return all;
}

Duration kernels(const Breakdown& b) {
    return b.compute + b.recompute + b.optimizer;
}

}  // namespace

std::string_view communication_name(Category category) {
    switch (category) {
    case Category::TpComm:
        return "tp";
    case Category::PpComm:
        return "pp";
    case Category::DpComm:
        return "dp";
    case Category::CpComm:
        return "cp";
    case Category::EpComm:
        return "ep";
    case Category::FsdpGather:
        return "fsdp gather";
    case Category::FsdpReduce:
        return "fsdp reduce";
    case Category::OffloadCopy:
        return "offload copy";
    case Category::Compute:
    case Category::Recompute:
    case Category::Optimizer:
    case Category::None:
        return "";
    }
    return "";
}

std::size_t busiest_class(const std::vector<RankClass>& classes) {
    const auto most = std::max_element(
        classes.begin(), classes.end(), [](const RankClass& a, const RankClass& b) {
            return kernels(a.breakdown) < kernels(b.breakdown);
        });
    return static_cast<std::size_t>(most - classes.begin());
}

Duration mean_over_ranks(const std::vector<RankClass>& classes,
                         Duration (*figure)(const RankClass&)) {
    Wide sum = 0;
    Wide ranks = 0;
    for (const RankClass& c : classes) {
        sum += static_cast<Wide>(c.multiplicity) * figure(c).count();
        ranks += static_cast<Wide>(c.multiplicity);
    }
    return Duration(ranks == 0 ? 0 : static_cast<std::int64_t>(sum / ranks));
}

std::vector<BreakdownLine> breakdown_lines(const std::vector<RankClass>& classes, Duration step) {
    MW_CHECK(!classes.empty(), "a breakdown needs ranks");
    const std::vector<Label> all = labels();
    const Breakdown& busiest = classes[busiest_class(classes)].breakdown;
    Wide ranks = 0;
    for (const RankClass& c : classes) {
        ranks += static_cast<Wide>(c.multiplicity);
    }
    std::vector<BreakdownLine> lines;
    std::vector<Wide> remainders;
    std::int64_t given = 0;
    for (const Label& label : all) {
        Wide sum = 0;
        for (const RankClass& c : classes) {
            sum +=
                static_cast<Wide>(c.multiplicity) * label.of(c.breakdown, label.category).count();
        }
        lines.push_back({label.name,
                         Duration(static_cast<std::int64_t>(sum / ranks)),
                         label.of(busiest, label.category),
                         0});
        remainders.push_back(sum % ranks);
        given += lines.back().mean.count();
    }
    std::vector<std::size_t> order(lines.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return remainders[a] > remainders[b];
    });
    for (std::size_t i = 0; i < order.size() && given < step.count(); ++i, ++given) {
        lines[order[i]].mean += Duration(1);
    }
    for (BreakdownLine& line : lines) {
        line.share = step.count() == 0 ? 0 : to_seconds(line.mean) / to_seconds(step);
    }
    return lines;
}

}  // namespace memwall
