// SPDX-License-Identifier: BSL-1.0
// models: caches, stacks and hierarchies, implemented literally from their definitions, without regard to speed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "lab/simulate/hierarchy.hpp"
#include "lab/simulate/set_cache.hpp"
#include "streams.hpp"

namespace millpond::test {

// Returns the lines that a reference touches, in order.
inline std::vector<std::uint64_t> lines_of(const millpond_reference& r, std::uint64_t line_bytes) {
    std::vector<std::uint64_t> lines = {r.address / line_bytes};
    for (std::uint64_t i = 1; i < r.bytes && r.address + i > r.address; ++i) {
        if (const std::uint64_t line = (r.address + i) / line_bytes; line != lines.back()) lines.push_back(line);
    }
    return lines;
}

// Calls touch(line) for every line, and count(worst) for every reference as the rule counts it.
template <class Touch, class Count>
void walk(const stream& all, std::uint64_t line_bytes, bool twice, const Touch& touch, const Count& count) {
    for (const millpond_reference& r : all) {
        std::optional<std::uint64_t> worst;
        for (const std::uint64_t line : lines_of(r, line_bytes)) {
            const std::uint64_t cost = touch(line);
            if (twice)
                count(cost);
            else
                worst = std::max(worst.value_or(0), cost);
        }
        if (!twice) count(*worst);
    }
}

// The line that missed last in each page of 4 KiB, with its time; only the 32 latest pages count.
class model_neighbours {
  public:
    explicit model_neighbours(std::uint64_t line_bytes) : lines_(4096 / line_bytes) {}

    bool foresees(std::uint64_t line) {
        const auto known = pages_.find(line / lines_);
        bool is_next = false;
        if (known != pages_.end()) {
            const auto& [last, when] = known->second;
            const auto later = std::count_if(pages_.begin(), pages_.end(),
                                             [&, at = when](const auto& page) { return page.second.second > at; });
            is_next = later < 32 && (line == last + 1 || line + 1 == last);
        }
        pages_[line / lines_] = {line, ++now_};
        return is_next;
    }

  private:
    std::uint64_t lines_, now_ = 0;
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> pages_;
};

// One cache: for each set, the arrival and the last use of each line.
class model_cache {
  public:
    model_cache(std::uint64_t sets, unsigned ways, simulate::replacement rule = simulate::replacement::lru,
                std::uint64_t seed = 1)
        : ways_(ways), rule_(rule), drawn_(seed), sets_(sets) {}

    bool has(std::uint64_t line) const {
        const auto& set = sets_[line % sets_.size()];
        return std::any_of(set.begin(), set.end(), [&](const held& each) { return each.line == line; });
    }

    void use(std::uint64_t line) {
        for (held& each : sets_[line % sets_.size()]) {
            if (each.line == line) each.used = ++now_;
        }
    }

    // The line that had to go.
    std::optional<std::uint64_t> insert(std::uint64_t line) {
        auto& set = sets_[line % sets_.size()];
        std::optional<std::uint64_t> evicted;
        if (set.size() == ways_) {
            const auto victim = choose(set);
            evicted = victim->line;
            *victim = {line, ++now_, now_};
        } else {
            // Random draws a place, so places are in the order in which the simulator fills them: the latest first.
            set.insert(set.begin(), {line, ++now_, now_});
        }
        return evicted;
    }

    void remove(std::uint64_t line) {
        std::erase_if(sets_[line % sets_.size()], [&](const held& each) { return each.line == line; });
    }

    // True for a miss, which brings the line in.
    bool miss(std::uint64_t line) {
        if (has(line)) {
            use(line);
            return false;
        }
        insert(line);
        return true;
    }

    void flush() {
        for (auto& set : sets_) set.clear();
    }

  private:
    struct held {
        std::uint64_t line, came, used;
    };

    std::vector<held>::iterator choose(std::vector<held>& set) {
        if (rule_ == simulate::replacement::random) {
            drawn_ ^= drawn_ << 13;
            drawn_ ^= drawn_ >> 7;
            drawn_ ^= drawn_ << 17;
            return set.begin() + static_cast<std::ptrdiff_t>(drawn_ % ways_);
        }
        return std::min_element(set.begin(), set.end(), [&](const held& a, const held& b) {
            return rule_ == simulate::replacement::lru ? a.used < b.used : a.came < b.came;
        });
    }

    unsigned ways_;
    simulate::replacement rule_;
    std::uint64_t drawn_, now_ = 0;
    std::vector<std::vector<held>> sets_;
};

// Blocks in the order of their last use, the latest last.
class model_stack {
  public:
    static constexpr std::uint64_t cold = ~std::uint64_t{0}, flushed = cold - 1;

    std::uint64_t touch(std::uint64_t block) {
        const auto found = std::find(order_.rbegin(), order_.rend(), block);
        std::uint64_t distance = known_.insert(block).second ? cold : flushed;
        if (found != order_.rend()) {
            distance = static_cast<std::uint64_t>(found - order_.rbegin());
            order_.erase(std::next(found).base());
        }
        order_.push_back(block);
        return distance;
    }

    void flush() { order_.clear(); }

  private:
    std::vector<std::uint64_t> order_;
    std::set<std::uint64_t> known_;
};

// The levels that hierarchy.hpp defines. touch returns the number of levels that missed.
class model_hierarchy {
  public:
    model_hierarchy(std::vector<model_cache> levels, simulate::inclusion rule)
        : levels_(std::move(levels)), rule_(rule) {}

    std::uint64_t touch(std::uint64_t line) {
        std::size_t found = 0;
        while (found < levels_.size() && !levels_[found].has(line)) ++found;
        if (found < levels_.size()) levels_[found].use(line);
        if (found == 0) return 0;
        if (rule_ == simulate::inclusion::exclusive)
            promote(line);
        else
            for (std::size_t level = found; level-- > 0;) bring_in(level, line);
        return found;
    }

    bool has(std::size_t level, std::uint64_t line) const { return levels_[level].has(line); }

  private:
    void promote(std::uint64_t line) {
        for (model_cache& level : levels_) level.remove(line);
        std::optional<std::uint64_t> moving = line;
        for (std::size_t level = 0; level < levels_.size() && moving; ++level) moving = levels_[level].insert(*moving);
    }

    void bring_in(std::size_t level, std::uint64_t line) {
        const std::optional<std::uint64_t> evicted = levels_[level].insert(line);
        if (!evicted || rule_ != simulate::inclusion::inclusive) return;
        for (std::size_t inner = 0; inner < level; ++inner) levels_[inner].remove(*evicted);
    }

    std::vector<model_cache> levels_;
    simulate::inclusion rule_;
};

}  // namespace millpond::test
