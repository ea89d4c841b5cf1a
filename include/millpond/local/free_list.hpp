// SPDX-License-Identifier: BSL-1.0
// free_list: freed blocks of one size, linked through their own first bytes, the last freed first.
//
//   first ─▶│next│▒▒▒▒│─▶│next│▒▒▒▒│─▶│null│▒▒▒▒│       poisoned, the links too
//
// Use it inside an allocator that knows the size of its blocks; they must hold a pointer and be aligned to it.
// push, pop: O(1). Not thread-safe.
//
// Example:
//     alignas(8) char block[24] = {};
//     millpond::free_list list{};
//     list.push(block, sizeof block);
//     assert(list.pop(sizeof block) == block && list.pop(sizeof block) == nullptr);
//     millpond::unpoison(block, sizeof block);
#pragma once

#include <cstddef>
#include <new>

#include "../core/sanitizer.hpp"

namespace millpond {

class free_list {
    struct link {
        link* next;
    };

  public:
    // Effects: the block, of `bytes`, belongs to the list and is poisoned.
    void push(void* block, std::size_t bytes) noexcept {
        unpoison(block, sizeof(link));
        first_ = ::new (block) link{first_};
        poison(block, bytes);
    }

    // Returns: the block pushed last, still poisoned, or null.
    [[nodiscard]] void* pop([[maybe_unused]] std::size_t bytes) noexcept {
        link* const block = first_;
        if (block == nullptr) return nullptr;
        unpoison(block, sizeof(link));
        first_ = block->next;
        poison(block, bytes);
        return block;
    }

  private:
    link* first_;  // not initialised, so that a pool can leave its classes unwritten: start with free_list{}
};

}  // namespace millpond
