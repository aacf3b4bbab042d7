#pragma once
// What the process may know about its surroundings: terminal, colour, data folders, files. The library knows none of it.
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/text_style.h"

namespace memwall::cli {

// --color always | never | auto: a terminal, and NO_COLOR not set. The width: COLUMNS, else the terminal's, else 80.
[[nodiscard]] TextStyle style_for(int file_descriptor, std::string_view color);

// Folders that hold topologies/, workloads/ and scenarios/, nearest first: --data, MEMWALL_DATA, the source tree of this
// build, share/memwall beside the program.
[[nodiscard]] std::vector<std::string> data_roots(const std::vector<std::string>& given);

// Everything on standard input.
[[nodiscard]] std::string read_standard_input();

// A regular file, links followed, is replaced as a whole, so that a reader never sees half of it; into a device or a pipe
// the text is written. A name ending in .gz is compressed. Returns what went wrong, or an empty string.
[[nodiscard]] std::string write_file(const std::string& path, std::string_view text);

void print(std::string_view text);        // standard output; a failure is reported at once
void print_error(std::string_view text);  // standard error

// The last thing to do with standard output: a file system may say only here that there was no room. False: something
// printed was lost, which has been reported.
[[nodiscard]] bool close_output();

}  // namespace memwall::cli
