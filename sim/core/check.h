#pragma once
// MW_CHECK is for our own mistakes, never for the user's input: it throws BugError, which tools turn into exit 3.
#include <stdexcept>
#include <string>

namespace memwall {

class BugError : public std::logic_error {
  public:
    using std::logic_error::logic_error;
};

[[noreturn]] void bug(const char* file, int line, const std::string& what);

}  // namespace memwall

#define MW_CHECK(condition, what)                       \
    do {                                                \
        if (!(condition)) {                             \
            ::memwall::bug(__FILE__, __LINE__, (what)); \
        }                                               \
    } while (false)
