#include "sim/io/print_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/spec/fields_work.h"
#include "sim/spec/value.h"
#include "sim/spec/write.h"

namespace memwall {
namespace {

std::string origin_of(const Place& place) {
    if (place.file.empty()) {
        return "";
    }
    return place.line == 0 || place.file == "--set" ? place.file
                                                    : fmt::format("{}:{}", place.file, place.line);
}

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        switch (c) {
        case '"':
            out += "\\\"";
            break;
        case '\\':
            out += "\\\\";
            break;
        case '\n':
            out += "\\n";
            break;
        case '\t':
            out += "\\t";
            break;
        case '\r':
            out += "\\r";
            break;
        default:
            out += c;
        }
    }
    return out + '"';
}

std::string scalar_text(const DocNode& node) {
    if (node.kind == DocNode::Kind::Null) {
        return "~";
    }
    return node.quoted || node.scalar.find_first_of("\n\"\\") != std::string::npos
               ? quoted(node.scalar)
               : node.scalar;
}

std::string key_text(const std::string& key) {
    return needs_quotes(key) ? quoted(key) : key;
}

// A list of single values, or of lists of them, fits on one line.
bool is_flow(const DocNode& node) {
    return node.kind == DocNode::Kind::Sequence &&
           std::all_of(node.items.begin(), node.items.end(), [](const DocNode& item) {
               return item.kind == DocNode::Kind::Scalar || is_flow(item);
           });
}

std::string flow_text(const DocNode& node) {
    if (node.kind == DocNode::Kind::Scalar) {
        return scalar_text(node);
    }
    std::string text = "[";
    for (const DocNode& item : node.items) {
        text += (text.size() == 1 ? "" : ", ") + flow_text(item);
    }
    return text + "]";
}

class Printer {
  public:
    explicit Printer(bool origins) : origins_(origins) {}

    std::string take() { return std::move(out_); }

    // `first`: what stands before the first key, "- " of a list item, else nothing.
    void map(const DocNode& node, std::size_t indent, std::string_view first, bool comments) {
        std::string lead = std::string(indent - first.size(), ' ') + std::string(first);
        for (const DocEntry& entry : node.entries) {
            const std::string head = lead + key_text(entry.key) + ":";
            // Citations need no origin of their own.
            value(entry.value, head, indent, comments && entry.key != "sources");
            lead = std::string(indent, ' ');
        }
    }

  private:
    void value(const DocNode& node, const std::string& head, std::size_t indent, bool comments) {
        if (node.kind == DocNode::Kind::Map) {
            line(
                head + (node.entries.empty() ? " {}" : ""), node, node.entries.empty() && comments);
            map(node, indent + 2, "", comments);
        } else if (node.kind == DocNode::Kind::Sequence && !is_flow(node)) {
            line(head, node, false);
            for (const DocNode& item : node.items) {
                if (item.kind == DocNode::Kind::Map && !item.entries.empty()) {
                    map(item, indent + 4, "- ", comments);
                } else {
                    value(item, std::string(indent + 2, ' ') + "-", indent + 2, comments);
                }
            }
        } else {
            line(head + " " +
                     (node.kind == DocNode::Kind::Sequence ? flow_text(node) : scalar_text(node)),
                 node,
                 comments);
        }
    }

    void line(const std::string& text, const DocNode& node, bool comment) {
        out_ += text;
        const std::string origin = comment && origins_ ? origin_of(node.place) : "";
        if (!origin.empty()) {
            constexpr std::size_t kColumn = 48;
            out_ +=
                std::string(text.size() < kColumn ? kColumn - text.size() : 1, ' ') + "# " + origin;
        }
        out_ += '\n';
    }

    bool origins_;
    std::string out_;
};

}  // namespace

std::string print_yaml(const DocNode& document, bool origins) {
    Printer printer(origins);
    printer.map(document, 0, "", true);
    return printer.take();
}

DocNode plan_document(const Loaded& loaded) {
    Plan plan = loaded.plan;
    return write_document(plan, &loaded.composed, loaded.derivations);
}

namespace {

// What the simulation works with and no key holds.
std::string derived_lines(const Plan& plan) {
    std::string text;
    for (const Job& job : plan.jobs) {
        if (job.is_executed()) {
            text += fmt::format("# {}: {} GPUs run '{}'\n",
                                job.name.empty() ? "background" : job.name,
                                job.degrees.world(),
                                job.model.name);
            continue;
        }
        text += fmt::format("# {}: {} GPUs, {} micro-batches of {} tokens",
                            job.name.empty() ? "background" : job.name,
                            job.degrees.world(),
                            job.micro_batches,
                            job.batch.micro * job.sequence);
        if (job.padded_vocabulary > 0) {
            text += fmt::format(", vocabulary padded to {}", job.padded_vocabulary);
        }
        if (job.degrees.pp > 1) {
            text += "\n#   layers of the chunks of each stage:";
            for (const std::vector<ChunkLayout>& stage : job.stages) {
                text += " ";
                for (std::size_t c = 0; c < stage.size(); ++c) {
                    text += fmt::format("{}{}", c == 0 ? "" : "+", stage[c].layers);
                }
            }
        }
        text += '\n';
    }
    return text;
}

}  // namespace

std::string print_plan(const Loaded& loaded, const PrintOptions& options) {
    const std::string text = print_yaml(plan_document(loaded), options.origins);
    return options.origins ? text + derived_lines(loaded.plan) : text;
}

}  // namespace memwall
