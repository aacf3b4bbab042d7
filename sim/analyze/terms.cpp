#include "sim/analyze/terms.h"

#include <algorithm>
#include <array>

namespace memwall {
namespace {

struct Term {
    std::string_view name;
    std::string_view meaning;
};

// In alphabetical order.
constexpr std::array kTerms = std::to_array<Term>({
    {"activations_bytes", "tensors that forward saves for backward"},
    {"allocated_bytes", "bytes in live tensors at the peak of this stage"},
    {"assumptions", "constants that the result rests on, each with its source"},
    {"attention_flops",
     "how much of the attention square counts as model FLOPs: all of it (full), or what the mask "
     "and the window leave (causal)"},
    {"breakdown",
     "the split of the step: every instant of every rank under the first label that applies; the "
     "lines sum to the step exactly"},
    {"bucket",
     "parallel.gradients.bucket: bytes of gradients that are reduced together behind backward, "
     "where the stack overlaps them; the stack brings its own (DistributedDataParallel 25 MiB), 0B "
     "is one after the last backward"},
    {"busiest_rank_ps", "of the rank with the most compute, in picoseconds"},
    {"capacity_bytes", "memory of the card by its datasheet"},
    {"check", "the condition, as written in the scenario or stated by memwall"},
    {"checks",
     "conditions that the scenario asks for: when one does not hold, the exit status is 1"},
    {"classes",
     "sets of ranks that are proven to behave identically: one of each is simulated (--no-fold: "
     "all)"},
    {"cluster", "nodes and network: a name of `memwall list clusters`, or a file"},
    {"code", "which kind of message: `memwall explain CODE`"},
    {"column", "where in the line, from 1"},
    {"communication_buffers_bytes", "tensors that pipeline messages are received into"},
    {"composition", "what the allocated bytes are made of at the instant of their peak"},
    {"configuration", "machine, model, batch and strategy of the job"},
    {"context_bytes",
     "memory outside the allocator: CUDA context, communicators, driver, library workspaces"},
    {"counted_over_executed",
     "hardware FLOPs over what kernels execute: above 1 where attention_flops counts what the mask "
     "hides"},
    {"cp", "context parallelism: ranks that share a sequence"},
    {"detail", "the numbers that a check compared"},
    {"device_bytes", "reserved + context: what the card holds"},
    {"dp", "data parallelism: ranks that hold the same weights and see other sequences"},
    {"ep", "expert parallelism: ranks that share the experts of a layer"},
    {"error", "predicted / published - 1"},
    {"events",
     "of the machine: stragglers and degraded links, for the whole run; of the simulation: "
     "retirements from its queue, where a segment of ops counts one"},
    {"executed",
     "in the report: hfu_executed, the share of the peak that kernels execute; in a configuration: "
     "the file of an executed workload"},
    {"fidelity",
     "machine.network.fidelity: fluid (links are shared), alpha_beta (closed forms), stepwise "
     "(every transfer a flow), ideal (no latency, no contention)"},
    {"figure", "the JSON name of what is compared"},
    {"file", "the file that a message is about"},
    {"first_node", "where on the machine the job begins, from 0"},
    {"fullest", "the stage with the least margin, and the instant of its peak"},
    {"gathered_shards_bytes", "parameters gathered from their shards for use"},
    {"global_batch", "sequences per step, over all ranks"},
    {"gpu", "the card: a name of `memwall list gpus`, or a file"},
    {"gpus", "cards of the job"},
    {"gradient_buckets_bytes", "gradients collected for their reduction"},
    {"gradients_bytes", "gradients of parameters"},
    {"holds", "whether it is so"},
    {"host_capacity_bytes", "memory of the host of one node"},
    {"host_needed_bytes", "host memory that the ranks of one node need"},
    {"jobs", "all that run on the machine; the first is measured, the others share its links"},
    {"label", "the reason that an instant is counted under: each can be explained by its name"},
    {"largest_class", "the class of tensors that holds most at the peak of the fullest stage"},
    {"largest_class_bytes", "what it holds"},
    {"law",
     "machine.network.law: times of collectives: nccl (measured laws, which contain the latency of "
     "links and switches) or steps (latency and bytes of every step)"},
    {"layers", "layers of the model or of the executed workload"},
    {"left", "share of its capacity that an event leaves a link"},
    {"levers", "what would make it fit and is not used yet, nearest first"},
    {"limit", "what limits the step, in one sentence"},
    {"line", "where in the file, from 1"},
    {"link",
     "one direction of a connection, by the name that `memwall topo SCENARIO --links` prints"},
    {"logits_loss_bytes", "logits, their softmax and the loss"},
    {"margin_bytes", "usable - device; negative: does not fit"},
    {"master_weights_bytes", "copies of the weights in the precision of the optimizer"},
    {"mean_ps", "mean over ranks, in picoseconds"},
    {"mean_s", "mean over ranks, in seconds"},
    {"measured", "whether the figures are of this job"},
    {"memory", "whether it fits, and the peak of each stage"},
    {"micro_batch", "sequences that pass the model at once on one data-parallel rank"},
    {"micro_batches", "of one step and data-parallel rank"},
    {"model", "the model: a name of `memwall list models`, or a file"},
    {"name", "of the scenario or the job"},
    {"nodes", "hosts of the job, each with its cards and network cards"},
    {"ops", "launches and transfers in the programs that are simulated"},
    {"optimizer_states_bytes", "moments of the optimizer"},
    {"parameters_bytes", "weights in the precision of the products"},
    {"peak_at", "the op at whose issue the peak is reached"},
    {"pp", "pipeline parallelism: stages that share the layers"},
    {"precision",
     "training.precision: formats of products, weights, gradients, master copy and moments: a "
     "policy such as bf16_mixed, or its bytes one by one"},
    {"predicted", "the figure of this run"},
    {"published",
     "figures that others measured, printed beside the prediction and never read by it"},
    {"ranks", "GPU processes of the measured job"},
    {"recompute_bytes", "activations of the layer that is replayed for backward"},
    {"reduce_dtype", "parallel.gradients.reduce_dtype: the format that gradients are reduced in"},
    {"reserved_bytes", "what the caching allocator holds"},
    {"same_configuration",
     "yes: the published run was like this one and counts as validation; no: context"},
    {"schedule",
     "parallel.schedule: the order of micro-batches in a pipeline: gpipe, 1f1b or "
     "interleaved_1f1b"},
    {"schema_version", "the form of this document; changed when a name or a meaning changes"},
    {"self_checks", "what every run checks on itself: a failure is a bug of memwall"},
    {"sequence", "tokens per sequence"},
    {"sharding",
     "parallel.sharding: what data-parallel ranks divide: none, zero1 (optimizer states), zero2 "
     "(and gradients), zero3 or fsdp (and parameters), hsdp"},
    {"share", "mean / step"},
    {"signature",
     "hash of the simulated times and peaks: equal runs have equal ones, folded or not"},
    {"simulated", "no: the fidelity of the network has no links that the event could act on"},
    {"simulation", "the size of the simulation itself"},
    {"slower", "share by which every kernel of a straggler takes longer"},
    {"source", "document, table, page or commit"},
    {"stack", "framework and libraries: a name of `memwall list stacks`, or a file"},
    {"stage", "position along the pipeline, from 0"},
    {"stages", "memory by pipeline stage: ranks of a stage hold the same"},
    {"start_s", "when the job begins"},
    {"straggler_rank", "the rank whose kernels take longer"},
    {"sum", "of the labels: the step, to the picosecond"},
    {"text", "the message"},
    {"time_unit_s", "what one unit of time in the executed workload stands for"},
    {"tp", "tensor parallelism: ranks that share each layer"},
    {"usable_bytes", "memory that one process can get of the card"},
    {"value", "of the figure that is checked"},
    {"verdict", "whether it fits; where, by how much, and what helps"},
    {"vpp", "chunks of layers per stage (interleaved schedule)"},
    {"warnings", "what was read with doubt; printed on standard error too"},
    {"what", "which constant or choice"},
    {"workspaces_bytes", "workspaces of libraries inside the allocator"},
});

constexpr bool sorted() {
    for (std::size_t i = 1; i < kTerms.size(); ++i) {
        if (!(kTerms[i - 1].name < kTerms[i].name)) {
            return false;
        }
    }
    return true;
}
static_assert(sorted());

}  // namespace

std::string_view meaning_of_term(std::string_view name) {
    const auto* const found = std::find_if(
        kTerms.begin(), kTerms.end(), [&](const Term& term) { return term.name == name; });
    return found == kTerms.end() ? std::string_view{} : found->meaning;
}

std::vector<std::string_view> terms() {
    std::vector<std::string_view> names;
    for (const Term& term : kTerms) {
        names.push_back(term.name);
    }
    return names;
}

}  // namespace memwall
