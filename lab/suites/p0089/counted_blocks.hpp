// SPDX-License-Identifier: BSL-1.0
// counted_blocks: how many blocks a piece of work asks the abstract base for. A count, so it has no noise.
//
//   counted_blocks([&] { … })  ─▶ base pools made meanwhile stand over new and delete, which count
//
// Whatever the strategy's own allocator is: containers ask for the same blocks. Not to be timed, and not thread-safe.
#pragma once

#include <cstdint>
#include <utility>

#include "base_pool.hpp"
#include "millpond/bind/resource.hpp"
#include "millpond/block/new_delete.hpp"

namespace millpond::p0089 {

inline std::uint64_t blocks_counted = 0;

class counted_new_delete : public new_delete {
  public:
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        ++blocks_counted;
        return new_delete::allocate(bytes, alignment);
    }
};

// Effects: work(), between a change of base and the change back. No base pool lives before, or after.
template <class Work>
std::uint64_t counted_blocks(Work work) {
    const base_maker before = std::exchange(base_made, maker_of<resource<counted_new_delete>>());
    blocks_counted = 0;
    work();
    base_made = before;
    return blocks_counted;
}

}  // namespace millpond::p0089
