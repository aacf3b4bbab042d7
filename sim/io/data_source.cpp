#include "sim/io/data_source.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/io/hf_config.h"
#include "sim/io/trace_file.h"
#include "sim/io/yaml.h"

namespace memwall {
namespace {

constexpr std::array<std::string_view, 3> kSuffixes = {".yaml", ".yml", ".json"};

bool has_suffix(std::string_view name) {
    return std::any_of(kSuffixes.begin(), kSuffixes.end(), [&](std::string_view suffix) {
        return name.ends_with(suffix);
    });
}

bool is_path(std::string_view reference) {
    return reference.find('/') != std::string_view::npos || has_suffix(reference);
}

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
}

// Without "./" and "x/../", as a person would write it.
std::string join(const std::string& directory, const std::string& name) {
    std::string path =
        (std::filesystem::path(directory) / name).lexically_normal().generic_string();
    if (path.size() > 1 && path.ends_with('/')) {
        path.pop_back();
    }
    return path;
}

std::string stem_of(const std::string& name) {
    for (const std::string_view suffix : kSuffixes) {
        if (name.ends_with(suffix)) {
            return name.substr(0, name.size() - suffix.size());
        }
    }
    return {};
}

std::string name_without_folder(const std::string& name) {
    return name.substr(name.rfind('/') + 1);
}

bool is_trace(const DocNode& document) {
    const DocNode* schema = document.find("schema");
    return schema != nullptr && schema->scalar.starts_with("memwall/trace/");
}

// Stands for the trace until it is read: a path relative to itself (compose() turns it into `workload.trace`).
DocNode trace_reference(const std::string& path) {
    const Place place{path, 0, 0};
    DocNode name;
    name.kind = DocNode::Kind::Scalar;
    name.place = place;
    name.scalar = path.substr(path.rfind('/') + 1);
    DocNode map;
    map.kind = DocNode::Kind::Map;
    map.place = place;
    map.entries.push_back({"trace", place, std::move(name)});
    return map;
}

}  // namespace

std::string folder_of(DataKind kind) {
    switch (kind) {
    case DataKind::Gpu:
        return "topologies/gpus";
    case DataKind::Node:
        return "topologies/nodes";
    case DataKind::Fabric:
        return "topologies/fabrics";
    case DataKind::Cluster:
        return "topologies/clusters";
    case DataKind::Stack:
        return "topologies/stacks";
    case DataKind::Model:
        return "workloads";
    case DataKind::Scenario:
        return "scenarios";
    }
    return {};
}

std::vector<std::string> DataSource::folders_below(const std::string& folder) {
    std::vector<std::string> folders;
    for (const std::string& entry : files_.list(folder)) {
        if (files_.status(join(folder, entry)) == FileStatus::Directory) {
            folders.push_back(entry);
        }
    }
    return folders;
}

std::vector<std::string> DataSource::names(DataKind kind) {
    std::set<std::string> names;
    const auto add = [&](const std::string& folder, const std::string& prefix) {
        for (const std::string& file : files_.list(folder)) {
            if (const std::string stem = stem_of(file); !stem.empty()) {
                names.insert(prefix + stem);
            }
        }
    };
    for (const std::string& root : roots_) {
        const std::string folder = join(root, folder_of(kind));
        add(folder, "");
        for (const std::string& below : folders_below(folder)) {
            add(join(folder, below), below + "/");
        }
    }
    return {names.begin(), names.end()};
}

std::string DataSource::schema_of(const std::string& path) {
    const FileContent content = files_.read(path, YamlLimits{}.bytes);
    Diagnostics ignored;
    const std::optional<DocNode> document = read_yaml(path, content.text, ignored);
    const DocNode* schema = document ? document->find("schema") : nullptr;
    return schema == nullptr ? "" : schema->scalar;
}

DataSource::Found DataSource::find_path(DataKind kind, const std::string& path) {
    Found found{path, files_.status(path)};
    if (found.status == FileStatus::Directory && kind == DataKind::Model) {
        // A checkpoint folder as downloaded.
        const std::string config = join(path, "config.json");
        if (files_.status(config) == FileStatus::Ok) {
            return {config, FileStatus::Ok};
        }
    }
    return found;
}

