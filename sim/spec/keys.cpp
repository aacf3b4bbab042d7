#include "sim/spec/keys.h"

#include "sim/spec/value.h"

namespace memwall {

std::string KeyLister::path_of(Key key) const {
    std::string path = path_.empty() ? "" : path_.back();
    if (key.is_item()) {
        return path + "[]";
    }
    return path.empty() ? std::string(key.name) : path + "." + std::string(key.name);
}

// The first form of each key is listed, with every table row and one item of every list.
Shape KeyLister::shape(std::string_view /*key*/, Shape in_value) {
    return in_value;
}
bool KeyLister::has(std::string_view /*key*/, bool /*in_value*/) {
    return true;
}

void KeyLister::keep(std::string_view key) {
    keys_.push_back({path_of(key), "kept as it is", "", false});
}

void KeyLister::visit_leaf(Key key, Leaf leaf, Rules rules) {
    const bool required = rules.required;
    keys_.push_back(
        {path_of(key), kind_of(leaf), required ? "" : write_value(leaf).text, required});
}

bool KeyLister::enter(Key key, bool /*in_value*/, Rules /*rules*/, std::string_view /*shorthand*/) {
    path_.push_back(path_of(key));
    return true;
}

std::optional<std::size_t> KeyLister::enter_list(Key key,
                                                 std::size_t /*in_value*/,
                                                 Rules /*rules*/) {
    path_.push_back(path_of(key));
    return 1;
}

void KeyLister::leave() {
    path_.pop_back();
}

}  // namespace memwall
