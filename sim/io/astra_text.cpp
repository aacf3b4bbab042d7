#include "sim/io/astra_text.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "sim/core/check.h"
#include "sim/core/quantity.h"

namespace memwall {
namespace {

constexpr std::int64_t kLayersMax = 50'000;  // each needs an event slot of 16 bits
constexpr std::int64_t kBytesMax = std::int64_t{1} << 50;
constexpr double kSecondsMax =
    3600;  // longer ones are wrong units, and 1,000 steps must stay below 2^63 ps
constexpr std::size_t kFields = 12;
constexpr std::string_view kSpace = " \t\r\v\f";

struct Word {
    std::string_view text;
    Place place;
};

struct Line {
    Place place;
    std::vector<Word> words;
};

std::vector<Line> split_lines(const std::string& label, std::string_view text) {
    std::vector<Line> lines;
    int number = 0;
    while (!text.empty()) {
        ++number;
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view row = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        Line line{{label, number, 1}, {}};
        std::size_t at = row.find_first_not_of(kSpace);
        while (at != std::string_view::npos) {
            const std::size_t stop = std::min(row.find_first_of(kSpace, at), row.size());
            line.words.push_back(
                {row.substr(at, stop - at), {label, number, static_cast<int>(at) + 1}});
            at = row.find_first_not_of(kSpace, stop);
        }
        if (!line.words.empty()) {
            lines.push_back(std::move(line));
        }
    }
    return lines;
}

struct KeywordName {
    std::string_view word;
    AstraKeyword keyword;
};
constexpr std::array<KeywordName, 7> kKeywords = {{
    {"MICRO", AstraKeyword::Micro},
    {"DATA", AstraKeyword::Data},
    {"MODEL", AstraKeyword::Model},
    {"HYBRID_DATA_MODEL", AstraKeyword::HybridDataModel},
    {"HYBRID_MODEL_DATA", AstraKeyword::HybridModelData},
    {"HYBRID_TRANSFORMER", AstraKeyword::HybridTransformer},
    {"HYBRID_TRANSFORMER_FWD_IN_BCKWD", AstraKeyword::HybridTransformerForwardInBackward},
}};
constexpr std::array<std::string_view, 3> kNotRead = {
    "HYBRID_DLRM", "HYBRID_DLRM_ENHANCED", "HYBRID_CUSTOMIZED"};

struct CollectiveName {
    std::string_view word;
    CollectiveKind kind;
};
constexpr std::array<CollectiveName, 4> kCollectives = {{
    {"ALLREDUCE", CollectiveKind::AllReduce},
    {"ALLGATHER", CollectiveKind::AllGather},
    {"REDUCESCATTER", CollectiveKind::ReduceScatter},
    {"ALLTOALL", CollectiveKind::AllToAll},
}};

enum class PassKind : std::uint8_t { Forward, InputGradient, WeightGradient };

GroupRole role_of(AstraKeyword keyword, PassKind pass) {
    if (keyword == AstraKeyword::Micro) {
        return GroupRole::World;
    }
    return pass == PassKind::WeightGradient ? GroupRole::Dp : GroupRole::Tp;
}

class Reader {
  public:
    Reader(Duration unit, Diagnostics& diagnostics) : unit_(unit), diagnostics_(diagnostics) {}

    std::optional<AstraWorkload> read(const std::string& label, std::string_view text) {
        const std::vector<Line> lines = split_lines(label, text);
        if (lines.size() < 2) {
            error({label, 0, 0},
                  "a workload has a line of its parallelism and a line of its number of layers");
            return std::nullopt;
        }
        header(lines[0]);
        const std::int64_t layers = layer_count(lines[1]);
        const auto rows = static_cast<std::int64_t>(lines.size()) - 2;
        if (layers > 0 && rows != layers) {
            error(lines[1].place,
                  fmt::format("{} layers are announced, {} lines follow", layers, rows));
        }
        for (std::size_t i = 2; i < lines.size(); ++i) {
            layer(lines[i]);
        }
        if (diagnostics_.errors() != errors_before_) {
            return std::nullopt;
        }
        check_times(lines[0].place);
        if (diagnostics_.errors() != errors_before_) {
            return std::nullopt;
        }
        assume();
        return std::move(workload_);
    }

  private:
    void error(const Place& place, std::string text, std::string hint = "") {
        diagnostics_.error("E0540", place, std::move(text)).hint = std::move(hint);
    }
    void warn(const Place& place, std::string text) {
        diagnostics_.warning("W0540", place, std::move(text));
    }