DataSource::Found DataSource::find_name(DataKind kind, const std::string& name) {
    for (const std::string& root : roots_) {
        const std::string folder = join(root, folder_of(kind));
        std::vector<std::string> folders = folders_below(folder);
        folders.insert(folders.begin(), "");
        for (const std::string& below : folders) {
            for (const std::string_view suffix : kSuffixes) {
                const std::string path = join(join(folder, below), name + std::string(suffix));
                if (files_.status(path) == FileStatus::Ok) {
                    return {path, FileStatus::Ok};
                }
            }
        }
    }
    return {};
}

DataSource::Found DataSource::find(DataKind kind, const std::string& reference, const Place& from) {
    if (!is_path(reference)) {
        return find_name(kind, reference);
    }
    Found found = find_path(kind, join(directory_of(from.file), reference));
    if (found.status == FileStatus::Missing && !has_suffix(reference)) {
        if (Found named = find_name(kind, reference); named.status == FileStatus::Ok) {
            return named;
        }
    }
    return found;
}

// The nearest of the known names, with its folder; empty when none is near.
std::string DataSource::near_name(DataKind kind, const std::string& typed) {
    const std::vector<std::string> known = names(kind);
    std::vector<std::string> all = known;
    for (const std::string& name : known) {
        all.push_back(name_without_folder(name));
    }
    return std::string(nearest(typed, {all.begin(), all.end()}));
}

void DataSource::report(DataKind kind,
                        const std::string& reference,
                        const Found& found,
                        const Place& from,
                        Diagnostics& diagnostics) {
    // Of a file named on the command line there is no other place than itself.
    const Place place =
        from.file.empty() ? Place{is_path(reference) ? found.path : reference, 0, 0} : from;
    const std::string_view what = kind_name(kind);
    switch (found.status) {
    case FileStatus::Ok:
        return;
    case FileStatus::Directory:
        diagnostics.error("E0102", place, fmt::format("{} '{}' is a directory", what, found.path))
            .hint = "name a file in it";
        return;
    case FileStatus::NotRegular:
        diagnostics.error(
            "E0102", place, fmt::format("{} '{}' is not a regular file", what, found.path));
        return;
    case FileStatus::Unreadable:
        diagnostics.error("E0101", place, fmt::format("{} '{}' cannot be read", what, found.path))
            .hint = "check its permissions";
        return;
    case FileStatus::TooLarge:
        diagnostics.error(
            "E0103",
            place,
            fmt::format("{} '{}' is larger than {} bytes", what, found.path, YamlLimits{}.bytes));
        return;
    case FileStatus::Missing:
        break;
    }
    if (is_path(reference)) {
        const std::size_t slash = found.path.rfind('/');
        const std::string name =
            slash == std::string::npos ? found.path : found.path.substr(slash + 1);
        const std::string directory = directory_of(found.path);
        const std::vector<std::string> there = files_.list(directory.empty() ? "." : directory);
        const std::string_view near = nearest(name, {there.begin(), there.end()});
        const std::string near_known = has_suffix(reference) ? "" : near_name(kind, reference);
        Diagnostic& error = diagnostics.error(
            "E0101", place, fmt::format("{} file '{}' is not there", what, found.path));
        error.hint =
            !near.empty() ? fmt::format("did you mean '{}'?", join(directory, std::string(near)))
            : !near_known.empty()                  ? fmt::format("did you mean '{}'?", near_known)
            : is_path(reference) && from.line != 0 ? "a path is relative to the file that names it"
                                                   : "";
        return;
    }
    const std::vector<std::string> known = names(kind);
    const std::string near = near_name(kind, reference);
    Diagnostic& error =
        diagnostics.error("E0113", place, fmt::format("no {} is called '{}'", what, reference));
    const std::string all = known.empty()
                                ? fmt::format("no data root has a folder {}", folder_of(kind))
                                : fmt::format("known: {}", fmt::join(known, ", "));
    error.hint = near.empty() ? all + "; a file of your own is named by its path"
                              : fmt::format("did you mean '{}'?", near);
}

