#include "sim/spec/compose.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/spec/dependents.h"

namespace memwall {
namespace {

struct Reference {
    DataKind in;
    std::string_view path;
    DataKind to;
    std::string_view
        with;  // key of the overrides that stand beside the reference; empty = the file's own `with:`
};

constexpr std::array kReferences = {
    Reference{DataKind::Scenario, "machine.cluster", DataKind::Cluster, "machine.with"},
    Reference{DataKind::Scenario, "workload.model", DataKind::Model, "workload.with"},
    Reference{DataKind::Scenario, "stack", DataKind::Stack, ""},
    Reference{DataKind::Cluster, "node", DataKind::Node, ""},
    Reference{DataKind::Cluster, "fabric", DataKind::Fabric, ""},
    Reference{DataKind::Node, "gpu", DataKind::Gpu, ""},
};

constexpr std::array<std::string_view, kDataKinds> kKindNames = {
    "gpu", "node", "fabric", "cluster", "stack", "model", "scenario"};

// One change of a document, in order: `value` is merged in at `path` (maps key by key, all else replaced).
struct Change {
    std::string path;
    Place place;
    DocNode value;
    bool at_reference =
        false;      // a `with:` beside a reference: stays when the reference itself is replaced
    int layer = 0;  // changes of one file, one `with:` or all --set: given together
};

std::string_view head_of(std::string_view path) {
    return path.substr(0, path.find('.'));
}
std::string_view tail_of(std::string_view path) {
    const std::size_t dot = path.find('.');
    return dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
}
std::string join(std::string_view path, std::string_view key) {
    return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}
// `inner` is `outer` or lies below it.
bool is_within(std::string_view inner, std::string_view outer) {
    return outer.empty() || inner == outer ||
           (inner.starts_with(outer) && inner.size() > outer.size() && inner[outer.size()] == '.');
}
std::string_view below(std::string_view inner, std::string_view outer) {
    return inner == outer  ? std::string_view()
           : outer.empty() ? inner
                           : inner.substr(outer.size() + 1);
}

void erase_key(DocNode& map, std::string_view key) {
    std::erase_if(map.entries, [&](const DocEntry& entry) { return entry.key == key; });
}

DocNode without(const DocNode& map, std::initializer_list<std::string_view> keys) {
    DocNode copy;
    copy.kind = map.kind;
    copy.place = map.place;
    copy.entries.reserve(map.entries.size());
    for (const DocEntry& entry : map.entries) {
        if (std::find(keys.begin(), keys.end(), entry.key) == keys.end()) {
            copy.entries.push_back(entry);
        }
    }
    return copy;
}

void merge(DocNode& target, const DocNode& value) {
    if (target.kind != DocNode::Kind::Map || value.kind != DocNode::Kind::Map) {
        target = value;
        return;
    }
    for (const DocEntry& entry : value.entries) {
        if (DocNode* there = target.find(entry.key)) {
            merge(*there, entry.value);
        } else {
            target.entries.push_back(entry);
        }
    }
}

// The map that holds the last key of `path`, made where it is missing; nullptr when a list stands in the way.
DocNode* open_path(DocNode& root, std::string_view path, const Place& place) {
    DocNode* node = &root;
    for (std::string_view rest = path; node != nullptr; rest = tail_of(rest)) {
        if (node->kind == DocNode::Kind::Sequence) {
            return nullptr;
        }
        if (node->kind == DocNode::Kind::Null) {
            node->kind = DocNode::Kind::Map;
        } else if (node->kind == DocNode::Kind::Scalar) {
            // The reader knows whether the value stands for one key of a map, as in `sharding: fsdp`.
            DocNode map;
            map.kind = DocNode::Kind::Map;
            map.place = node->place;
            map.entries.push_back({"", node->place, *node});
            *node = std::move(map);
        }
        if (tail_of(rest).empty()) {
            return node;
        }
        const std::string key(head_of(rest));
        if (node->find(key) == nullptr) {
            DocNode made;
            made.kind = DocNode::Kind::Map;
            made.place = place;
            node->entries.push_back({key, place, std::move(made)});
        }
        node = node->find(key);
    }
    return node;
}

class Composer {
  public:
    Composer(DocumentSource& source, Diagnostics& diagnostics, bool in_background = false)
        : source_(source), diagnostics_(diagnostics), in_background_(in_background) {}

