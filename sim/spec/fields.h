#pragma once
// One table per struct says which keys a file may have. A table is a function
//     void describe(Fields& f, Gpu& v) { f.leaf("memory", v.memory, kRequired | kPositive); ... }
// and serves everyone: the reader (spec/read.h), the printer (spec/write.h) and the key list (spec/keys.h). Keys are the
// member names of the struct, so a constant in a data file is found by grep.
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "sim/core/units.h"
#include "sim/spec/names.h"

namespace memwall {

// Rules of a field, combined with |. A range holds for all but 0, which is a value or not; it is in the unit of the field's
// type (bytes, picoseconds, bytes or operations per second). Ranges are wider than any machine and narrower than what
// leaves the laws in the dark: beyond them a value is a slip of the hand.
struct Rules {
    bool required = false;
    bool zero = true;
    double least = -std::numeric_limits<double>::infinity();
    double most = std::numeric_limits<double>::infinity();
};
constexpr Rules operator|(Rules a, Rules b) {
    return {a.required || b.required,
            a.zero && b.zero,
            a.least > b.least ? a.least : b.least,
            a.most < b.most ? a.most : b.most};
}
inline constexpr Rules kRequired{.required = true};
inline constexpr Rules kPositive{.zero = false, .least = 0};  // > 0
inline constexpr Rules kNonNegative{.least = 0};              // >= 0
inline constexpr Rules kShare{.least = 0, .most = 1};         // 0..1
constexpr Rules between(double least, double most) {
    return {.zero = least <= 0, .least = least, .most = most};
}
constexpr Rules zero_or(double least, double most) {
    return {.least = least, .most = most};
}
constexpr Rules at_most(double most) {
    return {.least = 0, .most = most};
}

// A key of a map, or the index of a list item.
struct Key {
    std::string_view name;
    std::size_t index = 0;
    Key(const char* key)
        : name(key) {}  // NOLINT(google-explicit-constructor): a key is written as its word
    Key(std::string_view key) : name(key) {}  // NOLINT(google-explicit-constructor): the same
    explicit Key(std::size_t item) : index(item) {}
    [[nodiscard]] bool is_item() const { return name.empty(); }
};

// An enumerator, through its table of words. All our enumerations are one byte.
struct EnumLeaf {
    std::uint8_t* value;
    EnumNames names;
};

// A count or a word that stands for "not given", such as `auto`.
struct OptionalLeaf {
    std::optional<int>* value;
    std::string_view word;
};

// Text with a grammar of its own, such as `128..135`. `read` says what is wrong, if anything is.
struct TextForm {
    struct Problem {
        std::string text;  // empty = none
        std::string hint;
        std::string_view code = "E0204";
    };
    virtual ~TextForm() = default;
    virtual Problem read(const std::string& text) = 0;
    [[nodiscard]] virtual std::string write() const = 0;
    [[nodiscard]] virtual std::string wanted()
        const = 0;  // such as "a range of nodes, like 128..135"
};

using Leaf = std::variant<bool*,
                          int*,
                          std::int64_t*,
                          std::uint64_t*,
                          double*,
                          std::string*,
                          Duration*,
                          Bytes*,
                          Bandwidth*,
                          FlopRate*,
                          EnumLeaf,
                          OptionalLeaf,
                          TextForm*>;

enum class Shape : std::uint8_t { Absent, Scalar, List, Map };

class Fields {
  public:
    virtual ~Fields() = default;

    // A single value.
    template <class T>
    void leaf(Key key, T& value, Rules rules = {}) {
        if constexpr (std::is_enum_v<T>) {
            static_assert(sizeof(T) == 1);
            visit_leaf(
                key, EnumLeaf{reinterpret_cast<std::uint8_t*>(&value), enum_names(value)}, rules);
        } else {
            visit_leaf(key, Leaf(&value), rules);
        }
    }
    void leaf(Key key, OptionalLeaf value, Rules rules = {}) { visit_leaf(key, value, rules); }

    // A nested struct. `shorthand`: the key that a bare value stands for, as in `sharding: fsdp`.
    template <class T>
    void map(Key key, T& value, Rules rules = {}, std::string_view shorthand = {}) {
        if (enter(key, true, rules, shorthand)) {
            describe(*this, value);
            leave();
        }
    }

    // Structs, numbers or lists, keyed by the words of an enumeration.
    template <class E, class T>
    void table(Key key, std::map<E, T>& values, Rules rules = {}) {
        if (!enter(key, !values.empty(), rules, {})) {
            return;
        }
        const EnumNames names = enum_names(E{});
        for (std::size_t i = 0; i < names.names.size(); ++i) {
            const auto word = static_cast<E>(i);
            if (has(names.names[i], values.contains(word))) {
                one(Key(names.names[i]), values[word], rules);
            }
        }
        leave();
    }

    // A list of anything.
    template <class T>
    void list(Key key, std::vector<T>& values, Rules rules = {}) {
        const std::optional<std::size_t> count = enter_list(key, values.size(), rules);
        if (!count) {
            return;
        }
        values.resize(*count);
        for (std::size_t i = 0; i < *count; ++i) {
            if constexpr (std::is_same_v<T, bool>) {
                bool item = values[i];
                leaf(Key(i), item);
                values[i] = item;
            } else {
                Rules of_item = rules;
                of_item.required = false;
                one(Key(i), values[i], of_item);
            }
        }
        leave();
    }

    // How the value of `key` is written; the printer answers with `in_value`.
    virtual Shape shape(std::string_view key, Shape in_value) = 0;
    // True when the key is there (reader) or when the value has it (printer).
    virtual bool has(std::string_view key, bool in_value) = 0;
    // A part of the file that no struct holds, kept as it is: `sources`, `about`.
    virtual void keep(std::string_view key) = 0;

    virtual void visit_leaf(Key key, Leaf leaf, Rules rules) = 0;
    virtual bool enter(Key key, bool in_value, Rules rules, std::string_view shorthand) = 0;
    virtual std::optional<std::size_t> enter_list(Key key, std::size_t in_value, Rules rules) = 0;
    virtual void leave() = 0;

  private:
    template <class T>
    struct IsVector : std::false_type {};
    template <class T>
    struct IsVector<std::vector<T>> : std::true_type {};

    template <class T>
    void one(Key key, T& value, Rules rules) {
        if constexpr (IsVector<T>::value) {
            list(key, value, rules);
        } else if constexpr (std::is_enum_v<T> || std::is_constructible_v<Leaf, T*>) {
            leaf(key, value, rules);
        } else {
            map(key, value, rules);
        }
    }
};

}  // namespace memwall
