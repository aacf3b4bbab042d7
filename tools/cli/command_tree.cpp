#include "tools/cli/command_tree.h"

#include <algorithm>

namespace memwall::cli {
namespace {

const OptionSpec kSet = {
    "--set", "PATH=VALUE", "override one field of the scenario, such as parallel.tp=4", true};
const OptionSpec kJson = {"--json", "", "print one JSON document, units in the names", false};
const PositionalSpec kScenario = {
    "SCENARIO",
    "scenario file, a name of `memwall list scenarios`, or - for standard input",
    true,
    false};

CommandSpec run_command() {
    return {"run",
            "simulate two training steps and report the second, steady one",
            "Prints step time, throughput, MFU and HFU, the split of the step, peak memory per "
            "stage against capacity, "
            "what limits the step, the assumptions with their sources, and the checks that the run "
            "made on itself. "
            "Exit status 1: it does not fit, or a check asked for in the scenario does not hold.",
            {kScenario},
            {kSet,
             kJson,
             {"--trace-out",
              "FILE",
              "write a Chrome trace (.json or .json.gz) that opens in ui.perfetto.dev",
              false},
             {"--trace-ranks",
              "LIST",
              "ranks in the trace, such as 0,8..15 (default: the first of each stage)",
              false},
             {"--no-fold",
              "",
              "simulate every rank instead of one of each class of identical ranks",
              false},
             {"--no-coalesce", "", "every op an event of its own (the slow reference)", false},
             {"--all-stages", "", "print the memory of every stage, however many", false},
             {"--quiet", "", "print the main figures only", false}},
            {{"memwall run scenarios/gpt3-175b-1024xa100.yaml", "GPT-3 175B on 1,024 A100"},
             {"memwall run scenarios/gpt3-175b-1024xa100.yaml --set parallel.vpp=3 --json",
              "one field changed, for a script"},
             {"memwall run my.yaml --trace-out step.json.gz", "a timeline for Perfetto"}}};
}

CommandSpec resolve_command() {
    return {
        "resolve",
        "print the plan: every field filled in, with the origin of each value",
        "The output is a scenario file itself: saved and run, it gives the same bytes.",
        {kScenario},
        {kSet, {"--no-origins", "", "leave out the comments that name each value's origin", false}},
        {{"memwall resolve scenarios/gpt3-175b-1024xa100.yaml",
          "all defaults and where they come from"},
         {"memwall resolve my.yaml > plan.yaml && memwall run plan.yaml",
          "freeze a plan and rerun it"}}};
}

CommandSpec trace_command() {
    return {"trace",
            "print the workload trace: ops, FLOPs, bytes, shapes, parameters, saved activations "
            "per layer",
            "What one micro-batch does to each kind of layer before any sharding.",
            {kScenario},
            {kSet,
             {"--format",
              "FORMAT",
              "table, yaml or json (default table); yaml and json are workload files",
              false},
             kJson},
            {{"memwall trace scenarios/gpt3-175b-1024xa100.yaml", "as a table"},
             {"memwall trace my.yaml --format yaml > trace.yaml", "as a workload file to edit"}}};
}

CommandSpec program_command() {
    return {"program",
            "print what one rank runs, op by op, in the order in which its host issues it",
            "",
            {kScenario},
            {kSet,
             {"--rank", "RANK", "which rank (default 0)", false},
             {"--limit", "N", "lines at the most (default 200; 0 = all)", false},
             kJson},
            {{"memwall program scenarios/gpt3-175b-1024xa100.yaml --rank 0",
              "rank 0 of the first stage"}}};
}

CommandSpec topo_command() {
    return {
        "topo",
        "print a machine: tiers, bandwidths, bisection, the route between two ranks, DOT",
        "",
        {{"CLUSTER", "name or file of a cluster, or a scenario file", true, false}},
        {{"--set",
          "PATH=VALUE",
          "override one field of the cluster, such as node.nic_rate=200Gbps, or of the scenario",
          true},
         {"--nodes", "N", "number of nodes (default: the scenario's, else 2)", false},
         {"--route", "A,B", "every link on the way from rank A to rank B", false},
         {"--links", "", "every link by the name that machine.events uses", false},
         {"--dot", "", "print the graph for Graphviz", false},
         kJson},
        {{"memwall topo selene-a100 --nodes 16", "tiers of 16 nodes"},
         {"memwall topo h100-8x400g --nodes 4 --route 0,9", "how rank 0 reaches rank 9"}}};
}

CommandSpec list_command() {
    return {"list",
            "list what can be named: gpus, nodes, fabrics, clusters, stacks, models, scenarios",
            "",
            {{"KIND",
              "gpus | nodes | fabrics | clusters | stacks | models | scenarios (default: all)",
              false,
              false}},
            {kJson},
            {{"memwall list gpus", "cards with memory, bandwidth and peak rate"}}};
}

CommandSpec check_command() {
    return {"check",
            "read scenario files and report every error at once, without running them",
            "Exit status 2 when a file has an error.",
            {{"SCENARIO", "scenario files", true, true}},
            {kSet, kJson},
            {{"memwall check scenarios/*.yaml", "all of them"}}};
}

CommandSpec validate_command() {
    return {
        "validate",
        "predict every row of tables of published measurements and print the errors",
        "Each row becomes a scenario, is run, and is compared with what was measured: step time, "
        "and memory where "
        "the table states a peak. Errors are printed by table, GPU, framework and scale; rows that "
        "cannot be "
        "predicted are listed with the reason. Exit status 1: the mean error is above --max-mape.",
        {{"TABLE", "CSV files of measurements, columns by name", true, true}},
        {{"--rows", "", "one line per row: measured, predicted, error", false},
         {"--show", "ID", "print the scenario that this row stands for", false},
         kJson,
         {"--csv", "", "one line per row for a spreadsheet", false},
         {"--max-mape",
          "PERCENT",
          "exit status 1 when the mean error of times is above this",
          false}},
        {{"memwall validate megatron.csv", "the errors of one table"},
         {"memwall validate megatron.csv --show row-17 > row.yaml",
          "a row as a scenario to run and vary"}}};
}

CommandSpec calibrate_command() {
    return {
        "calibrate",
        "fit constants of a GPU or a stack to tables of measurements",
        "A GPU is fitted to matrix products (CSV with M,N,K,dtype,time_us), fused attention and "
        "collectives inside a node (CSV, or what nccl-tests prints); a stack to whole training "
        "steps. "
        "Rows that name no GPU are of the one that is fitted. Prints each constant before and "
        "after "
        "with its 95 % interval, and the errors of the rows fitted and of those held out; what the "
        "rows "
        "do not tell keeps its value, with the reason. "
        "Exit status 1: no row says anything about these constants.",
        {{"TABLE", "CSV files of measurements, or outputs of nccl-tests", true, true}},
        {{"--gpu", "GPU", "name or file of the GPU to fit", false},
         {"--stack", "STACK", "name or file of the stack to fit", false},
         {"--fit",
          "LIST",
          "constants, or heads of several, such as gemm.bf16,nccl (default: all that rows tell)",
          true},
         {"--hold-out", "SHARE", "share of the rows that is only predicted (default 0.2)", false},
         {"--seed", "N", "which rows are held out (default 1)", false},
         {"--out", "FILE", "write the constants as a file with base: (- prints it)", false},
         {"--gpus", "N", "GPUs of an nccl-tests output that does not list its ranks", false},
         {"--nodes", "N", "nodes of such an output (default 1)", false},
         {"--collective",
          "NAME",
          "collective of an nccl-tests output that does not name it",
          false},
         {"--threads",
          "N",
          "threads (default: as many as the machine has); the answer is the same",
          false},
         kJson},
        {{"memwall calibrate gemm.csv all_reduce.txt --gpu h100-80g-sxm --out my-h100.yaml",
          "one's own machine"},
         {"memwall run my.yaml --set machine.cluster.node.gpu=./my-h100.yaml", "and a run on it"},
         {"memwall calibrate steps.csv --stack megatron-lm-2025 --fit "
          "host.kernel_launch,rates.gemm",
          "a stack, from whole steps"}}};
}

CommandSpec explain_command() {
    return {"explain",
            "explain a figure, a label of the report, or an error code; with a scenario, with its "
            "numbers",
            "",
            {{"NAME", "mfu, step_time_s, bubble, E0312, kernel, collective, ...", true, false},
             {"SCENARIO", "scenario file", false, false}},
            {kSet, kJson},
            {{"memwall explain mfu scenarios/gpt3-175b-1024xa100.yaml", "formula and inputs"},
             {"memwall explain E0312", "what an error means"}}};
}

CommandSpec help_command() {
    return {"help",
            "print help on the program or on one command",
            "",
            {{"COMMAND", "which command (default: an overview)", false, false}},
            {},
            {{"memwall help run", "the same as memwall run --help"}}};
}

}  // namespace

const std::vector<OptionSpec>& global_options() {
    static const std::vector<OptionSpec> options = {
        {"--data", "DIR", "also look up names in DIR/topologies and DIR/workloads", true},
        {"--color", "WHEN", "auto, always or never (default auto; NO_COLOR is honoured)", false},
        {"--help", "", "print help and stop", false},
        {"--version", "", "print the version and stop", false},
    };
    return options;
}

const std::vector<CommandSpec>& commands() {
    static const std::vector<CommandSpec> all = {run_command(),
                                                 resolve_command(),
                                                 trace_command(),
                                                 program_command(),
                                                 topo_command(),
                                                 list_command(),
                                                 check_command(),
                                                 explain_command(),
                                                 validate_command(),
                                                 calibrate_command(),
                                                 help_command()};
    return all;
}

const CommandSpec* find_command(std::string_view name) {
    const auto found = std::find_if(
        commands().begin(), commands().end(), [&](const CommandSpec& c) { return c.name == name; });
    return found == commands().end() ? nullptr : &*found;
}

}  // namespace memwall::cli
