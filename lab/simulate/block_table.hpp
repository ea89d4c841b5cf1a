// SPDX-License-Identifier: BSL-1.0
// block_table: holds a value for each block (line or page) that a program has touched.
//
// A hash table with open addressing, at most half full; nothing is ever removed. A look-up is O(1), usually in one
// cache line. Memory: two to four times sizeof(entry) for each block, and half as much again while it grows. Not
// thread-safe.
#pragma once

#include "lab/simulate/array.hpp"

namespace millpond::simulate {

// Mixes all bits of a block's number (the finaliser of splitmix64).
inline uint64_t mixed(uint64_t block) {
    block += 0x9e3779b97f4a7c15u;
    block = (block ^ (block >> 30)) * 0xbf58476d1ce4e5b9u;
    block = (block ^ (block >> 27)) * 0x94d049bb133111ebu;
    return block ^ (block >> 31);
}

template <class Value>
class block_table {
  public:
    struct entry {
        uint64_t name;  // block + 1; 0: free
        Value value;
    };

    explicit block_table(const host& system) : system_(&system), entries_(system, size_t{1} << first_bits) {}

    size_t size() const { return count_; }
    size_t bytes() const { return entries_.bytes(); }

    // Returns the value of `block`; a new block has Value{}. Valid until the next call.
    Value& operator[](uint64_t block) {
        entry* found = &place(block);
        if (found->name == 0) {
            if (2 * (count_ + 1) > entries_.size()) {
                double_size();
                found = &place(block);
            }
            ++count_;
            found->name = block + 1;
        }
        return found->value;
    }

    // Returns null if the block was never seen.
    const Value* find(uint64_t block) const {
        const entry& found = const_cast<block_table&>(*this).place(block);
        return found.name == 0 ? nullptr : &found.value;
    }

    // Fetches what a later look-up of `block` will read first.
    void prefetch(uint64_t block) const { __builtin_prefetch(&entries_[first_place(block)]); }

    template <class Action>
    void for_each(const Action& action) {
        for (size_t i = 0; i < entries_.size(); ++i) {
            if (entries_[i].name != 0) action(entries_[i].name - 1, entries_[i].value);
        }
    }
    template <class Action>
    void for_each(const Action& action) const {
        const auto of_const = [&](uint64_t block, const Value& value) { action(block, value); };
        const_cast<block_table&>(*this).for_each(of_const);
    }

  private:
    static constexpr unsigned first_bits = 10;

    size_t first_place(uint64_t block) const { return static_cast<size_t>((block * 0x9e3779b97f4a7c15u) >> shift_); }

    entry& place(uint64_t block) {
        size_t i = first_place(block);
        while (entries_[i].name != 0 && entries_[i].name != block + 1) i = (i + 1) & (entries_.size() - 1);
        return entries_[i];
    }

    void double_size() {
        array<entry> old(*system_, entries_.size() * 2);
        old.swap(entries_);
        --shift_;
        for (size_t i = 0; i < old.size(); ++i) {
            if (old[i].name != 0) place(old[i].name - 1) = old[i];
        }
    }

    const host* system_;
    array<entry> entries_;
    size_t count_ = 0;
    unsigned shift_ = 64 - first_bits;
};

}  // namespace millpond::simulate
