#pragma once
#include <string_view>

namespace memwall {

// Of the library, such as "0.1.0": the version of the CMake project.
[[nodiscard]] std::string_view version();

}  // namespace memwall
