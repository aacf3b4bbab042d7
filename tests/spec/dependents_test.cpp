#include "sim/spec/dependents.h"

#include <doctest/doctest.h>

#include "sim/spec/write.h"

using namespace memwall;

namespace {

const Place kFile{"gpu.yaml", 1, 1};
const Place kSet{"--set", 1, 1};

void put(DocNode& root, const std::string& path, const std::string& text, const Place& place) {
    DocNode* node = &root;
    std::size_t begin = 0;
    for (std::size_t dot = 0; dot != std::string::npos; begin = dot + 1) {
        dot = path.find('.', begin);
        const std::string key = path.substr(begin, dot - begin);
        node->kind = DocNode::Kind::Map;
        if (node->find(key) == nullptr) {
            node->entries.push_back({key, kFile, DocNode{}});
        }
        node = node->find(key);
    }
    node->kind = DocNode::Kind::Scalar;
    node->scalar = text;
    node->place = place;
}

DocNode card() {
    DocNode gpu;
    for (const auto& [path, text] : std::vector<std::pair<std::string, std::string>>{
             {"memory", "80GiB"},
             {"usable", "76GiB"},
             {"hbm", "2000GB/s"},
             {"peak.bf16", "1000TFLOPS"},
             {"peak.fp8", "2000TFLOPS"},
             {"links", "10"},
             {"link_rate", "25GB/s"},
             {"gemm.bf16.burst", "800TFLOPS"},
             {"gemm.bf16.sustained", "700TFLOPS"},
             {"gemm.bf16.memory", "1800GB/s"},
             {"gemm.fp8.burst", "1600TFLOPS"},
             {"attention_backward.bf16.matrix", "600TFLOPS"},
             {"attention_backward.bf16.exponentials", "2e12"},
             {"flash2_forward.bf16.memory", "1400GB/s"},
             {"nccl.ring", "200GB/s"},
             {"nccl.nvls", "0GB/s"}}) {
        put(gpu, path, text, kFile);
    }
    return gpu;
}

// The card after one layer of overrides.
DocNode with(const std::vector<std::pair<std::string, std::string>>& overrides) {
    const DocNode before = card();
    DocNode gpu = before;
    for (const auto& [path, text] : overrides) {
        put(gpu, path, text, kSet);
    }
    follow_overrides(before, gpu);
    return gpu;
}

}  // namespace

TEST_CASE("usable memory follows the memory, in proportion") {
    const DocNode gpu = with({{"memory", "20GiB"}});
    CHECK(gpu.at("usable")->scalar == "19GiB");  // 76 x 20 / 80
    CHECK(gpu.at("usable")->place.file == kFromDerived);
    CHECK(gpu.at("memory")->place == kSet);
    CHECK(with({{"usable", "70GiB"}}).at("memory")->scalar == "80GiB");
}

TEST_CASE("kernel rates of a number format follow its peak, and only those") {
    const DocNode gpu = with({{"peak.bf16", "500TFLOPS"}});
    CHECK(gpu.at("gemm.bf16.burst")->scalar == "400TFLOPS");
    CHECK(gpu.at("gemm.bf16.sustained")->scalar == "350TFLOPS");
    CHECK(gpu.at("attention_backward.bf16.matrix")->scalar == "300TFLOPS");
    CHECK(gpu.at("attention_backward.bf16.exponentials")->scalar == "2e12");
    CHECK(gpu.at("gemm.fp8.burst")->scalar == "1600TFLOPS");
    CHECK(gpu.at("gemm.bf16.memory")->place == kFile);
}

TEST_CASE("operand traffic follows the memory bandwidth, NCCL's rings the links") {
    const DocNode fast = with({{"hbm", "3000GB/s"}});
    CHECK(fast.at("gemm.bf16.memory")->scalar == "2.7TB/s");
    CHECK(fast.at("flash2_forward.bf16.memory")->scalar == "2.1TB/s");
    CHECK(fast.at("gemm.bf16.burst")->place == kFile);
    const DocNode wide = with({{"links", "5"}, {"link_rate", "100GB/s"}});
    CHECK(wide.at("nccl.ring")->scalar == "400GB/s");  // 5 x 100 over 10 x 25
    CHECK(wide.at("nccl.nvls")->scalar == "0B/s");
}

TEST_CASE("what is overridden together stays as it was given") {
    CHECK(with({{"memory", "20GiB"}, {"usable", "10GiB"}}).at("usable")->scalar == "10GiB");
    CHECK(with({{"usable", "76GiB"}, {"memory", "20GiB"}}).at("usable")->scalar == "76GiB");
    const DocNode gpu = with({{"peak.bf16", "500TFLOPS"}, {"gemm.bf16.burst", "800TFLOPS"}});
    CHECK(gpu.at("gemm.bf16.burst")->scalar == "800TFLOPS");
    CHECK(gpu.at("gemm.bf16.sustained")->scalar == "350TFLOPS");
}

TEST_CASE("a value that is wrong or was not there moves nothing") {
    CHECK(with({{"memory", "20"}}).at("usable")->scalar == "76GiB");
    CHECK(with({{"memory", "0GiB"}}).at("usable")->scalar == "76GiB");
    CHECK(with({{"links", "ten"}}).at("nccl.ring")->scalar == "200GB/s");
    CHECK(with({{"peak.fp16", "500TFLOPS"}}).at("gemm.bf16.burst")->scalar == "800TFLOPS");
    CHECK(with({{"usable", "x"}, {"memory", "40GiB"}}).at("usable")->scalar == "x");
    DocNode nothing;
    follow_overrides(card(), nothing);
    CHECK(nothing.entries.empty());
    DocNode gpu = card();
    follow_overrides(DocNode{}, gpu);
    CHECK(gpu.at("usable")->scalar == "76GiB");
}
