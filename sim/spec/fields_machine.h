#pragma once
// Field tables of the machine: GPUs, nodes, fabrics, clusters.
#include "sim/spec/cluster.h"
#include "sim/spec/fields.h"

namespace memwall {

void describe(Fields& f, Gpu& v);
void describe(Fields& f, GemmRates& v);
void describe(Fields& f, GemmRoleFactors& v);
void describe(Fields& f, GemmTiling& v);
void describe(Fields& f, AttentionRates& v);
void describe(Fields& f, MemoryRates& v);
void describe(Fields& f, OccupancyPoint& v);
void describe(Fields& f, NcclConstants& v);
void describe(Fields& f, MeshLink& v);
void describe(Fields& f, Node& v);
void describe(Fields& f, FabricNccl& v);
void describe(Fields& f, FabricSpec& v);
void describe(Fields& f, Cluster& v);

}  // namespace memwall