    void header(const Line& line) {
        const Word& word = line.words.front();
        const auto* const found =
            std::find_if(kKeywords.begin(), kKeywords.end(), [&](const KeywordName& k) {
                return k.word == word.text;
            });
        if (found != kKeywords.end()) {
            workload_.header.keyword = found->keyword;
        } else if (std::find(kNotRead.begin(), kNotRead.end(), word.text) != kNotRead.end()) {
            error(word.place, fmt::format("{} workloads are not read", word.text), choices());
            return;
        } else {
            error(
                word.place, fmt::format("'{}' is not a parallelism keyword", word.text), choices());
            return;
        }
        // Values follow their key, which may end in a colon or not.
        for (std::size_t i = 1; i < line.words.size(); i += 2) {
            std::string_view key = line.words[i].text;
            if (key.ends_with(':')) {
                key.remove_suffix(1);
            }
            if (i + 1 == line.words.size()) {
                error(line.words[i].place, fmt::format("'{}' has no value", key));
                return;
            }
            argument(key, line.words[i], line.words[i + 1]);
        }
    }

    static std::string choices() {
        std::string list = "keywords: ";
        for (const KeywordName& k : kKeywords) {
            list += fmt::format("{}{}", k.word == kKeywords.front().word ? "" : ", ", k.word);
        }
        return list;
    }

    void argument(std::string_view key, const Word& key_word, const Word& value_word) {
        AstraHeader& h = workload_.header;
        const std::array<std::pair<std::string_view, std::int64_t*>, 7> known = {{
            {"model_parallel_NPU_group", &h.model_parallel},
            {"ep", &h.ep},
            {"pp", &h.pp},
            {"vpp", &h.vpp},
            {"ga", &h.gradient_accumulation},
            {"all_gpus", &h.gpus},
            {"pp_comm", &h.pipeline_bytes.value},
        }};
        const std::int64_t value = number(value_word, fmt::format("'{}'", key));
        const auto* const found =
            std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == key; });
        if (found != known.end()) {
            // 0 stands for "not given" where a key is left out.
            if (value == 0 && key != "pp_comm" &&
                value_word.text.find_first_not_of('0') == std::string_view::npos) {
                error(value_word.place, fmt::format("{} is 0; 1 or more is wanted", key));
            }
            *found->second = value;
        } else if (key == "checkpoints" || key == "checkpoint_initiates") {
            if (value > 0) {
                error(value_word.place, "recomputation checkpoints are not read");
            }
        } else {
            warn(key_word.place, fmt::format("'{}' is not known and has no effect", key));
        }
    }

    std::int64_t layer_count(const Line& line) {
        const std::int64_t count = number(line.words.front(), "the number of layers");
        if (line.words.size() > 1) {
            error(line.words[1].place, "the second line holds the number of layers only");
        }
        if (count == 0 || count > kLayersMax) {
            error(line.place, fmt::format("{} layers; 1 to {} are wanted", count, kLayersMax));
            return 0;
        }
        return count;
    }

    // A whole number of 0 or more; 0 after an error.
    std::int64_t number(const Word& word, const std::string& what) {
        const Parsed<std::int64_t> value = parse<std::int64_t>(word.text);
        if (!value || *value < 0) {
            error(
                word.place,
                fmt::format("{} is '{}'; a whole number of 0 or more is wanted", what, word.text));
            return 0;
        }
        return *value;
    }

    Duration time(const Word& word, const std::string& what) {
        const std::int64_t ticks = number(word, what);
        if (ticks > std::numeric_limits<std::int64_t>::max() / unit_.count()) {
            error(word.place,
                  fmt::format("{} is {}, which is too long in this time unit", what, ticks));
            return Duration{};
        }
        return Duration(ticks * unit_.count());
    }

    std::optional<CollectiveCall> collective(const Word& word, const Word& size, PassKind pass) {
        const std::int64_t bytes = number(size, "a collective's size");
        if (bytes > kBytesMax) {
            error(size.place, fmt::format("a collective of {} bytes is larger than 1 PiB", bytes));
        }
        if (word.text == "NONE") {
            if (bytes > 0) {
                warn(size.place, fmt::format("{} bytes of NONE have no effect", bytes));
            }
            return std::nullopt;
        }
        CollectiveCall call{
            CollectiveKind::AllReduce, role_of(workload_.header.keyword, pass), Bytes(bytes)};
        std::string_view name = word.text;
        if (name.ends_with("_DP_EP")) {
            call.role = GroupRole::Replicate;
            name.remove_suffix(6);
        } else if (name.ends_with("_EP")) {
            call.role = GroupRole::Ep;
            name.remove_suffix(3);
        }
        const auto* const found =
            std::find_if(kCollectives.begin(), kCollectives.end(), [&](const CollectiveName& c) {
                return c.word == name;
            });
        if (found == kCollectives.end()) {
            error(word.place,
                  fmt::format("'{}' is not a collective", word.text),
                  "NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL, with suffix _EP or _DP_EP");
            return std::nullopt;
        }
        call.kind = found->kind;
        return bytes > 0 ? std::optional(call) : std::nullopt;
    }

