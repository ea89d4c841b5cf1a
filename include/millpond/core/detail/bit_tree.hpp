// SPDX-License-Identifier: BSL-1.0
// bit_tree: a set of numbers in which the lowest free one is found in a few instructions, whatever its size.
//
//   level 2                │1……………………0…│                       a bit is 1 where all 64 bits below it are 1
//   level 1        │1…………1│1…………1│0…………1│ …
//   level 0  │1…1│1…1│1…1│1…1│1…1│1011…│ …                      a bit for each number: 1 taken, 0 free
//                                  ▲ the lowest 0: one tzcnt for each level
//
// Memory of zeros is an empty set, so fresh pages of the system need no initialisation, and a level that does not exist
// yet costs nothing. The caller owns the words: the levels above the leaves in one piece, the leaves in another one,
// which may grow. A caller that keeps a leaf in a register changes it there; it calls fill when the leaf has become
// full and open when it is full no longer. All other callers use take and give. Leaves behind the end need not be
// readable: none is touched before all those below it are full.
//
// At most 5 levels: 2^30 numbers with words of 64 bits, 2^25 with words of 32. take, give, fill, open, lowest_open:
// O(levels), usually one. Not thread-safe. Ownership: refers to the caller's words.
//
// Example:
//     std::uint64_t inner[millpond::detail::bit_tree::inner_words(100)] = {};
//     std::uint64_t leaves[100] = {};
//     millpond::detail::bit_tree numbers(inner, leaves, 100);
//     assert(numbers.take() == 0 && numbers.take() == 1 && numbers.take() == 2);
//     numbers.give(1);
//     assert(numbers.take() == 1 && numbers.take() == 3);
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "../abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Word>
class basic_bit_tree {
    static_assert(std::numeric_limits<Word>::is_integer && !std::numeric_limits<Word>::is_signed);

  public:
    static constexpr unsigned bits = std::numeric_limits<Word>::digits;
    static constexpr unsigned shift = static_cast<unsigned>(std::countr_zero(bits));
    static constexpr unsigned most_levels = 5;
    static constexpr std::size_t most_leaves = std::size_t{1} << (shift * (most_levels - 1));
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    static constexpr Word full = std::numeric_limits<Word>::max();

    // Returns: the words of all levels above so many leaves.
    [[nodiscard]] static constexpr std::size_t inner_words(std::size_t leaves) noexcept {
        std::size_t sum = 0;
        while (leaves > 1) sum += leaves = above(leaves);
        return sum;
    }

    basic_bit_tree() noexcept = default;

    // Ownership: refers to `inner`, inner_words(count) words, and to `leaves`, `count` words from 1 to most_leaves.
    basic_bit_tree(Word* inner, Word* leaves, std::size_t count) noexcept : leaves_(count) {
        level_[0] = leaves;
        while (count > 1) {
            count = above(count);
            level_[levels_++] = inner;
            inner += count;
        }
    }

    // Returns: the first leaf with a free number, or none.
    [[nodiscard]] std::size_t lowest_open() const noexcept {
        if (levels_ == 1) return level_[0][0] != full ? 0 : none;
        // The next level lies behind the last word of a level: a word read there leads behind the last leaf.
        std::size_t at = 0;
        for (unsigned level = levels_; --level > 0;) {
            const Word word = level_[level][at];
            if (word == full) return none;
            at = at << shift | static_cast<unsigned>(std::countr_one(word));
        }
        return at < leaves_ ? at : none;
    }

    // Effects: notes that a leaf has become full.
    void fill(std::size_t leaf) noexcept {
        for (unsigned level = 1; level < levels_; ++level) {
            Word& word = level_[level][leaf >> shift];
            word |= bit_of(leaf);
            if (word != full) return;
            leaf >>= shift;
        }
    }

    // Effects: notes that a leaf is not full; it need not have been full before.
    void open(std::size_t leaf) noexcept {
        for (unsigned level = 1; level < levels_; ++level) {
            Word& word = level_[level][leaf >> shift];
            const Word before = word;
            word &= static_cast<Word>(~bit_of(leaf));
            if (before != full) return;
            leaf >>= shift;
        }
    }

    // Effects: takes the lowest free number. Returns: it, or none.
    [[nodiscard]] std::size_t take() noexcept {
        const std::size_t leaf = lowest_open();
        if (leaf == none) return none;
        Word& word = level_[0][leaf];
        const auto bit = static_cast<unsigned>(std::countr_one(word));
        word = static_cast<Word>(word | (word + 1));
        if (word == full) fill(leaf);
        return leaf << shift | bit;
    }

    // Effects: makes a number free that was taken.
    void give(std::size_t number) noexcept {
        const std::size_t leaf = number >> shift;
        const bool was_full = level_[0][leaf] == full;
        level_[0][leaf] &= static_cast<Word>(~bit_of(number));
        if (was_full) open(leaf);
    }

    [[nodiscard]] Word* leaves() const noexcept { return level_[0]; }
    [[nodiscard]] std::size_t leaf_count() const noexcept { return leaves_; }

    // Returns: the bit of a number in its leaf, or of a leaf in the word above it.
    [[nodiscard]] static constexpr Word bit_of(std::size_t number) noexcept {
        return static_cast<Word>(Word{1} << (number & (bits - 1)));
    }

  private:
    [[nodiscard]] static constexpr std::size_t above(std::size_t count) noexcept { return (count + bits - 1) >> shift; }

    Word* level_[most_levels] = {};
    unsigned levels_ = 1;
    std::size_t leaves_ = 0;
};

using bit_tree = basic_bit_tree<std::uint64_t>;

}  // namespace millpond::inline MILLPOND_ABI::detail