    DocNode compose(DataKind kind, const DocNode& reference, const std::vector<Change>& changes) {
        const std::size_t chain_before = chain_.size();
        DocNode root;
        std::vector<Change> all;
        if (!flatten(kind, reference, root, all)) {
            chain_.resize(chain_before);
            DocNode failed;
            failed.place = reference.place;
            failed.unresolved = true;
            return failed;
        }
        all.insert(all.end(), changes.begin(), changes.end());
        std::vector<std::vector<Change>> below_references(kReferences.size());
        apply_all(kind, root, all, below_references);
        if (kind == DataKind::Scenario) {
            take_with_beside_references(root, below_references);
        }
        for (std::size_t i = 0; i < kReferences.size(); ++i) {
            if (kReferences[i].in == kind) {
                follow(root, kReferences[i], below_references[i]);
            }
        }
        if (kind == DataKind::Scenario && !in_background_) {
            follow_background(root);
        }
        chain_.resize(chain_before);
        return root;
    }

  private:
    // Follows names and `base:` down to a plain map; what varies it is added to `changes`, weakest first.
    bool flatten(DataKind kind,
                 const DocNode& reference,
                 DocNode& root,
                 std::vector<Change>& changes) {
        if (reference.kind == DocNode::Kind::Scalar) {
            const DocNode* file =
                source_.load(kind, reference.scalar, reference.place, diagnostics_);
            return file != nullptr && enter_file(kind, *file, reference) &&
                   flatten(kind, *file, root, changes);
        }
        if (reference.kind != DocNode::Kind::Map) {
            const std::string_view name = kind_name(kind);
            diagnostics_
                .error("E0203",
                       reference.place,
                       fmt::format("a {} must be a name, a path or a map", name))
                .hint =
                fmt::format("names are those of the files that `memwall list {}s` shows", name);
            return false;
        }
        const DocNode* base = reference.find("base");
        if (base == nullptr && reference.find("with") != nullptr &&
            reference.find("name") == nullptr && kind != DataKind::Scenario) {
            const std::string_view name = kind_name(kind);
            diagnostics_
                .error("E0202",
                       reference.place,
                       fmt::format("key 'base' is missing: `with` varies a {} that `base` names",
                                   name))
                .hint = fmt::format(
                "write it as {{base: NAME, with: {{...}}}}; names are those that `memwall list "
                "{}s` shows",
                name);
            return false;
        }
        if (base == nullptr) {
            root = without(reference, {"with"});
        } else {
            if (!flatten(kind, *base, root, changes)) {
                return false;
            }
            changes.push_back(
                {"", reference.place, without(reference, {"base", "with"}), false, ++layer_});
        }
        add_with(reference.find("with"), "", changes, false, ++layer_);
        return true;
    }

    bool enter_file(DataKind kind, const DocNode& file, const DocNode& reference) {
        const std::string link = fmt::format("{} {}", kind_name(kind), file.place.file);
        if (std::find(chain_.begin(), chain_.end(), link) != chain_.end()) {
            diagnostics_
                .error("E0112",
                       reference.place,
                       fmt::format("'{}' refers to itself", reference.scalar))
                .hint = fmt::format("the circle: {} -> {}", fmt::join(chain_, " -> "), link);
            return false;
        }
        chain_.push_back(link);
        return true;
    }

    void add_with(const DocNode* with,
                  std::string_view prefix,
                  std::vector<Change>& changes,
                  bool at_reference,
                  int layer) {
        if (with == nullptr) {
            return;
        }
        if (with->kind != DocNode::Kind::Map) {
            diagnostics_.error("E0203", with->place, "`with` must be a map of overrides").hint =
                "write it as {node.gpu: h100-80g-sxm}";
            return;
        }
        for (const DocEntry& entry : with->entries) {
            changes.push_back(
                {join(prefix, entry.key), entry.place, entry.value, at_reference, layer});
        }
    }

    // `stack.with.x=1`, `stack.with={x: 1}` and `stack={with: {x: 1}}` all vary the stack that is there.
    void add_below(Change change, std::vector<Change>& changes) {
        DocNode& value = change.value;
        if (change.path == "with") {
            add_with(&value, "", changes, change.at_reference, change.layer);
            return;
        }
        if (head_of(change.path) == "with") {
            change.path = tail_of(change.path);
        } else if (change.path.empty() && value.find("with") != nullptr &&
                   value.find("base") == nullptr) {
            add_with(value.find("with"), "", changes, change.at_reference, change.layer);
            erase_key(value, "with");
        }
        changes.push_back(std::move(change));
    }

