#include "sim/validation/words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>

namespace memwall {
namespace {

char lower(char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

struct GpuWord {
    std::string_view begins;  // of the plain word
    KnownGpu gpu;
};

constexpr std::string_view kSxm80 = "SXM, 80 GB";

// The first that fits counts.
constexpr std::array kGpuWords = {
    GpuWord{"a100-80g-sxm", {"a100-80g-sxm", "dgx-a100", "hdr-rail-optimised", ""}},
    GpuWord{"a100-40g-sxm", {"a100-40g-sxm", "dgx-a100-40g", "hdr-rail-optimised", ""}},
    GpuWord{"a100-80g-pcie", {"a100-80g-pcie", "pcie-8xa100-80g", "roce-100g", ""}},
    GpuWord{"a100-40g-pcie", {"a100-40g-pcie", "pcie-8xa100-40g", "roce-100g", ""}},
    GpuWord{"a100", {"a100-80g-sxm", "dgx-a100", "hdr-rail-optimised", kSxm80}},
    GpuWord{"a800", {"a800-80g-sxm", "hgx-a800", "hdr-rail-optimised", ""}},
    GpuWord{"h100-96g-500w", {"h100-96g-500w", "grand-teton-h100-96g", "roce-400g-llama3", ""}},
    GpuWord{"h100-80g-pcie", {"h100-80g-pcie", "pcie-8xh100-80g", "roce-100g", ""}},
    GpuWord{"h100-pcie", {"h100-80g-pcie", "pcie-8xh100-80g", "roce-100g", ""}},
    GpuWord{"h100-nvl", {"h100-nvl", "bridge-8xh100-nvl", "roce-100g", ""}},
    GpuWord{"h100", {"h100-80g-sxm", "dgx-h100", "ndr-rail-optimised", ""}},
    GpuWord{"h200", {"h200", "dgx-h200", "ndr-rail-optimised", ""}},
    GpuWord{"h800", {"h800", "hgx-h800", "ndr-rail-optimised", ""}},
    GpuWord{"h20", {"h20", "hgx-h20", "ndr-rail-optimised", ""}},
    GpuWord{"gb200", {"gb200", "gb200-nvl72", "ndr-rail-optimised", ""}},
    GpuWord{"gb300", {"gb300", "gb300-nvl72", "xdr-rail-optimised", ""}},
    GpuWord{"b200", {"b200", "dgx-b200", "ndr-rail-optimised", ""}},
    GpuWord{"b300", {"b300", "dgx-b300", "xdr-rail-optimised", ""}},
    GpuWord{"l40s", {"l40s", "pcie-8xl40s", "roce-100g", ""}},
    GpuWord{"rtx-pro-6000", {"rtx-pro-6000", "pcie-8xrtx-pro-6000", "roce-100g", ""}},
    GpuWord{"rtx-3090", {"rtx3090", "pcie-8xrtx3090", "roce-100g", ""}},
    GpuWord{"rtx3090", {"rtx3090", "pcie-8xrtx3090", "roce-100g", ""}},
    GpuWord{"rtx-4090", {"rtx4090", "pcie-8xrtx4090", "roce-100g", ""}},
    GpuWord{"rtx4090", {"rtx4090", "pcie-8xrtx4090", "roce-100g", ""}},
    GpuWord{"rtx-5090", {"rtx5090", "pcie-8xrtx5090", "roce-100g", ""}},
    GpuWord{"rtx5090", {"rtx5090", "pcie-8xrtx5090", "roce-100g", ""}},
    GpuWord{"a6000", {"a6000", "pcie-8xa6000", "roce-100g", ""}},
    GpuWord{"rtx-a6000", {"a6000", "pcie-8xa6000", "roce-100g", ""}},
    GpuWord{"v100-32g", {"v100-32g-sxm2", "dgx1-v100", "edr-fat-tree", ""}},
    GpuWord{"mi300x", {"mi300x", "mi300x-8", "roce-400g-rail-optimised", ""}},
};

std::string_view fabric_of(std::string_view text) {
    if (mentions(text, "omni-path")) {
        return "opa-100g";
    }
    if (mentions(text, "efa")) {
        return "efa";
    }
    if (mentions(text, "roce")) {
        return mentions(text, "400") ? "roce-400g-rail-optimised" : "roce-200g-rail-optimised";
    }
    if (mentions(text, "slingshot")) {
        return "slingshot-200g";
    }
    return {};
}

Bandwidth gigabits(const std::string& digits) {
    return Bandwidth(std::stod(digits) * 1e9 / 8);
}

}  // namespace

std::string plain_word(std::string_view text) {
    std::string word;
    for (const char c : text) {
        if (c == ' ' || c == '_') {
            word += word.empty() || word.back() == '-' ? "" : "-";
        } else {
            word += lower(c);
        }
    }
    constexpr std::string_view kVendor = "nvidia-";
    return word.starts_with(kVendor) ? word.substr(kVendor.size()) : word;
}

bool mentions(std::string_view text, std::string_view word) {
    return std::search(text.begin(), text.end(), word.begin(), word.end(), [](char a, char b) {
               return lower(a) == lower(b);
           }) != text.end();
}

std::optional<KnownGpu> known_gpu(std::string_view name) {
    const std::string word = plain_word(name);
    const auto found = std::find_if(kGpuWords.begin(), kGpuWords.end(), [&](const GpuWord& w) {
        return std::string_view(word).starts_with(w.begins);
    });
    return found == kGpuWords.end() ? std::nullopt : std::optional(found->gpu);
}

StatedNetwork stated_network(std::string_view text) {
    static const std::regex per_node(R"((\d+)\s*Gb/?s?\w* (?:per node|node-node))");
    static const std::regex per_gpu(R"((\d+)\s*Gb/s (?:\w+ )?per GPU)");
    static const std::regex several(R"((\d+)\s*x\s*[^,;()]*?(\d+)\s*Gb(?:/s|ps))");
    static const std::regex links(R"((\d+) Omni-Path links per node)");
    StatedNetwork stated;
    stated.fabric = fabric_of(text);
    // Where compute and storage networks are listed, only the first counts.
    std::string all(text);
    if (const std::size_t compute = all.find("Compute:"); compute != std::string::npos) {
        all = all.substr(compute);
        all = all.substr(0, all.find("Management"));
    }
    std::smatch match;
    if (std::regex_search(all, match, links)) {
        stated.nics = std::stoi(match[1]);
        stated.nic_rate = Bandwidth(100e9 / 8);
    } else if (std::regex_search(all, match, several)) {
        stated.nics = std::stoi(match[1]);
        stated.nic_rate = gigabits(match[2]);
    } else if (std::regex_search(all, match, per_node)) {
        stated.node_rate = gigabits(match[1]);
    } else if (std::regex_search(all, match, per_gpu)) {
        stated.gpu_rate = gigabits(match[1]);
    }
    return stated;
}

}  // namespace memwall
