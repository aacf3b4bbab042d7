#pragma once
// From files that refer to each other to one document. A reference is a name, a path, or the map itself; a map may vary
// another file (`base:`) and override single keys of it (`with:`, by full dotted key).
//   order of precedence, weakest first: base file, keys beside `base:`, `with:`, `with:` at the reference, --set
// No file is read here: the caller's DocumentSource does that.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/spec/document.h"

namespace memwall {

enum class DataKind : unsigned char { Gpu, Node, Fabric, Cluster, Stack, Model, Scenario };
inline constexpr int kDataKinds = 7;

// The word of the schema line, "gpu" in `schema: memwall/gpu/1`.
[[nodiscard]] std::string_view kind_name(DataKind kind);

// One `--set a.b=c`: the value has its place already (file "--set", line = which one).
struct Override {
    std::string path;
    Place place;
    DocNode value;
};

class DocumentSource {
  public:
    virtual ~DocumentSource() = default;
    // The document behind a name or a path that stands at `from`; nullptr after an error. The pointer stays valid.
    virtual const DocNode* load(DataKind kind,
                                const std::string& reference,
                                const Place& from,
                                Diagnostics& diagnostics) = 0;
};

// Where the constants of a plan come from: dotted path (or the prefix of a subtree) -> citation.
struct Provenance {
    std::map<std::string, std::string, std::less<>> sources;
    // The citation of the longest prefix of `path`; empty when none covers it.
    [[nodiscard]] std::string_view find(std::string_view path) const;
};

// The document of `kind` with every reference replaced by what it refers to. Errors go to `diagnostics`; what could not be
// loaded is a Null node marked `unresolved`, of which the reader does not complain again.
[[nodiscard]] DocNode compose(const DocNode& document,
                              DataKind kind,
                              const std::vector<Override>& overrides,
                              DocumentSource& source,
                              Diagnostics& diagnostics);

// The `sources:` maps of a composed document.
[[nodiscard]] Provenance collect_sources(const DocNode& composed);

}  // namespace memwall
