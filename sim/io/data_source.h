#pragma once
// Finds, reads and keeps the data files that scenarios refer to. A plain word is a name, looked up in the data roots
// (topologies/gpus/NAME.yaml and so on) and in the folders below them; a value with a slash or a suffix is a path, relative
// to the file that names it. FOLDER/NAME, when no such path is there, is the name in that folder of a data root.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/io/files.h"
#include "sim/model/trace.h"
#include "sim/spec/compose.h"

namespace memwall {

// Folder of a kind below a data root: "topologies/gpus".
[[nodiscard]] std::string folder_of(DataKind kind);

class DataSource : public DocumentSource {
  public:
    DataSource(Files& files, std::vector<std::string> roots)
        : files_(files), roots_(std::move(roots)) {}

    // Every file is read once; a second scenario of a sweep finds it here.
    const DocNode* load(DataKind kind,
                        const std::string& reference,
                        const Place& from,
                        Diagnostics& diagnostics) override;

    // `name` or path as typed on a command line; "-" is not known here.
    [[nodiscard]] const DocNode* open(DataKind kind,
                                      const std::string& reference,
                                      Diagnostics& diagnostics) {
        return load(kind, reference, Place{}, diagnostics);
    }

    // A workload trace by its path as written at `from`; `path` gets where it was found.
    [[nodiscard]] std::optional<WorkloadTrace> load_trace(const std::string& reference,
                                                          const Place& from,
                                                          std::string& path,
                                                          Diagnostics& diagnostics);

    // The text of a workload file, in the same way.
    [[nodiscard]] std::optional<std::string> load_text(const std::string& reference,
                                                       const Place& from,
                                                       std::string& path,
                                                       Diagnostics& diagnostics);

    // Sorted; those in a folder below the kind's own as FOLDER/NAME.
    [[nodiscard]] std::vector<std::string> names(DataKind kind);

    [[nodiscard]] bool knows(DataKind kind, const std::string& name) {
        return find_name(kind, name).status == FileStatus::Ok;
    }

    // The schema line of a file, such as "memwall/cluster/1"; empty when it cannot be read or has none.
    [[nodiscard]] std::string schema_of(const std::string& path);

  private:
    struct Found {
        std::string path;
        FileStatus status = FileStatus::Missing;
    };

    [[nodiscard]] Found find(DataKind kind, const std::string& reference, const Place& from);
    [[nodiscard]] Found find_path(DataKind kind, const std::string& path);
    [[nodiscard]] Found find_name(DataKind kind, const std::string& name);
    [[nodiscard]] std::vector<std::string> folders_below(const std::string& folder);
    [[nodiscard]] std::string near_name(DataKind kind, const std::string& typed);
    void report(DataKind kind,
                const std::string& reference,
                const Found& found,
                const Place& from,
                Diagnostics& diagnostics);
    [[nodiscard]] std::optional<DocNode> read(DataKind kind,
                                              const std::string& path,
                                              const std::string& text,
                                              const Place& from,
                                              Diagnostics& diagnostics);

    Files& files_;
    std::vector<std::string> roots_;
    std::map<std::string, std::optional<DocNode>>
        cache_;  // by kind and path; nullopt = it had errors
};

// Checks `schema: memwall/KIND/1`; E0207. `from`: where the file is named, for a note.
bool check_schema(const DocNode& document,
                  DataKind kind,
                  Diagnostics& diagnostics,
                  const Place& from = {});

}  // namespace memwall
