// SPDX-License-Identifier: BSL-1.0
// resetting_arena: a monotonic that is reset whenever nothing in it is alive.
//
//   allocate: +1   deallocate: −1   at 0 ─▶ reset: the chunks are kept, and fill again from the first
//
// O(1) on top of monotonic's; the reset is O(chunks). Not thread-safe.
#pragma once

#include <cstddef>

#include "../../core/abi.hpp"
#include "../../local/first_chunk.hpp"
#include "../../local/monotonic.hpp"
#include "../../wrap/in_mode.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class resetting_arena {
  public:
    resetting_arena() = default;
    explicit resetting_arena(first_chunk first) : arena_(first) {}

    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        void* const block = arena_.try_allocate(bytes, alignment);
        live_ += block != nullptr;
        return block;
    }
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        void* const block = arena_.allocate(bytes, alignment);
        ++live_;
        return block;
    }
    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        arena_.deallocate(block, bytes, alignment);
        if (--live_ == 0) arena_.reset();
    }

    // Returns: the blocks that are alive.
    [[nodiscard]] std::size_t live_blocks() const noexcept { return live_; }

  private:
    in_mode<monotonic<>> arena_;
    std::size_t live_ = 0;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
