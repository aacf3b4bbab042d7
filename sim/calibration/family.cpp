#include "sim/calibration/family.h"

#include <algorithm>

namespace memwall {

std::vector<std::string> family_of(DataKind kind,
                                   const std::string& reference,
                                   DataSource& source,
                                   Diagnostics& diagnostics) {
    std::vector<std::string> names;
    const DocNode* file = source.open(kind, reference, diagnostics);
    while (file != nullptr) {
        const DocNode* name = file->find("name");
        if (name == nullptr || std::find(names.begin(), names.end(), name->scalar) != names.end()) {
            break;
        }
        names.push_back(name->scalar);
        const DocNode* base = file->find("base");
        file =
            base == nullptr ? nullptr : source.load(kind, base->scalar, base->place, diagnostics);
    }
    return names;
}

}  // namespace memwall
