// SPDX-License-Identifier: BSL-1.0
// known_blocks: a block_table that remembers where the blocks of late were found.
//
//   block ──▶ one of 512 places, by its low bits │ the same block: its value, without a look-up in the table
//                                                │ another one: the table; it takes the place
//
// Programs touch the same few blocks again and again. Growth of the table moves its values, so it forgets all places.
// Not thread-safe.
#pragma once

#include "lab/simulate/block_table.hpp"

namespace millpond::simulate {

template <class Value>
class known_blocks {
  public:
    explicit known_blocks(const host& system) : table_(system), places_(system, places) {}

    // Returns the value of `block`; a new block has Value{}. Valid until the next call.
    Value& operator[](uint64_t block) {
        place& own = places_[block & (places - 1)];
        if (own.name == block + 1) return *own.value;
        const size_t bytes = table_.bytes();
        Value* const value = &table_[block];
        if (table_.bytes() != bytes) fill(places_.data(), places_.size(), place{});
        own = {block + 1, value};
        return *value;
    }

    template <class Action>
    void for_each(const Action& action) {
        table_.for_each(action);
    }
    template <class Action>
    void for_each(const Action& action) const {
        table_.for_each(action);
    }

  private:
    static constexpr size_t places = 512;
    struct place {
        uint64_t name;  // block + 1; 0: none
        Value* value;
    };

    block_table<Value> table_;
    array<place> places_;
};

}  // namespace millpond::simulate