    void apply_all(DataKind kind,
                   DocNode& root,
                   const std::vector<Change>& changes,
                   std::vector<std::vector<Change>>& below_references) {
        for (auto first = changes.begin(); first != changes.end();) {
            const auto last = std::find_if(first, changes.end(), [&](const Change& change) {
                return change.layer != first->layer;
            });
            const DocNode before = kind == DataKind::Gpu ? root : DocNode{};
            for (; first != last; ++first) {
                apply(kind, root, *first, below_references);
            }
            if (kind == DataKind::Gpu) {
                follow_overrides(before, root);
            }
        }
    }

    // Applies a change to `root`, or hands it to the reference it lies at or below.
    void apply(DataKind kind,
               DocNode& root,
               const Change& change,
               std::vector<std::vector<Change>>& below_references) {
        for (std::size_t i = 0; i < kReferences.size(); ++i) {
            const Reference& reference = kReferences[i];
            if (reference.in == kind && is_within(change.path, reference.path)) {
                Change inner = change;
                inner.path = below(change.path, reference.path);
                add_below(std::move(inner), below_references[i]);
                return;
            }
        }
        const bool above =
            std::any_of(kReferences.begin(), kReferences.end(), [&](const Reference& reference) {
                return reference.in == kind && is_within(reference.path, change.path);
            });
        if (above && change.value.kind == DocNode::Kind::Map) {
            for (const DocEntry& entry : change.value.entries) {
                apply(kind,
                      root,
                      {join(change.path, entry.key),
                       entry.place,
                       entry.value,
                       change.at_reference,
                       change.layer},
                      below_references);
            }
            return;
        }
        set(root, change);
    }

    void set(DocNode& root, const Change& change) {
        if (change.path.empty()) {
            merge(root, change.value);
            return;
        }
        constexpr auto kDepth = 64;
        if (std::count(change.path.begin(), change.path.end(), '.') >= kDepth) {
            diagnostics_.error(
                "E0108", change.place, fmt::format("an override of more than {} levels", kDepth));
            return;
        }
        DocNode* map = open_path(root, change.path, change.place);
        if (map == nullptr || map->kind == DocNode::Kind::Sequence) {
            diagnostics_
                .error("E0203", change.place, fmt::format("{} lies inside a list", change.path))
                .hint = "override the whole list instead";
            return;
        }
        const std::string_view key =
            change.path.find('.') == std::string::npos
                ? std::string_view(change.path)
                : std::string_view(change.path).substr(change.path.rfind('.') + 1);
        for (DocEntry& entry : map->entries) {
            if (entry.key == key) {
                entry.place = change.place;
                merge(entry.value, change.value);
                return;
            }
        }
        map->entries.push_back({std::string(key), change.place, change.value});
    }

    void take_with_beside_references(DocNode& root,
                                     std::vector<std::vector<Change>>& below_references) {
        for (std::size_t i = 0; i < kReferences.size(); ++i) {
            const std::string_view path = kReferences[i].with;
            DocNode* holder = path.empty() ? nullptr : root.find(head_of(path));
            if (holder == nullptr || holder->find(tail_of(path)) == nullptr) {
                continue;
            }
            std::vector<Change> with;
            add_with(holder->find(tail_of(path)), "", with, true, ++layer_);
            below_references[i].insert(below_references[i].begin(), with.begin(), with.end());
            erase_key(*holder, tail_of(path));
        }
    }

    void follow(DocNode& root, const Reference& reference, std::vector<Change>& changes) {
        DocNode* holder = &root;
        for (std::string_view rest = reference.path; !tail_of(rest).empty() && holder != nullptr;
             rest = tail_of(rest)) {
            holder = holder->find(head_of(rest));
        }
        const std::string_view key = reference.path.substr(
            reference.path.find('.') == std::string_view::npos ? 0 : reference.path.find('.') + 1);
        if (holder == nullptr || holder->kind != DocNode::Kind::Map) {
            return;
        }
        replace_reference(*holder, key, changes);
        DocNode* node = holder->find(key);
        if (node == nullptr || node->kind == DocNode::Kind::Null) {
            return;
        }
        DocNode composed = compose(reference.to, *node, changes);
        if (reference.to != DataKind::Scenario) {
            erase_key(composed, "schema");
        }
        if (DocNode* trace = composed.find("trace");
            trace != nullptr && reference.to == DataKind::Model) {
            const DocNode file = *trace;
            for (DocEntry& entry : holder->entries) {
                if (entry.key == key) {
                    entry = {"trace", file.place, file};
                }
            }
            return;
        }
        *node = std::move(composed);
    }

