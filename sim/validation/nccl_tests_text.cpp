#include "sim/validation/nccl_tests_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "sim/validation/words.h"

namespace memwall {
namespace {

std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    constexpr std::string_view kBlank = " \t\r";
    for (std::size_t from = line.find_first_not_of(kBlank); from != std::string_view::npos;) {
        const std::size_t to = std::min(line.find_first_of(kBlank, from), line.size());
        words.push_back(line.substr(from, to - from));
        from = line.find_first_not_of(kBlank, to);
    }
    return words;
}

std::optional<double> number_of(std::string_view word) {
    double value = 0;
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (failed != std::errc() || end != word.data() + word.size() || !std::isfinite(value)) {
        return std::nullopt;
    }
    return value;
}

// Where the columns of interest stand in a line; -1 = not there.
struct Columns {
    std::ptrdiff_t size = -1;
    std::ptrdiff_t type = -1;
    std::ptrdiff_t redop = -1;
    std::ptrdiff_t time = -1;
    std::ptrdiff_t algbw = -1;
    std::ptrdiff_t busbw = -1;
};

std::optional<Columns> header_of(std::string_view line) {
    if (!line.starts_with('#')) {
        return std::nullopt;
    }
    const std::vector<std::string_view> words = words_of(line.substr(1));
    const auto at = [&](std::string_view word) {
        const auto found = std::find(words.begin(), words.end(), word);
        return found == words.end() ? std::ptrdiff_t{-1} : found - words.begin();
    };
    const Columns c{at("size"), at("type"), at("redop"), at("time"), at("algbw"), at("busbw")};
    return c.size >= 0 && c.time >= 0 && c.busbw >= 0 ? std::optional(c) : std::nullopt;
}

struct Reading {
    std::size_t line = 0;
    double bytes = 0;
    double time_us = 0;
    double bus_over_algorithm = 0;  // 0 = too small to tell
    std::string type;
    bool reduces = false;
};

struct Devices {
    int ranks = 0;
    std::set<std::string, std::less<>> hosts;
    std::string model;
};

// `#  Rank  0 Group  0 Pid 5113 on  host1 device  0 [0x07] NVIDIA H100 80GB HBM3`
void read_rank(std::string_view line, Devices& devices) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.size() < 3 || words[0] != "#" || words[1] != "Rank") {
        return;
    }
    ++devices.ranks;
    for (std::size_t w = 0; w + 1 < words.size(); ++w) {
        if (words[w] == "on") {
            devices.hosts.emplace(words[w + 1]);
        }
    }
    if (const std::size_t bracket = line.find(']'); bracket != std::string_view::npos) {
        std::string model;
        for (const std::string_view word : words_of(line.substr(bracket + 1))) {
            model += (model.empty() ? "" : " ") + std::string(word);
        }
        devices.model = std::move(model);
    }
}

std::string collective_in(std::string_view text) {
    for (const std::string_view program : kNcclTests) {
        if (text.find(std::string(program) + "_perf") != std::string_view::npos) {
            return std::string(program);
        }
    }
    return {};
}

std::string collective_in_name(std::string_view path) {
    const std::string file = plain_word(path.substr(path.rfind('/') + 1));
    for (const std::string_view program : kNcclTests) {
        std::string joined(program);
        std::erase(joined, '_');
        for (const std::string_view form : {program, std::string_view(joined)}) {
            if (mentions(file, plain_word(form))) {
                return std::string(program);
            }
        }
    }
    return {};
}

// busbw / algbw is 2 (n-1)/n for all-reduce, (n-1)/n for all-gather, reduce-scatter and all-to-all, 1 for broadcast.
std::string collective_by_factor(const std::vector<Reading>& rows, int gpus) {
    const auto largest =
        std::max_element(rows.begin(), rows.end(), [](const Reading& a, const Reading& b) {
            return a.bytes < b.bytes;
        });
    const double n = gpus;
    const double factor = largest->bus_over_algorithm;
    constexpr double kPrinted = 0.02;  // two digits behind the point
    if (gpus > 2 && std::abs(factor - 2 * (n - 1) / n) < kPrinted) {
        return "all_reduce";
    }
    if (largest->reduces && std::abs(factor - (n - 1) / n) < kPrinted) {
        return "reduce_scatter";
    }
    return {};
}

class Reader {
  public:
    Reader(const std::string& name, const NcclTestsHints& hints, Diagnostics& diagnostics)
        : name_(name), hints_(hints), diagnostics_(diagnostics) {}

