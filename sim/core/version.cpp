#include "sim/core/version.h"

namespace memwall {

std::string_view version() {
    return MEMWALL_VERSION;
}

}  // namespace memwall
