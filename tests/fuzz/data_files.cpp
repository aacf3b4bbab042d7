#include "tests/fuzz/data_files.h"

#include <cstddef>
#include <string>

namespace memwall::testing {

MemoryFiles read_data() {
    DiskFiles disk;
    MemoryFiles memory;
    for (const DataKind kind : {DataKind::Gpu,
                                DataKind::Node,
                                DataKind::Fabric,
                                DataKind::Cluster,
                                DataKind::Stack,
                                DataKind::Model}) {
        const std::string folder = folder_of(kind);
        for (const std::string& name : disk.list(std::string(MEMWALL_SOURCE_DIR) + "/" + folder)) {
            const std::string path = folder + "/" + name;
            memory.texts[path] =
                disk.read(std::string(MEMWALL_SOURCE_DIR) + "/" + path, std::size_t{1} << 24).text;
        }
    }
    return memory;
}

}  // namespace memwall::testing
