#include "sim/run/colours.h"

#include <algorithm>

namespace memwall {
namespace {

constexpr std::uint32_t kNone = 0xFFFFFFFFU;

// Open addressing over colours, which are uniform already.
class ColourTable {
  public:
    explicit ColourTable(std::size_t elements) {
        std::size_t size = 16;
        while (size < 2 * elements) {
            size *= 2;
        }
        keys_.resize(size);
        values_.assign(size, kNone);
    }
    // The number of the colour; a fresh one gets the next number.
    std::uint32_t number(Colour colour) {
        std::size_t at = colour & (keys_.size() - 1);
        while (values_[at] != kNone && keys_[at] != colour) {
            at = (at + 1) & (keys_.size() - 1);
        }
        if (values_[at] == kNone) {
            keys_[at] = colour;
            values_[at] = next_++;
        }
        return values_[at];
    }

  private:
    std::vector<Colour> keys_;
    std::vector<std::uint32_t> values_;
    std::uint32_t next_ = 0;
};

}  // namespace

Classes classes_of(const std::vector<Colour>& colours) {
    ColourTable table(colours.size());
    Classes classes;
    classes.of.reserve(colours.size());
    for (std::uint32_t i = 0; i < colours.size(); ++i) {
        const std::uint32_t c = table.number(colours[i]);
        if (c == classes.first.size()) {
            classes.first.push_back(i);
            classes.count.push_back(0);
        }
        ++classes.count[c];
        classes.of.push_back(c);
    }
    return classes;
}

std::uint32_t ClassCounter::count(const std::vector<Colour>& colours) {
    std::size_t size = std::max<std::size_t>(16, entries_.size());
    while (size < 2 * colours.size()) {
        size *= 2;
    }
    entries_.resize(size);
    ++round_;
    std::uint32_t classes = 0;
    for (const Colour colour : colours) {
        std::size_t at = colour & (size - 1);
        while (entries_[at].round == round_ && entries_[at].colour != colour) {
            at = (at + 1) & (size - 1);
        }
        if (entries_[at].round != round_) {
            entries_[at] = {colour, round_};
            ++classes;
        }
    }
    return classes;
}

}  // namespace memwall
