// SPDX-License-Identifier: BSL-1.0
// list_system: Benchmark II of P0089R0, section 8: many subsystems, each of them an allocator and a linked list.
//
//   system ─▶ │S│S│S│…│   each new-ed in turn: allocator, list of a given length
//   shuffle   each S in turn: pop its first, push a new number to the end of an S drawn from all
//
// An empty list is skipped when its turn comes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "random_numbers.hpp"

namespace millpond::suites {

template <class C>
struct list_subsystem {
    using list = std::list<int, typename C::template allocator<int>>;
    // A single heap for all takes no room in a subsystem.
    [[no_unique_address]] typename C::pool pool;
    list numbers;

    explicit list_subsystem(std::uint64_t links) : numbers(C::template bind<int>(pool)) {
        for (std::uint64_t i = 0; i < links; ++i) numbers.push_back(static_cast<int>(i));
    }
};

// Subsystem: a list_subsystem, or a class derived from one.
template <class Subsystem>
class list_system {
  public:
    list_system(std::uint64_t count, std::uint64_t links, std::uint64_t seed) : random_(seed) {
        all_.reserve(count);
        for (std::uint64_t i = 0; i < count; ++i) all_.push_back(std::make_unique<Subsystem>(links));
    }

    [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
    [[nodiscard]] Subsystem& operator[](std::size_t i) noexcept { return *all_[i]; }

    // Effects: so many pairs of pop and push. Ahead: prefetches the memory of the next pairs, for parts whose time does
    // not count; the order of the pairs does not change.
    template <bool Ahead = false>
    void shuffle(std::uint64_t pairs) {
        std::array<std::uint32_t, Ahead ? window : 0> targets;
        for (std::uint32_t& target : targets) target = draw();
        std::uint64_t done = 0;
        while (done < pairs) {
            for (std::uint64_t i = 0; i < all_.size() && done < pairs; ++i) {
                auto& from = all_[i]->numbers;
                if (from.empty()) continue;
                from.pop_front();
                std::uint32_t target = draw();
                if constexpr (Ahead) {
                    std::swap(target, targets[done % window]);
                    prefetch(targets[(done + window - 1) % window], targets[(done + window / 2) % window], i);
                }
                all_[target]->numbers.push_back(static_cast<int>(++done));
            }
        }
    }

    // Returns: a sum that tells lists apart, but not the order of the numbers in each.
    [[nodiscard]] std::uint64_t checksum() const {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < all_.size(); ++i) {
            for (const int number : all_[i]->numbers) sum += (i + 1) * static_cast<std::uint32_t>(number);
        }
        return sum;
    }

  private:
    static constexpr std::uint64_t window = 16;

    std::uint32_t draw() noexcept { return random_.below(static_cast<std::uint32_t>(all_.size())); }

    // Prefetches the list that is pushed to `far` steps ahead, and its last node `near` steps ahead; also those of the
    // lists that are popped.
    void prefetch(std::uint32_t far, std::uint32_t near, std::uint64_t from) const {
        __builtin_prefetch(&all_[far]->numbers);
        const auto& soon = all_[near]->numbers;
        if (!soon.empty()) __builtin_prefetch(&soon.back(), 1);
        if (from + window >= all_.size()) return;
        __builtin_prefetch(&all_[from + window]->numbers);
        const auto& next = all_[from + window / 2]->numbers;
        if (!next.empty()) __builtin_prefetch(&next.front());
    }

    random_numbers random_;
    std::vector<std::unique_ptr<Subsystem>> all_;
};

}  // namespace millpond::suites
