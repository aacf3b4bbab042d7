#include "sim/model/trace.h"

namespace memwall {

bool op_applies(const TraceOp& op, std::int64_t tp) {
    if (!op.condition) {
        return true;
    }
    const ShardCondition& c = *op.condition;
    return ((c.whole / tp) % c.multiple == 0) == c.holds;
}

}  // namespace memwall
