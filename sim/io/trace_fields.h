#pragma once
// The structs of a trace file and their field tables (spec/fields.h), inside sim/io only. They are the structs of
// model/trace.h with names in place of indices.
#include <string>
#include <vector>

#include "sim/model/trace.h"
#include "sim/spec/fields.h"

namespace memwall {

struct TraceItemFile {
    TraceItem item;
    std::vector<std::string> allocates;
    std::vector<std::string> frees;
    int kernels = 0;  // how many kernels the op names; one is wanted
};

struct TraceKindFile {
    LayerTrace layer;  // without forward and backward
    std::vector<TraceItemFile> forward;
    std::vector<TraceItemFile> backward;
};

struct LayerRun {
    std::string kind;
    std::int64_t layers = 1;
};

struct TraceFile {
    WorkloadTrace trace;  // totals only
    std::string embedding;
    std::string head;
    std::vector<LayerRun> layers;
    std::vector<TraceKindFile> kinds;
};

[[nodiscard]] EnumNames enum_names(Pass);
[[nodiscard]] EnumNames enum_names(Split);
[[nodiscard]] EnumNames enum_names(TraceModule);
[[nodiscard]] EnumNames enum_names(BoundaryKind);
[[nodiscard]] EnumNames enum_names(GemmRole);
[[nodiscard]] EnumNames enum_names(AttentionKind);
[[nodiscard]] EnumNames enum_names(TensorClass);

void describe(Fields& f, TraceFile& v);
void describe(Fields& f, TraceKindFile& v);
void describe(Fields& f, TraceItemFile& v);
void describe(Fields& f, LayerRun& v);
void describe(Fields& f, TraceTensor& v);
void describe(Fields& f, ParameterTensor& v);
void describe(Fields& f, KernelSplit& v);
void describe(Fields& f, ShardCondition& v);
void describe(Fields& f, Gemm& v);
void describe(Fields& f, Attention& v);
void describe(Fields& f, MemoryBound& v);
void describe(Fields& f, Copy& v);
void describe(Fields& f, Measured& v);

}  // namespace memwall
