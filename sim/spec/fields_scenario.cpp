#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/decimal.h"
#include "sim/core/diagnostics.h"
#include "sim/core/quantity.h"
#include "sim/spec/fields_machine.h"
#include "sim/spec/fields_work.h"
#include "sim/spec/figure.h"

namespace memwall {
namespace {

bool read_whole(std::string_view text, int& value) {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failed == std::errc() && end == text.data() + text.size() && value >= 0 &&
           value <= 1'000'000'000;
}

// `64..71`, or `0` for a range of one.
struct RangeForm : TextForm {
    RangeForm(int& from, int& to) : first(from), last(to) {}
    Problem read(const std::string& text) override {
        const std::size_t dots = text.find("..");
        const std::string_view view = text;
        const bool good = dots == std::string::npos
                              ? read_whole(view, first) && read_whole(view, last)
                              : read_whole(view.substr(0, dots), first) &&
                                    read_whole(view.substr(dots + 2), last);
        if (!good) {
            return {fmt::format("'{}' is not a range", text), ""};
        }
        return first <= last ? Problem{}
                             : Problem{fmt::format("the range {} ends before it begins", text), ""};
    }
    [[nodiscard]] std::string write() const override {
        return first == last ? fmt::format("{}", first) : fmt::format("{}..{}", first, last);
    }
    [[nodiscard]] std::string wanted() const override {
        return "a range such as 64..71, both ends included";
    }
    int& first;
    int& last;
};

// One line that is not empty: it heads reports and names files.
struct NameForm : TextForm {
    explicit NameForm(std::string& target) : name(target) {}
    Problem read(const std::string& text) override {
        if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
            return {"a name is not empty", "leave the key out, or give a word", "E0206"};
        }
        if (text.find_first_of("\r\n") != std::string::npos) {
            return {"a name has one line", "longer text goes to about", "E0206"};
        }
        name = text;
        return {};
    }
    [[nodiscard]] std::string write() const override { return name; }
    [[nodiscard]] std::string wanted() const override { return "a word or a line of text"; }
    std::string& name;
};

// Only the word `none`, or a map.
struct NoneForm : TextForm {
    Problem read(const std::string& text) override {
        return text == "none" ? Problem{}
                              : Problem{fmt::format("'{}' is neither none nor a map", text), ""};
    }
    [[nodiscard]] std::string write() const override { return "none"; }
    [[nodiscard]] std::string wanted() const override {
        return "none, or {file: step.json.gz, ranks: [0, 64..71]}";
    }
};

// A unit of time as its word, `us`, or a duration, `10ns`.
struct TimeUnitForm : TextForm {
    explicit TimeUnitForm(Duration& target) : unit(target) {}
    Problem read(const std::string& text) override {
        const bool word = !text.empty() && (text.front() < '0' || text.front() > '9');
        const Parsed<Duration> parsed = parse<Duration>(word ? "1" + text : text);
        if (!parsed || parsed->count() <= 0) {
            return {fmt::format("'{}' is not a time unit", text), wanted()};
        }
        unit = *parsed;
        return {};
    }
    [[nodiscard]] std::string write() const override {
        std::string text = to_text(unit);
        const bool one = text.size() > 1 && text[0] == '1' && text[1] >= 'a' && text[1] <= 'z';
        return one ? text.substr(1) : text;
    }
    [[nodiscard]] std::string wanted() const override {
        return "ns, us, ms, s, or a duration such as 10ns";
    }
    Duration& unit;
};

struct CheckForm : TextForm {
    explicit CheckForm(CheckExpression& target) : check(target) {}
    Problem read(const std::string& text) override { return read_check(text, check); }
    [[nodiscard]] std::string write() const override { return check.text; }
    [[nodiscard]] std::string wanted() const override {
        return "`fits`, or a figure compared with a value: `step_time < 30s`";
    }
    CheckExpression& check;
};

struct FigureName : TextForm {
    explicit FigureName(std::string& target) : name(target) {}
    Problem read(const std::string& text) override {
        const Figure* figure = find_figure(text);
        if (figure == nullptr) {
            return unknown_figure(text);
        }
        name = figure->json;
        return {};
    }
    [[nodiscard]] std::string write() const override { return name; }
    [[nodiscard]] std::string wanted() const override {
        return "a figure of the report, such as step_time_s";
    }
    std::string& name;
};

struct FigureValue : TextForm {
    FigureValue(const std::string& figure_name, double& target)
        : figure(find_figure(figure_name)), value(target) {}
    Problem read(const std::string& text) override {
        if (figure == nullptr) {
            return {};
        }
        Problem problem = read_figure_value(*figure, text, value);
        // Beyond any machine: 2 x 10^10 s are 600 years, 10^24 B or FLOP/s no cluster.
        constexpr double kMost = 1e24;
        const bool share = figure->json == "mfu" || figure->json == "hfu" ||
                           figure->json == "mfu_bf16" || figure->json == "hfu_executed" ||
                           figure->json == "bubble_fraction";
        const bool may_be_0 = share || figure->json == "exposed_communication_s" ||
                              figure->json == "memory_margin_bytes" || figure->json == "fits";
        const bool may_be_less = figure->json == "memory_margin_bytes";
        const bool in_range = std::abs(value) <= (share ? 2 : kMost) &&
                              (value > 0 || (value == 0 && may_be_0) || may_be_less);
        if (problem.text.empty() && !in_range) {
            return {fmt::format("{} {} is out of range", figure->json, text),
                    share ? "a share of the peak or of the step: 0% to 200%"
                          : "a published figure is above 0",
                    "E0206"};
        }
        return problem;
    }
    [[nodiscard]] std::string write() const override {
        return figure == nullptr ? "" : write_figure_value(*figure, value);
    }
    [[nodiscard]] std::string wanted() const override {
        return "the figure's value with its unit, such as 31.5s or 140TFLOPS";
    }
    const Figure* figure;
    double& value;
};

// A straggler's slow-down, always in percent: a bare 10 could be 10 % or 10 times.
struct PercentForm : TextForm {
    explicit PercentForm(double& target) : share(target) {}
    Problem read(const std::string& text) override {
        constexpr double kMost = 1000;  // 100,000 %
        const Parsed<double> parsed = parse<double>(text);
        if (!parsed) {
            return {parsed.error().message, wanted()};
        }
        if (!text.ends_with('%')) {
            const double percent = *parsed < 1 ? 100 * *parsed : *parsed;
            return {fmt::format("{} has no unit", text),
                    fmt::format("say {0}% for kernels that take {1} times as long",
                                human_number(percent),
                                human_number(1 + percent / 100))};
        }
        if (!(*parsed >= 0 && *parsed <= kMost)) {
            return {fmt::format("{} is out of range", text), "it must be from 0% to 100000%"};
        }
        share = *parsed;
        return {};
    }
    // 100 x share rounds: where that does not read back as the same value, the exponent is moved instead.
    [[nodiscard]] std::string write() const override {
        std::string plain = fmt::format("{:.15g}%", 100 * share);
        if (parse<double>(plain) == share) {
            return plain;
        }
        const std::string text = to_text(share);
        const std::optional<Decimal> decimal = scan_decimal(text);
        return fmt::format("{}e{}%", decimal->digits, decimal->exponent + 2);
    }
    [[nodiscard]] std::string wanted() const override {
        return "a percentage: 10% for kernels that take 1.1 times as long";
    }
    double& share;
};

// Empty is `auto`: the library's choice.
struct AlgorithmName : TextForm {
    explicit AlgorithmName(std::string& target) : name(target) {}
    Problem read(const std::string& text) override {
        const std::span<const std::string_view> known = collective_algorithms();
        if (text == "auto" || std::find(known.begin(), known.end(), text) != known.end()) {
            name = text == "auto" ? "" : text;
            return {};
        }
        std::vector<std::string_view> words(known.begin(), known.end());
        words.push_back("auto");
        const std::string_view near = nearest(text, words);
        return {fmt::format("'{}' is not an algorithm of all-reduce", text),
                (near.empty() ? "" : fmt::format("did you mean '{}'? ", near)) + wanted(),
                "E0205"};
    }
    [[nodiscard]] std::string write() const override { return name.empty() ? "auto" : name; }
    [[nodiscard]] std::string wanted() const override {
        return fmt::format("choices: auto, {}", fmt::join(collective_algorithms(), ", "));
    }
    std::string& name;
};

// What breaks the symmetry of the machine: `straggler: {...}`, or `link: ..., capacity: ...`.
struct Event {
    bool is_link = false;
    Straggler straggler;
    LinkEvent link;
};

void describe(Fields& f, Event& v) {
    if (f.has("link", v.is_link)) {
        v.is_link = true;
        f.leaf("link", v.link.link, kRequired);
        f.leaf("capacity", v.link.capacity, kRequired | between(0.0001, 1));
    } else if (f.enter("straggler", true, kRequired, {})) {
        f.leaf("rank", v.straggler.rank, kRequired | kNonNegative);
        PercentForm slower(v.straggler.slower);
        f.leaf("slower", slower, kRequired);
        f.leave();
    }
}

void describe_events(Fields& f, Machine& machine) {
    std::vector<Event> events;
    for (const Straggler& straggler : machine.stragglers) {
        events.push_back({false, straggler, {}});
    }
    for (const LinkEvent& link : machine.link_events) {
        events.push_back({true, {}, link});
    }
    f.list("events", events);
    machine.stragglers.clear();
    machine.link_events.clear();
    for (Event& event : events) {
        if (event.is_link) {
            machine.link_events.push_back(std::move(event.link));
        } else {
            machine.stragglers.push_back(event.straggler);
        }
    }
}

void describe_machine(Fields& f, Machine& machine, int& nodes) {
    if (!f.enter("machine", true, kRequired, {})) {
        return;
    }
    f.map("cluster", machine.cluster, kRequired);
    f.leaf("nodes", nodes, kRequired | kPositive);
    if (f.enter("placement", true, {}, "nodes")) {
        f.list("order", machine.rank_order);
        f.leaf("nodes", machine.node_order);
        f.leave();
    }
    if (f.enter("network", true, {}, "fidelity")) {
        f.leaf("fidelity", machine.fidelity);
        f.leaf("routing", machine.routing);
        f.leaf("law", machine.law);
        AlgorithmName algorithm(machine.algorithm);
        f.leaf("algorithm", algorithm);
        f.leaf("interference", machine.interference);
        f.leave();
    }
    describe_events(f, machine);
    f.leave();
}

// True when the work is an executed trace.
bool describe_workload(Fields& f, Job& job) {
    if (!f.enter("workload", true, kRequired, {})) {
        return false;
    }
    if (f.shape("astra", job.is_executed() ? Shape::Scalar : Shape::Absent) != Shape::Absent) {
        f.leaf("astra", job.astra_file, kRequired);
        TimeUnitForm unit(job.astra_time_unit);
        f.leaf("time_unit", unit);  // required: load_executed(), which says why
        f.leave();
        return true;
    }
    const bool trace = f.has("trace", !job.trace_file.empty());
    if (trace) {
        f.leaf("trace", job.trace_file, kRequired);
        f.leaf("sequence", job.sequence, kNonNegative);
    } else {
        f.map("model", job.model, kRequired);
        f.leaf("sequence", job.sequence, kPositive);  // required: resolve(), which knows the model
    }
    f.leaf("attention_flops", job.attention_flops);
    f.leave();
    return false;
}

// The degrees that say who takes part in a collective; all else of a strategy is in what was executed.
void describe_executed_parallel(Fields& f, Parallel& v) {
    if (!f.enter("parallel", true, {}, {})) {
        return;
    }
    f.leaf("tp", OptionalLeaf{&v.tp, "auto"}, kPositive);
    f.leaf("pp", OptionalLeaf{&v.pp, "auto"}, kPositive);
    f.leaf("ep", v.ep, kPositive);
    f.leaf("dp", OptionalLeaf{&v.dp, "auto"}, kPositive);
    f.leave();
}

void describe_job(Fields& f, Job& job) {
    if (describe_workload(f, job)) {
        describe_executed_parallel(f, job.parallel);
        return;
    }
    f.map("batch", job.batch, kRequired);
    f.map("parallel", job.parallel);
    f.map("training", job.training);
    f.map("stack", job.stack, kRequired);
}

void describe_background(Fields& f, std::vector<Job>& jobs) {
    const std::optional<std::size_t> count = f.enter_list("background", jobs.size() - 1, {});
    if (!count) {
        return;
    }
    jobs.resize(*count + 1);
    for (std::size_t i = 0; i < *count; ++i) {
        Job& job = jobs[i + 1];
        if (!f.enter(Key(i), true, {}, {})) {
            continue;
        }
        if (f.enter("scenario", true, kRequired, {})) {
            f.leaf("name", job.name);
            describe_job(f, job);
            f.leave();
        }
        int last = job.first_node + std::max(job.nodes, 1) - 1;
        RangeForm range(job.first_node, last);
        f.leaf("nodes", range, kRequired);
        job.nodes = last - job.first_node + 1;
        f.leaf("start", job.start, kNonNegative);
        f.leave();
    }
    f.leave();
}

void describe_trace(Fields& f, RunOptions& run) {
    const Shape shape = f.shape("trace", run.trace ? Shape::Map : Shape::Scalar);
    if (shape != Shape::Map) {
        NoneForm none;
        f.leaf("trace", none);
        return;
    }
    if (!run.trace) {
        run.trace.emplace();
    }
    if (!f.enter("trace", true, {}, {})) {
        return;
    }
    f.leaf("file", run.trace->file, kRequired);
    std::vector<RankRange>& ranks = run.trace->ranks;
    if (const std::optional<std::size_t> count = f.enter_list("ranks", ranks.size(), {})) {
        ranks.resize(*count);
        for (std::size_t i = 0; i < *count; ++i) {
            RangeForm range(ranks[i].first, ranks[i].last);
            f.leaf(Key(i), range);
        }
        f.leave();
    }
    f.leave();
}

void describe_checks(Fields& f, std::vector<CheckExpression>& checks) {
    const std::optional<std::size_t> count = f.enter_list("checks", checks.size(), {});
    if (!count) {
        return;
    }
    checks.resize(*count);
    for (std::size_t i = 0; i < *count; ++i) {
        CheckForm check(checks[i]);
        f.leaf(Key(i), check);
    }
    f.leave();
}

}  // namespace

void describe(Fields& f, RunOptions& v) {
    f.leaf("steps", v.steps, kPositive);
    f.leaf("fold", v.fold);
    f.leaf("coalesce", v.coalesce);
    f.leaf("seed", v.seed);
    describe_trace(f, v);
}

void describe(Fields& f, Published& v) {
    FigureName name(v.figure);
    f.leaf("figure", name, kRequired);
    FigureValue value(v.figure, v.value);
    f.leaf("value", value, kRequired);
    f.leaf("source", v.source, kRequired);
    f.leaf("same_configuration", v.same_configuration);
}

void describe(Fields& f, Plan& v) {
    f.keep("schema");
    NameForm name(v.name);
    f.leaf("name", name);
    f.leaf("about", v.about);
    describe_machine(f, v.machine, v.jobs.front().nodes);
    describe_job(f, v.jobs.front());
    describe_background(f, v.jobs);
    f.map("run", v.run);
    f.list("published", v.published);
    describe_checks(f, v.checks);
}

}  // namespace memwall
