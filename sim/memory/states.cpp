#include "sim/memory/states.h"

#include <algorithm>
#include <cmath>

#include "sim/core/check.h"

namespace memwall {
namespace {

std::int64_t bytes(std::int64_t parameters, double bytes_per_parameter) {
    return std::llround(static_cast<double>(parameters) * bytes_per_parameter);
}

}  // namespace

RankParameters rank_parameters(const LayerTrace& layer, int tp) {
    MW_CHECK(tp >= 1, "tp must be at least 1");
    RankParameters result;
    for (const ParameterTensor& tensor : layer.parameters) {
        const std::int64_t count =
            tensor.split == Split::Tp ? shard_of(tensor.count(), tp) : tensor.count();
        (tensor.trained ? result.trained : result.frozen) += count;
        if (tensor.split == Split::None && tensor.trained) {
            result.replicated += count;
        }
        if (tensor.tied && tensor.trained) {
            result.tied += count;
        }
    }
    return result;
}

StateBytes model_states(std::span<const RankParameters> units,
                        const Precision& precision,
                        ShardingKind kind,
                        int shard) {
    MW_CHECK(shard >= 1, "a shard group needs at least one rank");
    std::int64_t all = 0;
    std::int64_t trained = 0;
    std::int64_t all_by_unit = 0;  // one shard of each unit
    std::int64_t trained_by_unit = 0;
    for (const RankParameters& unit : units) {
        all += unit.all();
        trained += unit.trained;
        all_by_unit += shard_of(unit.all(), shard);
        trained_by_unit += shard_of(unit.trained, shard);
    }
    const bool by_unit = shards_parameters(kind);
    const std::int64_t trained_shard = by_unit ? trained_by_unit : shard_of(trained, shard);
    const std::int64_t optimized = shards_optimizer(kind) ? trained_shard : trained;
    return {.parameters = bytes(by_unit ? all_by_unit : all, precision.weight_bytes),
            .gradients =
                bytes(shards_gradients(kind) ? trained_shard : trained, precision.gradient_bytes),
            .master = bytes(optimized, precision.master_bytes),
            .optimizer = bytes(optimized, precision.moment_bytes)};
}

double gathered_bytes_per_parameter(const Precision& precision) {
    const bool wide = precision.compute == Dtype::Fp32 || precision.compute == Dtype::Tf32;
    return std::min(precision.weight_bytes, wide ? 4.0 : 2.0);
}

}  // namespace memwall
