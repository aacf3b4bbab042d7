#include "sim/calibration/constants.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "sim/core/check.h"
#include "sim/spec/fields_machine.h"
#include "sim/spec/fields_work.h"
#include "sim/spec/value.h"

namespace memwall {
namespace {

constexpr std::array<std::string_view, 10> kGpuHeads = {"gemm",
                                                        "gemm_burst",
                                                        "gemm_tiling",
                                                        "gemm_roles",
                                                        "attention_forward",
                                                        "attention_backward",
                                                        "flash2_forward",
                                                        "flash2_backward",
                                                        "trtllm_forward",
                                                        "nccl"};
constexpr std::array<std::string_view, 3> kStackHeads = {"host", "interference", "rates"};

// NCCL's nominal view: it decides which algorithm runs, never how long.
constexpr std::array<std::string_view, 6> kChoice = {"nccl.search_speed",
                                                     "nccl.ll_max",
                                                     "nccl.ll128_per_channel",
                                                     "nccl.tree_per_channel",
                                                     "nccl.nvls_head_speed",
                                                     "nccl.nvls_efficiency"};

// One value for all cards: fitted by name only.
constexpr std::array<std::string_view, 2> kShared = {"reaction", "long_run"};

struct Teller {
    std::string_view ends;  // of the path
    std::string_view rows;
};
constexpr std::array kTellers = {
    Teller{"nccl.nvls_loop",
           "all-reduces of 1 to 64 MiB on three or more GPUs of an NVLink switch"},
    Teller{"nccl.nvls", "all-reduces of 64 MiB and more on three or more GPUs of an NVLink switch"},
    Teller{"nccl.ring", "large all-gathers or reduce-scatters over all links of each GPU"},
    Teller{"nccl.ring_efficiency", "rings over a part of the links of each GPU"},
    Teller{"nccl.pair_factor", "two GPUs under one PCIe switch"},
    Teller{"nccl.cross_socket", "all-to-all of more than four GPUs in a PCIe box"},
    Teller{"nccl.self_copy", "large all-to-all"},
    Teller{"nccl.base_p2p", "all-to-all of medium size"},
    Teller{"nccl.fill_p2p", "all-to-all of several sizes above 1 MiB"},
    Teller{"nccl.base_ll", "small messages, below 64 KiB"},
    Teller{"nccl.step_ll", "small messages on several numbers of GPUs"},
    Teller{"nccl.base_simple", "messages of 1 to 64 MiB"},
    Teller{"nccl.step_simple", "messages of 1 to 64 MiB on several numbers of GPUs"},
    Teller{"nccl.extra_pass", "large all-gathers on several numbers of GPUs"},
    Teller{"nccl.fill", "all-gathers of several sizes above 16 MiB"},
    Teller{".sustained", "products of 1 ms and more"},
    Teller{".clock_drop", "products that last from 0.1 ms to some ms, at burst clock"},
    Teller{".reaction", "products that last from 0.1 ms to some ms, at burst clock"},
    Teller{".burst", "large products that last less than 0.3 ms"},
    Teller{".prologue_k", "products of small and of large K"},
    Teller{".quantise_fixed", "small products in low precision, with their quantisation"},
    Teller{".quantise_traffic", "products of large M and K and small N, with their quantisation"},
    Teller{".exponentials", "attention of small head dimension"},
    Teller{".matrix", "attention over long sequences"},
    Teller{".tile_overhead", "attention over short sequences"},
    Teller{".wide_head_penalty", "attention of a head dimension above 128"},
    Teller{".memory", "sizes at which memory limits the kernel: few rows, large weights"},
    Teller{".fixed", "kernels of a few microseconds"},
};

bool is_within(std::string_view path, std::string_view head) {
    return path.starts_with(head) && (path.size() == head.size() || path[head.size()] == '.');
}

std::string_view last_key(std::string_view path) {
    return path.substr(path.rfind('.') + 1);
}

std::optional<double> number_of(const Leaf& leaf) {
    if (const auto* v = std::get_if<double*>(&leaf)) {
        return **v;
    }
    if (const auto* v = std::get_if<Duration*>(&leaf)) {
        return static_cast<double>((*v)->count());
    }
    if (const auto* v = std::get_if<Bandwidth*>(&leaf)) {
        return (*v)->value;
    }
    if (const auto* v = std::get_if<FlopRate*>(&leaf)) {
        return (*v)->value;
    }
    return std::nullopt;
}

// Walks a struct by its field table and keeps the numbers under given heads.
class Finder : public Fields {
  public:
    explicit Finder(std::span<const std::string_view> heads) : heads_(heads) {}
    std::vector<Constant> take() { return std::move(found_); }