    AstraPass pass(const Line& line, std::size_t at, PassKind kind, const char* what) {
        return {time(line.words[at], what),
                collective(line.words[at + 1], line.words[at + 2], kind)};
    }

    void layer(const Line& line) {
        // Some writers end the line with one more word.
        if (line.words.size() != kFields && line.words.size() != kFields + 1) {
            error(line.place,
                  fmt::format("{} fields; a layer has {}", line.words.size(), kFields),
                  "name dependency, then time collective bytes for forward, input gradient, weight "
                  "gradient, then update time");
            return;
        }
        const std::string_view dependency = line.words[1].text;
        if (!parse<std::int64_t>(dependency)) {
            error(line.words[1].place,
                  fmt::format("the dependency is '{}'; a whole number is wanted", dependency));
        }
        AstraLayer l;
        l.name = line.words[0].text;
        l.forward = pass(line, 2, PassKind::Forward, "the forward time");
        l.input_gradient = pass(line, 5, PassKind::InputGradient, "the input-gradient time");
        l.weight_gradient = pass(line, 8, PassKind::WeightGradient, "the weight-gradient time");
        l.update = time(line.words[11], "the update time");
        unused(line, l);
        workload_.layers.push_back(std::move(l));
    }

    // Fields that the keyword does not use, as in ASTRA-sim.
    void unused(const Line& line, AstraLayer& l) {
        const AstraKeyword keyword = workload_.header.keyword;
        if (keyword == AstraKeyword::Data &&
            (l.forward.collective || l.input_gradient.collective)) {
            warn(line.place, "DATA uses the weight-gradient collective only");
            l.forward.collective.reset();
            l.input_gradient.collective.reset();
        }
        if (keyword == AstraKeyword::Model && l.weight_gradient.collective) {
            warn(line.place, "MODEL does not use the weight-gradient collective");
            l.weight_gradient.collective.reset();
        }
    }

    void check_times(const Place& place) {
        double total_s = 0;
        for (const AstraLayer& l : workload_.layers) {
            for (const Duration d : {l.forward.compute,
                                     l.input_gradient.compute,
                                     l.weight_gradient.compute,
                                     l.update}) {
                total_s += to_seconds(d);
            }
        }
        if (total_s > kSecondsMax) {
            diagnostics_
                .error("E0541",
                       place,
                       fmt::format("the times of the file add up to {:.0f} s, if one unit is {}",
                                   total_s,
                                   to_text(unit_)))
                .hint = "a step of more than an hour: is the unit of time right?";
            return;
        }
        const bool idle =
            std::all_of(workload_.layers.begin(), workload_.layers.end(), [](const AstraLayer& l) {
                return l.forward.compute.count() == 0 && l.input_gradient.compute.count() == 0 &&
                       l.weight_gradient.compute.count() == 0;
            });
        if (idle && workload_.header.keyword != AstraKeyword::Micro) {
            warn(place, "all compute times are 0");
        }
    }

    void assume() {
        std::vector<std::string>& list = workload_.assumptions;
        list.push_back(fmt::format("one unit of time in the file is {}", to_text(unit_)));
        list.emplace_back("sizes of ALLGATHER and REDUCESCATTER are those of the whole tensor");
        const AstraHeader& h = workload_.header;
        if (h.pp > 1) {
            list.push_back(fmt::format(
                "pp is {}: the file describes one stage, which every stage runs; transfers between "
                "stages are not in it",
                h.pp));
        }
        if (h.gradient_accumulation > 1) {
            list.push_back(fmt::format("ga is {}: the layers of the file are one pass of each",
                                       h.gradient_accumulation));
        }
        if (h.keyword == AstraKeyword::HybridDataModel) {
            list.emplace_back(
                "model-parallel groups are innermost, whatever the order in the keyword");
        }
    }

    Duration unit_;
    Diagnostics& diagnostics_;
    std::size_t errors_before_ = diagnostics_.errors();
    AstraWorkload workload_;
};

}  // namespace

std::optional<AstraWorkload> read_astra_text(const std::string& label,
                                             std::string_view text,
                                             Duration time_unit,
                                             Diagnostics& diagnostics) {
    MW_CHECK(time_unit.count() > 0, "a unit of time is positive");
    return Reader(time_unit, diagnostics).read(label, text);
}

std::string_view name_of(AstraKeyword keyword) {
    const auto* const found =
        std::find_if(kKeywords.begin(), kKeywords.end(), [&](const KeywordName& k) {
            return k.keyword == keyword;
        });
    return found == kKeywords.end() ? std::string_view() : found->word;
}

}  // namespace memwall
