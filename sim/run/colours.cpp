#include "sim/run/colours.h"

namespace memwall {
namespace {

constexpr std::uint32_t kNone = 0xFFFFFFFFU;

// Open addressing over colours, which are uniform already. There are far fewer classes than elements: it grows with them.
class ColourTable {
  public:
    // The number of the colour; a fresh one gets the next number.
    std::uint32_t number(Colour colour) {
        std::size_t at = place_of(colour);
        if (entries_[at].number == kNone) {
            if (2 * std::size_t{next_} >= entries_.size()) {
                grow();
                at = place_of(colour);
            }
            entries_[at] = {colour, next_++};
        }
        return entries_[at].number;
    }
    [[nodiscard]] std::uint32_t size() const { return next_; }

  private:
    struct Entry {
        Colour colour = 0;
        std::uint32_t number = kNone;
    };

    [[nodiscard]] std::size_t place_of(Colour colour) const {
        std::size_t at = colour & (entries_.size() - 1);
        while (entries_[at].number != kNone && entries_[at].colour != colour) {
            at = (at + 1) & (entries_.size() - 1);
        }
        return at;
    }

    void grow() {
        std::vector<Entry> old(4 * entries_.size());
        old.swap(entries_);
        for (const Entry& entry : old) {
            if (entry.number != kNone) {
                entries_[place_of(entry.colour)] = entry;
            }
        }
    }

    std::vector<Entry> entries_ = std::vector<Entry>(64);
    std::uint32_t next_ = 0;
};

}  // namespace

Classes classes_of(const std::vector<Colour>& colours) {
    ColourTable table;
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

std::uint32_t count_classes(const std::vector<Colour>& colours) {
    ColourTable table;
    for (const Colour colour : colours) {
        table.number(colour);
    }
    return table.size();
}

}  // namespace memwall
