#pragma once
// Every diagnostic code, with its meaning in one line. Codes are stable: a meaning never changes, a code is never reused.
// E01 reading files, E02 schema and fields, E03 legality of a strategy, E04 the machine, E05 the workload,
// E06 results (calibration, tables), E07 the command line, W the warning of the same number range.
// Keep the table sorted; a test checks that, and that every code used in sim/ and tools/ is in it.
#include <array>
#include <string_view>

namespace memwall {

struct DiagnosticCode {
    std::string_view code;
    std::string_view meaning;
};

inline constexpr std::array kCodes = std::to_array<DiagnosticCode>({
    // Reading files
    {"E0101", "a file is not there or cannot be read"},
    {"E0102", "not a regular file (a directory, a device)"},
    {"E0103", "a file is too large"},
    {"E0104", "a file is not UTF-8 text"},
    {"E0105", "a file is empty"},
    {"E0106", "the syntax of a file is broken"},
    {"E0107", "a key is given twice"},
    {"E0108", "nested too deeply"},
    {"E0109", "too many values after aliases are expanded"},
    {"E0110", "an alias contains itself, or names no anchor"},
    {"E0111", "something follows the end of the document"},
    {"E0112", "files include each other in a circle"},
    {"E0113", "no file of that name"},
    {"E0114", "a file cannot be written"},
    // Schema and fields
    {"E0201", "a key is not known here"},
    {"E0202", "a required key is missing"},
    {"E0203", "another kind of value is wanted (map, list, scalar)"},
    {"E0204", "not the quantity wanted: its number, unit or dimension is wrong"},
    {"E0205", "a name is not one of the choices"},
    {"E0206", "a value is out of its range"},
    {"E0207", "the schema line is missing or of another kind of file"},
    {"E0208", "the name in a file differs from its file name"},
    {"E0209", "a number has no source"},
    {"E0210", "a text after --set is not an override"},
    // Legality of a strategy
    {"E0310", "the parallel degrees do not multiply to the number of GPUs"},
    {"E0311", "more than one parallel degree is auto"},
    {"E0312", "the tensor-parallel degree does not divide the attention heads"},
    {"E0313", "the tensor-parallel degree does not fit the kv heads"},
    {"E0314", "the tensor-parallel degree does not divide the hidden width"},
    {"E0315", "the tensor-parallel degree does not divide the feed-forward width"},
    {"E0316", "context parallelism does not divide the sequence"},
    {"E0317", "sequence parallelism does not divide the sequence"},
    {"E0318", "all-to-all context parallelism does not divide the heads"},
    {"E0319", "shard and replicate do not multiply to the data-parallel ranks"},
    {"E0320", "micro-batches do not divide the global batch"},
    {"E0321", "the schedule and the number of chunks contradict each other"},
    {"E0322", "interleaving without pipeline stages"},
    {"E0323", "interleaving needs whole rounds of micro-batches"},
    {"E0324", "expert parallelism does not divide the experts"},
    {"E0325", "expert groups do not divide the ranks"},
    {"E0326", "the order of ranks does not name each axis once"},
    {"E0327", "more nodes than the cluster has"},
    {"E0328", "two jobs on one node"},
    {"E0329", "an event names a rank that is not there, or one twice"},
    {"E0330", "the layers do not divide over the pipeline chunks"},
    {"E0331", "layers, embedding and head do not divide over the pipeline chunks"},
    {"E0332", "a listed stage layout does not fit the model or the degrees"},
    {"E0333", "more layers recomputed than a chunk has"},
    {"E0334", "a trace of a rank that is not there"},
    {"E0335", "a sequence longer than the learned position table"},
    {"E0336", "a size beyond what is simulated"},
    {"E0337", "the scenario and its workload trace contradict each other"},
    {"E0338", "the scenario and its executed workload contradict each other"},
    {"E0339", "a recipe over a precision that is not of 16 bits, or of more layers than there are"},
    {"E0390", "legal, but not simulated in this release"},
    // The machine
    {"E0401", "a file lacks constants that the run needs, or the GPU the number format"},
    {"E0402", "nothing joins the nodes"},
    {"E0403", "a mesh link does not join two GPUs"},
    {"E0404", "the node is wired with links that the GPU does not have"},
    {"E0405", "an event names a link that is not there, or one twice"},
    {"E0406", "a process gets more memory than the card has"},
    {"E0407", "a collective algorithm or fidelity cannot serve a group"},
    {"E0408", "constants of a card that contradict each other"},
    {"E0409", "a stack keeps two sets of rates for one architecture"},
    // The workload
    {"E0501", "kv heads do not divide the heads"},
    {"E0502", "heads do not divide the hidden width"},
    {"E0503", "latent attention is not described in full"},
    {"E0504", "the experts are not described in full"},
    {"E0505", "the feed-forward width is missing"},
    {"E0520", "not a configuration of a known architecture"},
    {"E0530", "a workload trace contradicts itself"},
    {"E0540", "a text workload of ASTRA-sim that cannot be read"},
    {"E0541", "the unit of time of a text workload is missing or wrong"},
    // Calibration
    {"E0601", "a constant that cannot be fitted"},
    {"E0602", "a measured time that is not positive"},
    {"E0603", "not the output of nccl-tests"},
    {"E0604", "the output of nccl-tests leaves open the GPUs or the collective"},
    // Tables of measurements
    {"E0701", "not readable as CSV"},
    {"E0702", "a table without rows"},
    {"E0703", "a column stands twice"},
    {"E0704", "a row with other than the header's number of cells"},
    {"E0705", "a table of no known kind of measurement"},
    // Warnings
    {"W0313", "kv heads are replicated over tensor-parallel ranks"},
    {"W0317", "sequence parallelism without tensor parallelism"},
    {"W0319", "a sharding degree without sharding"},
    {"W0328", "a part of a background scenario is not taken"},
    {"W0335", "a sequence longer than the model states"},
    {"W0341", "tensor parallelism beyond the NVLink domain"},
    {"W0342", "fewer micro-batches than pipeline stages"},
    {"W0343", "a recompute option that nothing reads"},
    {"W0344", "shapes off multiples of 64"},
    {"W0405", "an event on a link without effect"},
    {"W0408", "figures beyond the peak rate of the card"},
    {"W0410", "a key that the collective law at hand does not read"},
    {"W0520", "a model configuration is read by assumption"},
    {"W0521", "a part of a model configuration is left out"},
    {"W0530", "durations measured on another GPU"},
    {"W0540", "a part of a text workload has no effect"},
});

// The meaning of a code; empty when there is no such code.
constexpr std::string_view meaning_of(std::string_view code) {
    for (const DiagnosticCode& entry : kCodes) {
        if (entry.code == code) {
            return entry.meaning;
        }
    }
    return {};
}

}  // namespace memwall