std::optional<DocNode> DataSource::read(DataKind kind,
                                        const std::string& path,
                                        const std::string& text,
                                        const Place& from,
                                        Diagnostics& diagnostics) {
    std::optional<DocNode> document = read_yaml(path, text, diagnostics);
    if (document && kind == DataKind::Model && is_hf_config(*document)) {
        return model_document_from_hf(*document, diagnostics);
    }
    if (document && kind == DataKind::Model && is_trace(*document)) {
        return trace_reference(path);
    }
    if (!document || !check_schema(*document, kind, diagnostics, from)) {
        return std::nullopt;
    }
    return document;
}

const DocNode* DataSource::load(DataKind kind,
                                const std::string& reference,
                                const Place& from,
                                Diagnostics& diagnostics) {
    const Found found = find(kind, reference, from);
    const std::string key = fmt::format("{} {}", kind_name(kind), found.path);
    if (const auto cached = cache_.find(key); cached != cache_.end() && cached->second) {
        return &*cached->second;
    }
    if (found.status != FileStatus::Ok) {
        report(kind, reference, found, from, diagnostics);
        return nullptr;
    }
    const FileContent content = files_.read(found.path, YamlLimits{}.bytes);
    if (content.status != FileStatus::Ok) {
        report(kind, reference, {found.path, content.status}, from, diagnostics);
        return nullptr;
    }
    std::optional<DocNode>& kept = cache_[key];
    kept = read(kind, found.path, content.text, from, diagnostics);
    return kept ? &*kept : nullptr;
}

std::optional<std::string> DataSource::load_text(const std::string& reference,
                                                 const Place& from,
                                                 std::string& path,
                                                 Diagnostics& diagnostics) {
    path = join(directory_of(from.file), reference);
    FileContent content = files_.read(path, YamlLimits{}.bytes);
    if (content.status != FileStatus::Ok) {
        report(DataKind::Model, "./" + reference, {path, content.status}, from, diagnostics);
        return std::nullopt;
    }
    return std::move(content.text);
}

std::optional<WorkloadTrace> DataSource::load_trace(const std::string& reference,
                                                    const Place& from,
                                                    std::string& path,
                                                    Diagnostics& diagnostics) {
    const std::optional<std::string> text = load_text(reference, from, path, diagnostics);
    return text ? read_trace(path, *text, diagnostics) : std::nullopt;
}

bool check_schema(const DocNode& document,
                  DataKind kind,
                  Diagnostics& diagnostics,
                  const Place& from) {
    const std::string wanted = fmt::format("memwall/{}/1", kind_name(kind));
    const auto complain =
        [&](const char* code, const Place& place, std::string text, std::string hint) {
            Diagnostic& error = diagnostics.error(code, place, std::move(text));
            error.hint = std::move(hint);
            if (from.line != 0) {
                error.notes.push_back({from, "the file is named here"});
            }
            return false;
        };
    if (document.kind != DocNode::Kind::Map) {
        return complain("E0203",
                        document.place,
                        fmt::format("a {} file must be a map of keys", kind_name(kind)),
                        fmt::format("start it with `schema: {}`", wanted));
    }
    const DocNode* schema = document.find("schema");
    if (schema == nullptr) {
        return complain("E0207",
                        document.place,
                        "the schema line is missing",
                        fmt::format("start the file with `schema: {}`", wanted));
    }
    if (schema->scalar == wanted) {
        return true;
    }
    const bool version = schema->scalar.starts_with(wanted.substr(0, wanted.size() - 1));
    return complain(
        "E0207",
        schema->place,
        fmt::format("schema '{}', but a {} file is wanted here", schema->scalar, kind_name(kind)),
        version ? fmt::format("this release reads {}", wanted)
                : fmt::format("say `schema: {}`", wanted));
}

}  // namespace memwall
