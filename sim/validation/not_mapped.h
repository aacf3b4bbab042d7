#pragma once
#include <string>

namespace memwall {

// Why a row is not scored.
struct NotMapped {
    std::string reason;
    bool not_yet = false;  // complete, but uses what this release does not simulate
};

}  // namespace memwall
