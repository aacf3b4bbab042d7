#pragma once
// The list of keys that a kind of file may have, from its field table: for `memwall list keys` and the documentation.
#include <string>
#include <vector>

#include "sim/spec/fields.h"

namespace memwall {

struct KeyInfo {
    std::string
        path;  // parallel.sharding.kind; lists: checks[]; tables of number formats: gemm.<fp16>
    std::string wanted;    // "a size, such as 80GiB"
    std::string standard;  // its default, as printed; empty when required
    bool required = false;
};

class KeyLister : public Fields {
  public:
    [[nodiscard]] const std::vector<KeyInfo>& keys() const { return keys_; }

    Shape shape(std::string_view key, Shape in_value) override;
    bool has(std::string_view key, bool in_value) override;
    void keep(std::string_view key) override;
    void visit_leaf(Key key, Leaf leaf, Rules rules) override;
    bool enter(Key key, bool in_value, Rules rules, std::string_view shorthand) override;
    std::optional<std::size_t> enter_list(Key key, std::size_t in_value, Rules rules) override;
    void leave() override;

  private:
    [[nodiscard]] std::string path_of(Key key) const;

    std::vector<KeyInfo> keys_;
    std::vector<std::string> path_;
};

template <class T>
std::vector<KeyInfo> list_keys(T value) {
    KeyLister lister;
    describe(lister, value);
    return lister.keys();
}

}  // namespace memwall
