#include "tools/commands/tables.h"

#include <algorithm>

#include <fmt/format.h>

#include "tools/cli/terminal.h"

namespace memwall::cli {
namespace {

// One table of another kind among many is listed with the rows that are not scored; alone it is a mistake.
void check_kinds(const std::vector<Table>& tables, Diagnostics& diagnostics) {
    const auto known = [](const Table& t) { return t.kind != RowKind::Unknown; };
    if (std::any_of(tables.begin(), tables.end(), known)) {
        return;
    }
    for (const Table& table : tables) {
        diagnostics
            .error("E0705",
                   Place{table.name, 1, 1},
                   "these columns are of no kind of measurement known")
            .hint =
            "training rows have step_time_s or tokens_per_s_per_gpu, GEMM rows M, N, K, attention "
            "rows batch and seq_len, collectives message_bytes and time_us";
    }
}

}  // namespace

std::optional<std::vector<Table>> read_tables(Session& session,
                                              Files& files,
                                              const NcclTestsHints* hints) {
    std::vector<Table> tables;
    Diagnostics diagnostics;
    for (const std::string& path : session.arguments().positionals) {
        constexpr std::size_t kBytesMax = std::size_t{1} << 28;
        const FileContent content = path == "-" ? FileContent{FileStatus::Ok, read_standard_input()}
                                                : files.read(path, kBytesMax);
        if (content.status != FileStatus::Ok) {
            diagnostics.error("E0101", Place{path, 0, 0}, fmt::format("cannot read '{}'", path))
                .hint = hints == nullptr
                            ? "name CSV files of measurements"
                            : "name CSV files of measurements, or the output of nccl-tests";
            continue;
        }
        auto table = hints != nullptr && is_nccl_tests(content.text)
                         ? read_nccl_tests(path, content.text, *hints, diagnostics)
                         : read_table(path, content.text, diagnostics);
        if (table) {
            tables.push_back(std::move(*table));
        }
    }
    check_kinds(tables, diagnostics);
    session.complain(diagnostics);
    return diagnostics.has_errors() ? std::nullopt : std::optional(std::move(tables));
}

}  // namespace memwall::cli
