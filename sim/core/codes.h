#pragma once
// Every diagnostic code, with its meaning in one line. Codes are stable: a meaning never changes, a code is never reused.
// E01 reading files, E02 schema and fields, E03 legality of a strategy, E04 the machine, E05 the workload,
// E06 results (calibration, tables), E07 the command line, W the warning of the same number range.
// Keep the table sorted; a test checks that, and that every code used in sim/ and tools/ is in it.
#include <array>
#include <string_view>

namespace memwall {

struct DiagnosticCode {
    std::string_view code;
    std::string_view meaning;
};

inline constexpr std::array kCodes = std::to_array<DiagnosticCode>({
    // Reading files
    {"E0101", "a file is not there or cannot be read"},
    {"E0102", "not a regular file (a directory, a device)"},
    {"E0103", "a file is too large"},
    {"E0104", "a file is not UTF-8 text"},
    {"E0105", "a file is empty"},
    {"E0106", "the syntax of a file is broken"},
    {"E0107", "a key is given twice"},
    {"E0108", "nested too deeply"},
    {"E0109", "too many values after aliases are expanded"},
    {"E0110", "an alias contains itself, or names no anchor"},
    {"E0111", "something follows the end of the document"},
    {"E0112", "files include each other in a circle"},
    {"E0113", "no file of that name"},
    // Schema and fields
    {"E0201", "a key is not known here"},
    {"E0202", "a required key is missing"},
    {"E0203", "another kind of value is wanted (map, list, scalar)"},
    {"E0204", "not the quantity wanted: its number, unit or dimension is wrong"},
    {"E0205", "a name is not one of the choices"},
    {"E0206", "a value is out of its range"},
    {"E0207", "the schema line is missing or of another kind of file"},
    {"E0208", "the name in a file differs from its file name"},
    {"E0209", "a number has no source"},
    // Legality of a strategy
    {"E0312", "the tensor-parallel degree does not divide the attention heads"},
});

// The meaning of a code; empty when there is no such code.
constexpr std::string_view meaning_of(std::string_view code) {
    for (const DiagnosticCode& entry : kCodes) {
        if (entry.code == code) {
            return entry.meaning;
        }
    }
    return {};
}

}  // namespace memwall
