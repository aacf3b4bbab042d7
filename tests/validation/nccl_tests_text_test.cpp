// The output of nccl-tests as a table: versions of its columns, ranks, what is missing, what is broken.
#include "sim/validation/nccl_tests_text.h"

#include <doctest/doctest.h>

using namespace memwall;

namespace {

const std::string kRanks =
    "# nThread 1 nGpus 4 minBytes 8 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid   5113 on      node1 device  0 [0x07] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid   5113 on      node1 device  1 [0x0f] NVIDIA H100 80GB HBM3\n"
    "#  Rank  2 Group  0 Pid   5114 on      node2 device  0 [0x07] NVIDIA H100 80GB HBM3\n"
    "#  Rank  3 Group  0 Pid   5114 on      node2 device  1 [0x0f] NVIDIA H100 80GB HBM3\n"
    "#\n";
const std::string kHeader =
    "#                                                              out-of-place                   "
    "    in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    "  algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us) "
    " (GB/s)  (GB/s)\n";
const std::string kLines =
    "           0             0     float     sum      -1     0.13    0.00    0.00      0     0.13 "
    "   0.00    0.00      0\n"
    "     1048576        262144     float     sum      -1    40.00   26.21   39.32      0    41.00 "
    "  25.58   38.36      0\n"
    "node1: [12] NCCL INFO comm destroyed\n"
    "     2097152        524288     float     sum      -1    60.50   34.66   52.00      0    61.00 "
    "  34.38   51.57      0\n";
const std::string kTail = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 45.6\n";

std::optional<Table> read(const std::string& text,
                          Diagnostics& diagnostics,
                          const NcclTestsHints& hints = {},
                          const std::string& name = "out.txt") {
    return read_nccl_tests(name, text, hints, diagnostics);
}

std::string code_of(const std::string& text,
                    const NcclTestsHints& hints = {},
                    const std::string& name = "out.txt") {
    Diagnostics diagnostics;
    CHECK_FALSE(read(text, diagnostics, hints, name).has_value());
    REQUIRE(diagnostics.errors() >= 1);
    return diagnostics.sorted().front().code;
}

}  // namespace

TEST_CASE("a run on two nodes is read with its ranks, out of place, without empty messages") {
    Diagnostics diagnostics;
    const auto table = read(kRanks + kHeader + kLines + kTail, diagnostics);
    REQUIRE(table.has_value());
    CHECK(table->kind == RowKind::Collective);
    REQUIRE(table->rows.size() == 2);
    const Row row(*table, 0);
    CHECK(row.whole("n_gpus") == 4);
    CHECK(row.whole("n_nodes") == 2);
    // 39.32 / 26.21 = 1.5 = 2 (n-1) / n for n = 4.
    CHECK(row.text("collective") == "all_reduce");
    CHECK(row.number("message_bytes") == 1048576);
    CHECK(row.number("time_us") == 40);
    CHECK(row.text("dtype") == "float");
    CHECK(row.text("device") == "NVIDIA H100 80GB HBM3");
    CHECK(row.id() == "line 13");
    CHECK(Row(*table, 1).number("time_us") == 60.5);
}

TEST_CASE("columns are found by name in older output") {
    Diagnostics diagnostics;
    const auto table = read(
        "#       size         count    type   redop     time   algbw   busbw  error     time   "
        "algbw   busbw  error\n"
        "     1048576        262144   float     sum    40.00   26.21   45.87  1e-06    41.00   "
        "25.58   44.76  1e-06\n",
        diagnostics,
        {8, 0, ""});
    REQUIRE(table.has_value());
    CHECK(Row(*table, 0).text("collective") == "all_reduce");
    CHECK(Row(*table, 0).whole("n_nodes") == 1);
    CHECK(Row(*table, 0).number("time_us") == 40);
}

TEST_CASE(
    "the collective is that of the hint, the program, the file or the factor, in this order") {
    const auto collective =
        [](const std::string& text, const NcclTestsHints& hints, const std::string& name) {
            Diagnostics diagnostics;
            const auto table = read(text, diagnostics, hints, name);
            REQUIRE(table.has_value());
            return std::string(Row(*table, 0).text("collective"));
        };
    const std::string text = kRanks + kHeader + kLines;
    CHECK(collective(text, {0, 0, "broadcast"}, "all-gather.txt") == "broadcast");
    CHECK(collective("# Collective test starting: all_gather_perf\n" + text, {}, "x") ==
          "all_gather");
    CHECK(collective(text, {}, "logs/h100-reduce_scatter.log") == "reduce_scatter");
    CHECK(collective(text, {}, "h100-allgather.log") == "all_gather");
    CHECK(collective(text, {}, "x.log") == "all_reduce");
}

TEST_CASE("nccl-tests and CSV are told apart") {
    CHECK(is_nccl_tests(kRanks + kHeader + kLines));
    CHECK(is_nccl_tests(kHeader));
    CHECK_FALSE(
        is_nccl_tests("gpu,n_gpus,collective,message_bytes,time_us\nh100,2,all_reduce,8,9\n"));
    CHECK_FALSE(is_nccl_tests(""));
    CHECK_FALSE(is_nccl_tests("# size of things\n1 2 3\n"));
}

TEST_CASE("what the text leaves open or gets wrong is an error with its line") {
    const std::string good = kRanks + kHeader + kLines;
    CHECK(code_of(kRanks) == "E0603");
    CHECK(code_of(kRanks + kHeader) == "E0702");
    CHECK(code_of(kHeader + kLines) == "E0604");
    CHECK(code_of(good, {7, 2, ""}) == "E0604");
    // busbw = algbw x 3/4 without a reduction: all-gather or all-to-all.
    CHECK(code_of(kRanks + kHeader +
                  "  1048576  262144  float  none  -1  40.00  26.21  19.66  0  41.00  25.58  19.2  "
                  "0\n") == "E0604");
    CHECK(code_of(good + "  4194304  1048576  float  sum  -1  -5.0  1  1  0  5.0  1  1  0\n") ==
          "E0602");
    CHECK(code_of(good + "  4194304  1048576  float  sum  -1  0.00  1  1  0  5.0  1  1  0\n") ==
          "E0602");
    CHECK(code_of(good + "  4194304  1048576  float\n") == "E0603");
    Diagnostics diagnostics;
    CHECK_FALSE(read(good + "  4194304  1048576  float  sum  -1  abc  1  1  0\n", diagnostics));
    CHECK(diagnostics.sorted().front().place == Place{"out.txt", 16, 1});
}