    std::optional<Table> read(std::string_view text) {
        const std::size_t before = diagnostics_.errors();
        read_lines(text);
        if (!columns_) {
            diagnostics_.error("E0603", whole(), "no line names the columns size, time and busbw")
                .hint = "keep the lines that begin with #";
            return std::nullopt;
        }
        if (rows_.empty()) {
            if (diagnostics_.errors() == before) {
                diagnostics_.error("E0702", whole(), "no line of measurements");
            }
            return std::nullopt;
        }
        const int gpus = hints_.gpus > 0 ? hints_.gpus : devices_.ranks;
        const int nodes = hints_.nodes > 0         ? hints_.nodes
                          : devices_.hosts.empty() ? 1
                                                   : static_cast<int>(devices_.hosts.size());
        if (gpus < 2) {
            diagnostics_.error("E0604", whole(), "no rank lines say how many GPUs there were")
                .hint = "say --gpus N, and --nodes M if there was more than one";
        }
        if (gpus >= 2 && gpus % nodes != 0) {
            diagnostics_.error(
                "E0604",
                whole(),
                fmt::format("{} GPUs are not as many on each of {} nodes", gpus, nodes));
        }
        const std::string collective = collective_of(text, gpus);
        if (collective.empty()) {
            diagnostics_.error("E0604", whole(), "nothing says which collective this is").hint =
                "say --collective all_reduce, or keep the program's name in that of the file";
        }
        return diagnostics_.errors() == before ? std::optional(table(gpus, nodes, collective))
                                               : std::nullopt;
    }

  private:
    [[nodiscard]] Place whole() const { return {name_, 0, 0}; }

    void read_lines(std::string_view text) {
        std::size_t number = 0;
        while (!text.empty()) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            const std::string_view line = text.substr(0, end);
            text.remove_prefix(std::min(end + 1, text.size()));
            ++number;
            read_rank(line, devices_);
            if (const auto header = header_of(line)) {
                columns_ = header;
            } else if (columns_) {
                read_row(line, number);
            }
        }
    }

    // Lines of measurements begin with a whole number; warnings of MPI and of NCCL stand among them.
    void read_row(std::string_view line, std::size_t number) {
        const std::vector<std::string_view> words = words_of(line);
        const auto bytes = words.empty() ? std::nullopt : number_of(words.front());
        if (!bytes || *bytes == 0) {
            return;
        }
        const Columns& c = *columns_;
        const auto word = [&](std::ptrdiff_t at) {
            return at >= 0 && static_cast<std::size_t>(at) < words.size()
                       ? words[static_cast<std::size_t>(at)]
                       : std::string_view();
        };
        const auto time = number_of(word(c.time));
        const Place place{name_, static_cast<int>(number), 1};
        if (!time) {
            diagnostics_.error(
                "E0603", place, fmt::format("'{}' is no time in microseconds", word(c.time)));
            return;
        }
        if (*time <= 0) {
            diagnostics_.error(
                "E0602", place, fmt::format("a time of {} us is not positive", word(c.time)));
            return;
        }
        const double algorithm = number_of(word(c.algbw)).value_or(0);
        const double bus = number_of(word(c.busbw)).value_or(0);
        rows_.push_back({number,
                         *bytes,
                         *time,
                         algorithm >= 1 ? bus / algorithm : 0,
                         std::string(word(c.type)),
                         !word(c.redop).empty() && word(c.redop) != "none"});
    }

    [[nodiscard]] std::string collective_of(std::string_view text, int gpus) const {
        if (!hints_.collective.empty()) {
            return hints_.collective;
        }
        if (std::string stated = collective_in(text); !stated.empty()) {
            return stated;
        }
        if (std::string named = collective_in_name(name_); !named.empty()) {
            return named;
        }
        return collective_by_factor(rows_, gpus);
    }

    [[nodiscard]] Table table(int gpus, int nodes, const std::string& collective) const {
        Table out;
        out.name = name_;
        out.kind = RowKind::Collective;
        out.columns = {
            "id", "n_gpus", "n_nodes", "collective", "message_bytes", "time_us", "dtype", "device"};
        for (const Reading& r : rows_) {
            out.rows.push_back({fmt::format("line {}", r.line),
                                std::to_string(gpus),
                                std::to_string(nodes),
                                collective,
                                fmt::format("{:.0f}", r.bytes),
                                fmt::format("{}", r.time_us),
                                r.type,
                                devices_.model});
        }
        return out;
    }

    const std::string& name_;
    const NcclTestsHints& hints_;
    Diagnostics& diagnostics_;
    Devices devices_;
    std::optional<Columns> columns_;
    std::vector<Reading> rows_;
};

}  // namespace

bool is_nccl_tests(std::string_view text) {
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t end = std::min(text.find('\n', from), text.size());
        const std::string_view line = text.substr(from, end - from);
        if (header_of(line) || line.starts_with("# nThread") || line.starts_with("# nccl-tests")) {
            return true;
        }
        from = end + 1;
    }
    return false;
}

std::optional<Table> read_nccl_tests(const std::string& name,
                                     std::string_view text,
                                     const NcclTestsHints& hints,
                                     Diagnostics& diagnostics) {
    return Reader(name, hints, diagnostics).read(text);
}

}  // namespace memwall