    Shape shape(std::string_view /*key*/, Shape in_value) override { return in_value; }
    bool has(std::string_view /*key*/, bool in_value) override { return in_value; }
    void keep(std::string_view /*key*/) override {}
    void visit_leaf(Key key, Leaf leaf, Rules rules) override {
        std::string path = path_of(key);
        const bool wanted = std::any_of(heads_.begin(), heads_.end(), [&](std::string_view head) {
            return is_within(path, head);
        });
        const bool choice = std::find(kChoice.begin(), kChoice.end(), path) != kChoice.end();
        if (wanted && !choice && number_of(leaf)) {
            found_.push_back({std::move(path), leaf, rules.least, rules.most});
        }
    }
    bool enter(Key key, bool in_value, Rules /*rules*/, std::string_view /*shorthand*/) override {
        if (in_value) {
            path_.push_back(path_of(key));
        }
        return in_value;
    }
    std::optional<std::size_t> enter_list(Key key, std::size_t in_value, Rules /*rules*/) override {
        path_.push_back(path_of(key));
        return in_value;
    }
    void leave() override { path_.pop_back(); }

  private:
    [[nodiscard]] std::string path_of(Key key) const {
        const std::string name = key.is_item() ? std::to_string(key.index) : std::string(key.name);
        return path_.empty() ? name : path_.back() + "." + name;
    }