    // A change at the reference itself: another name, or another map with its own `base:`.
    static void replace_reference(DocNode& holder,
                                  std::string_view key,
                                  std::vector<Change>& changes) {
        for (std::size_t i = changes.size(); i-- > 0;) {
            const Change& change = changes[i];
            const bool replaces = change.path.empty() && (change.value.kind != DocNode::Kind::Map ||
                                                          change.value.find("base") != nullptr ||
                                                          holder.find(key) == nullptr);
            if (!replaces) {
                continue;
            }
            if (DocNode* node = holder.find(key)) {
                *node = change.value;
            } else {
                holder.entries.push_back({std::string(key), change.place, change.value});
            }
            std::vector<Change> kept;
            for (std::size_t j = 0; j < changes.size(); ++j) {
                const bool other_name =
                    changes[j].path.empty() && changes[j].value.kind != DocNode::Kind::Map;
                if (j > i || (j < i && changes[j].at_reference && !other_name)) {
                    kept.push_back(std::move(changes[j]));
                }
            }
            changes = std::move(kept);
            return;
        }
    }

    void warn_of_what_is_left(const DocNode& other, const DocNode& ours, const Place& named) {
        const auto warn = [&](const DocNode& node, std::string text) {
            Diagnostic& warning = diagnostics_.warning("W0328", node.place, std::move(text));
            warning.notes.push_back({named, "the scenario runs in the background here"});
            warning.hint =
                "of a background scenario only its work is taken: workload, batch, parallel, "
                "training, stack";
        };
        const DocNode* cluster = other.at("machine.cluster.name");
        const DocNode* our_cluster = ours.at("machine.cluster.name");
        if (cluster != nullptr && our_cluster != nullptr &&
            cluster->scalar != our_cluster->scalar) {
            warn(*other.at("machine.cluster"),
                 fmt::format("cluster '{}' is not taken: the job runs on nodes of '{}'",
                             cluster->scalar,
                             our_cluster->scalar));
        }
        for (const char* path :
             {"machine.events", "machine.network", "machine.placement", "background", "checks"}) {
            if (const DocNode* node = other.at(path)) {
                warn(*node, fmt::format("{} of a background scenario is not taken", path));
            }
        }
    }

    // Of another scenario only its work counts: the machine is ours.
    void follow_background(DocNode& root) {
        DocNode* background = root.find("background");
        if (background == nullptr || background->kind != DocNode::Kind::Sequence) {
            return;
        }
        for (DocNode& item : background->items) {
            DocNode* scenario = item.find("scenario");
            if (scenario == nullptr || scenario->kind == DocNode::Kind::Null) {
                continue;
            }
            // A composer of its own: a job beside ours may be a copy of ours, or of what ours varies.
            DocNode composed =
                Composer(source_, diagnostics_, true).compose(DataKind::Scenario, *scenario, {});
            if (composed.unresolved) {
                *scenario = std::move(composed);
                continue;
            }
            warn_of_what_is_left(composed, root, scenario->place);
            *scenario =
                without(composed,
                        {"schema", "about", "machine", "background", "run", "published", "checks"});
        }
    }

    DocumentSource& source_;
    Diagnostics& diagnostics_;
    int layer_ = 0;
    bool in_background_;              // a scenario of which only the work is taken
    std::vector<std::string> chain_;  // files being composed, for circles
};

void collect(const DocNode& node, const std::string& path, Provenance& provenance) {
    if (const DocNode* sources = node.find("sources")) {
        for (const DocEntry& entry : sources->entries) {
            provenance.sources.emplace(join(path, entry.key), entry.value.scalar);
        }
    }
    for (const DocEntry& entry : node.entries) {
        if (entry.value.kind == DocNode::Kind::Map && entry.key != "sources") {
            collect(entry.value, join(path, entry.key), provenance);
        }
    }
}

}  // namespace

std::string_view kind_name(DataKind kind) {
    return kKindNames[static_cast<std::size_t>(kind)];
}

std::string_view Provenance::find(std::string_view path) const {
    for (;;) {
        if (const auto found = sources.find(path); found != sources.end()) {
            return found->second;
        }
        const std::size_t dot = path.rfind('.');
        if (dot == std::string_view::npos) {
            return {};
        }
        path = path.substr(0, dot);
    }
}

DocNode compose(const DocNode& document,
                DataKind kind,
                const std::vector<Override>& overrides,
                DocumentSource& source,
                Diagnostics& diagnostics) {
    std::vector<Change> changes;
    for (const Override& forced : overrides) {
        constexpr int kSets = -1;
        changes.push_back({forced.path, forced.place, forced.value, false, kSets});
    }
    return Composer(source, diagnostics).compose(kind, document, changes);
}

Provenance collect_sources(const DocNode& composed) {
    Provenance provenance;
    collect(composed, "", provenance);
    return provenance;
}

}  // namespace memwall
