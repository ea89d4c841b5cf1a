// SPDX-License-Identifier: BSL-1.0
// free_chunks: released chunks of one size, linked through their first bytes; the last released goes out first.
//
//   first ─▶│link│▒▒▒▒▒▒▒▒│─▶│link│▒▒▒▒▒▒▒▒│      all but the link is poisoned; a leak checker follows the links
//
// push, pop: O(1). Not thread-safe: the caches that are made of it see to that.
#pragma once

#include <cstddef>
#include <new>

#include "../../core/abi.hpp"
#include "../../core/detail/sanitizer.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class free_chunks {
    struct link {
        link* next;
    };

  public:
    [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

    // Effects: takes the chunk, of `bytes`, and poisons it.
    void push(void* chunk, std::size_t bytes) noexcept {
        first_ = ::new (chunk) link{first_};
        poison(static_cast<char*>(chunk) + sizeof(link), bytes - sizeof(link));
    }

    // Returns: the chunk pushed last, of `bytes`, no longer poisoned; or null.
    [[nodiscard]] void* pop(std::size_t bytes) noexcept {
        link* const chunk = first_;
        if (chunk == nullptr) return nullptr;
        first_ = chunk->next;
        unpoison(chunk, bytes);
        return chunk;
    }

  private:
    link* first_ = nullptr;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