    std::span<const std::string_view> heads_;
    std::vector<std::string> path_;
    std::vector<Constant> found_;
};

// A kernel moves no more than the memory does, and counts no faster than the data sheet with the clock that it leaves room
// for: the highest is up to a tenth above the one that datasheets count with (H100: 1.98 against 1.83 GHz).
double physical_most(const Gpu& gpu, std::string_view path) {
    constexpr double kClock = 1.1;
    constexpr double kNone = std::numeric_limits<double>::infinity();
    const std::string_view key = last_key(path);
    if (key == "memory" && !path.starts_with("nccl")) {
        return gpu.hbm.value;
    }
    if (key == "matrix" || key == "burst" || key == "sustained") {
        const std::string_view head = path.substr(0, path.rfind('.'));
        const std::string_view dtype = last_key(head);
        for (const auto& [of, rate] : gpu.peak) {
            if (name_of(of) == dtype) {
                return kClock * rate.value;
            }
        }
    }
    return kNone;
}

void complain_of(const std::string& wanted,
                 const Place& place,
                 const std::vector<Constant>& all,
                 Diagnostics& diagnostics) {
    if (std::find(kChoice.begin(), kChoice.end(), wanted) != kChoice.end()) {
        diagnostics
            .error("E0601", place, fmt::format("'{}' is not fitted: no time depends on it", wanted))
            .hint = "it decides which algorithm runs; change it in the file";
        return;
    }
    std::vector<std::string_view> known;
    for (const Constant& c : all) {
        known.emplace_back(c.path);
        for (std::size_t dot = c.path.find('.'); dot != std::string::npos;
             dot = c.path.find('.', dot + 1)) {
            known.push_back(std::string_view(c.path).substr(0, dot));
        }
    }
    const std::string_view near = nearest(wanted, known);
    std::string heads;
    for (const Constant& c : all) {
        const std::string head = c.path.substr(0, c.path.rfind('.'));
        if (heads.find(head) == std::string::npos) {
            heads += (heads.empty() ? "" : ", ") + head;
        }
    }
    diagnostics.error("E0601", place, fmt::format("no constant '{}' to fit", wanted)).hint =
        near.empty() ? fmt::format("the file has constants under {}", heads)
                     : fmt::format("did you mean '{}'?", near);
}

}  // namespace

double Constant::value() const {
    return number_of(leaf).value_or(0);
}

void Constant::set(double value) const {
    if (const auto* plain = std::get_if<double*>(&leaf)) {
        **plain = value;
    } else if (const auto* time = std::get_if<Duration*>(&leaf)) {
        **time = Duration(std::llround(value));
    } else if (const auto* bandwidth = std::get_if<Bandwidth*>(&leaf)) {
        (*bandwidth)->value = value;
    } else if (const auto* rate = std::get_if<FlopRate*>(&leaf)) {
        (*rate)->value = value;
    } else {
        MW_CHECK(false, "a constant is a number");
    }
}

std::string Constant::text() const {
    return write_value(leaf).text;
}

std::string Constant::text(double other) const {
    const double before = value();
    set(other);
    std::string out = text();
    set(before);
    return out;
}

std::vector<Constant> constants_of(Gpu& gpu) {
    Finder finder(kGpuHeads);
    describe(finder, gpu);
    std::vector<Constant> found = finder.take();
    for (Constant& c : found) {
        // A file that says more stays as it is.
        c.most = std::min(c.most, std::max(physical_most(gpu, c.path), c.value()));
    }
    return found;
}

std::vector<Constant> constants_of(Stack& stack) {
    Finder finder(kStackHeads);
    describe(finder, stack);
    std::vector<Constant> found = finder.take();
    for (Constant& c : found) {
        for (std::size_t i = 0; i < stack.rates.size(); ++i) {
            const std::string item = fmt::format("rates.{}", i);
            if (is_within(c.path, item)) {
                c.path = fmt::format(
                    "rates.{}{}", stack.rates[i].architecture, c.path.substr(item.size()));
                break;
            }
        }
    }
    return found;
}

std::vector<std::size_t> select_constants(const std::vector<Constant>& all,
                                          const std::vector<std::string>& wanted,
                                          Diagnostics& diagnostics) {
    std::vector<std::size_t> chosen;
    for (std::size_t w = 0; w < wanted.size(); ++w) {
        const Place place{"--fit", static_cast<int>(w) + 1, 1};
        const std::string_view short_rate =
            wanted[w].starts_with("rates.") ? std::string_view(wanted[w]).substr(6) : "";
        std::vector<std::size_t> named;
        std::size_t with_value = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::string_view path = all[i].path;
            const bool exact =
                path == wanted[w] ||
                (!short_rate.empty() && path.starts_with("rates.") && last_key(path) == short_rate);
            if (!exact && !is_within(path, wanted[w])) {
                continue;
            }
            const bool shared =
                std::find(kShared.begin(), kShared.end(), last_key(path)) != kShared.end();
            const bool has_value = all[i].value() > 0;
            with_value += has_value ? 1 : 0;
            if (exact || (has_value && !shared)) {
                named.push_back(i);
            }
        }
        if (named.empty()) {
            complain_of(wanted[w], place, all, diagnostics);
        } else if (with_value == 0) {
            diagnostics
                .error("E0601", place, fmt::format("'{}' is 0: nowhere to start from", wanted[w]))
                .hint = "give it a value in a file of your own, with base:";
        } else if (!short_rate.empty() && named.size() > 1 &&
                   short_rate.find('.') == std::string_view::npos &&
                   last_key(all[named[0]].path) == short_rate) {
            diagnostics
                .error("E0601",
                       place,
                       fmt::format("'{}' is kept for several architectures", wanted[w]))
                .hint = fmt::format("say which: {} or {}", all[named[0]].path, all[named[1]].path);
        }
        chosen.insert(chosen.end(), named.begin(), named.end());
    }
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    return chosen;
}

std::string_view told_by(std::string_view path) {
    const auto found = std::find_if(
        kTellers.begin(), kTellers.end(), [&](const Teller& t) { return path.ends_with(t.ends); });
    return found == kTellers.end() ? std::string_view() : found->rows;
}

}  // namespace memwall
