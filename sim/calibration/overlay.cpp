#include "sim/calibration/overlay.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/io/print_plan.h"
#include "sim/spec/value.h"

namespace memwall {
namespace {

DocNode scalar(std::string text, bool quoted = false) {
    DocNode node;
    node.kind = DocNode::Kind::Scalar;
    node.scalar = std::move(text);
    node.quoted = quoted;
    return node;
}

DocNode& child(DocNode& map, std::string_view key) {
    map.kind = DocNode::Kind::Map;
    if (DocNode* there = map.find(key)) {
        return *there;
    }
    map.entries.push_back({std::string(key), {}, {}});
    return map.entries.back().value;
}

void put(DocNode& root, std::string_view path, std::string text) {
    DocNode* node = &root;
    for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
        node = &child(*node, path.substr(0, dot));
        path.remove_prefix(dot + 1);
    }
    child(*node, path) = scalar(std::move(text));
}

std::string base_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

std::string error_text(const FitError& error) {
    return fmt::format("median {:.2f} %, mean {:.2f} %", 100 * error.median, 100 * error.mean);
}

std::string source_of(const FittedConstant& constant, const FittedPart& part) {
    std::string tables;
    for (const std::string& table : part.tables) {
        tables += (tables.empty() ? "" : ", ") + base_name(table);
    }
    std::string text = fmt::format("fitted to {}: {} rows, {} feel it; residual {}",
                                   tables,
                                   part.fitted_after.rows,
                                   constant.rows_felt,
                                   error_text(part.fitted_after));
    if (part.held_out_after.rows > 0) {
        text += fmt::format(
            "; {} rows held out: {}", part.held_out_after.rows, error_text(part.held_out_after));
    }
    text += constant.at_bound
                ? std::string("; at the bound of what it can be")
                : fmt::format("; 95 % interval {} to {}", constant.low_text, constant.high_text);
    return text;
}

void add_kept(std::string& comments, const FittedConstant& constant) {
    if (!constant.fitted) {
        comments +=
            fmt::format("# {} keeps {}: {}\n", constant.path, constant.before, constant.reason);
    }
}

// The rates of every architecture, from the file and from the fit.
DocNode rates_of(const Calibration& calibration) {
    DocNode list;
    list.kind = DocNode::Kind::Sequence;
    for (const StackRates& rates : calibration.rates) {
        DocNode item;
        item.kind = DocNode::Kind::Map;
        child(item, "architecture") = scalar(rates.architecture, needs_quotes(rates.architecture));
        Stack alone;
        alone.rates = {rates};
        for (const Constant& c : constants_of(alone)) {
            if (!c.path.starts_with("rates.")) {
                continue;
            }
            child(item, c.path.substr(c.path.rfind('.') + 1)) = scalar(c.text());
        }
        list.items.push_back(std::move(item));
    }
    return list;
}

}  // namespace

std::string overlay_yaml(const Calibration& calibration, const OverlayRequest& request) {
    DocNode root;
    put(root, "schema", fmt::format("memwall/{}/1", kind_name(calibration.kind)));
    put(root, "name", request.name);
    put(root, "base", request.base);
    root.find("name")->quoted = needs_quotes(request.name);
    root.find("base")->quoted = needs_quotes(request.base);
    DocNode sources;
    sources.kind = DocNode::Kind::Map;
    std::string comments = fmt::format(
        "# Fitted by memwall calibrate, {} of the rows held out by "
        "seed {}.\n",
        fmt::format("{:g} %", 100 * calibration.hold_out),
        calibration.seed);
    bool rates = false;
    for (const FittedPart& part : calibration.parts) {
        for (const FittedConstant& constant : part.constants) {
            add_kept(comments, constant);
            if (!constant.fitted) {
                continue;
            }
            if (constant.path.starts_with("rates.")) {
                rates = true;
            } else {
                put(root, constant.path, constant.after);
            }
            child(sources, constant.path) = scalar(source_of(constant, part), true);
        }
    }
    for (const FittedConstant& constant : calibration.untold) {
        add_kept(comments, constant);
    }
    if (rates) {
        child(root, "rates") = rates_of(calibration);
    }
    if (!sources.entries.empty()) {
        child(root, "sources") = std::move(sources);
    }
    return comments + print_yaml(root, false);
}

}  // namespace memwall
