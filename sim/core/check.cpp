#include "sim/core/check.h"

namespace memwall {

void bug(const char* file, int line, const std::string& what) {
    throw BugError(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

}  // namespace memwall
