#include "sim/calibration/calibrate.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "sim/calibration/overlay.h"
#include "sim/calibration/report.h"
#include "sim/core/quantity.h"
#include "sim/validation/nccl_tests_text.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"
#include "tools/commands/tables.h"

namespace memwall::cli {
namespace {

// One line that is written over, for a person who waits.
void show_progress(const std::string& part, int steps, double median_error) {
    print_error(
        fmt::format("\r{}: step {}, median error {:.3g} %   ", part, steps, 100 * median_error));
}

// "gemm.bf16,nccl" and repeated options alike.
std::vector<std::string> split(const std::vector<std::string>& lists) {
    std::vector<std::string> all;
    for (const std::string& list : lists) {
        for (std::size_t from = 0; from <= list.size();) {
            const std::size_t to = std::min(list.find(',', from), list.size());
            all.push_back(list.substr(from, to - from));
            from = to + 1;
        }
    }
    return all;
}

// Options that hold a number; the first that does not is refused.
class Numbers {
  public:
    explicit Numbers(Session& session) : session_(session) {}

    template <class T>
    T get(const std::string& flag, T otherwise, T least, T most, std::string_view wanted) {
        const Arguments& arguments = session_.arguments();
        if (!arguments.has(flag)) {
            return otherwise;
        }
        const auto value = memwall::parse<T>(arguments.value(flag));
        if (!value || *value < least || *value > most) {
            refused_ = true;
            session_.refuse(fmt::format("{} {}: not {}", flag, arguments.value(flag), wanted));
            return otherwise;
        }
        return *value;
    }
    [[nodiscard]] bool refused() const { return refused_; }

  private:
    Session& session_;
    bool refused_ = false;
};

// A base that is a path is written relative to the file that names it.
OverlayRequest overlay_for(const std::string& reference, const std::string& out) {
    namespace fs = std::filesystem;
    const bool is_path = reference.find('/') != std::string::npos || reference.ends_with(".yaml") ||
                         reference.ends_with(".yml");
    OverlayRequest request{out == "-" ? "calibrated" : fs::path(out).stem().string(), reference};
    if (is_path) {
        const fs::path folder = out == "-" ? fs::current_path() : fs::absolute(out).parent_path();
        const std::string relative = fs::absolute(reference).lexically_relative(folder).string();
        request.base = relative.find('/') == std::string::npos ? "./" + relative : relative;
    }
    return request;
}

}  // namespace

int command_calibrate(Session& session) {
    const Arguments& arguments = session.arguments();
    if (arguments.has("--gpu") == arguments.has("--stack")) {
        return session.refuse(arguments.has("--gpu")
                                  ? "both --gpu and --stack: fit one at a time"
                                  : "say what to fit: --gpu NAME or --stack NAME");
    }
    if (arguments.has("--json") && arguments.value("--out") == "-") {
        return session.refuse("--json and --out - are two forms of one output");
    }
    CalibrateOptions options;
    options.kind = arguments.has("--gpu") ? DataKind::Gpu : DataKind::Stack;
    options.reference = arguments.value(arguments.has("--gpu") ? "--gpu" : "--stack");
    options.fit = split(arguments.values("--fit"));
    if (options.kind == DataKind::Stack && options.fit.empty()) {
        return session.refuse("--stack needs --fit", "such as --fit host.kernel_launch,rates.gemm");
    }
    Numbers numbers(session);
    NcclTestsHints hints;
    options.hold_out =
        numbers.get<double>("--hold-out", 0.2, 0, 0.9, "a share of the rows from 0 to 0.9");
    options.seed =
        numbers.get<std::uint64_t>("--seed", 1, 0, UINT64_MAX, "a whole number from 0 on");
    hints.gpus = numbers.get<int>("--gpus", 0, 2, 1'000'000, "a number of GPUs, 2 or more");
    hints.nodes = numbers.get<int>("--nodes", 0, 1, 1'000'000, "a number of nodes, 1 or more");
    hints.collective = arguments.value("--collective");
    if (!hints.collective.empty() &&
        std::find(kNcclTests.begin(), kNcclTests.end(), hints.collective) == kNcclTests.end()) {
        const std::vector<std::string_view> known(kNcclTests.begin(), kNcclTests.end());
        const std::string_view near = nearest(hints.collective, known);
        return session.refuse(
            fmt::format("--collective {}: not one of {}", hints.collective, fmt::join(known, ", ")),
            near.empty() ? "" : fmt::format("did you mean '{}'?", near));
    }
    options.threads = static_cast<unsigned>(
        numbers.get<int>("--threads", 0, 1, 4096, "a number of threads, 1 to 4096"));
    if (numbers.refused()) {
        return kWrongInput;
    }
    options.data_roots = session.roots();
    DiskFiles files;
    const auto tables = read_tables(session, files, &hints);
    if (!tables) {
        return kWrongInput;
    }
    const bool watched = isatty(STDERR_FILENO) != 0;
    if (watched) {
        options.progress = show_progress;
    }
    Diagnostics diagnostics;
    const auto calibration = calibrate(*tables, options, files, diagnostics);
    if (watched) {
        print_error("\r\x1b[K");
    }
    session.complain(diagnostics);
    if (!calibration) {
        return kWrongInput;
    }
    if (const std::string out = arguments.value("--out");
        !out.empty() && calibration->no_answer.empty()) {
        const std::string text = overlay_yaml(*calibration, overlay_for(options.reference, out));
        if (out == "-") {
            print(text);
            return kDone;
        }
        if (const std::string wrong = write_file(out, text); !wrong.empty()) {
            return session.refuse(wrong);
        }
    }
    if (arguments.has("--json")) {
        print(calibration_json(*calibration));
    } else if (calibration->no_answer.empty()) {
        print(calibration_text(*calibration));
    }
    if (!calibration->no_answer.empty()) {
        print_error(fmt::format("memwall: {}\n", calibration->no_answer));
        return kNo;
    }
    return kDone;
}

}  // namespace memwall::cli
