// SPDX-License-Identifier: BSL-1.0
// bump_heap: a monotonic allocator as a malloc: blocks lie in the order of the calls and are never reused.
//
//   │n│ user's bytes │n│ user's bytes …  │ ─▶ end       n: the usable bytes, which realloc has to know
//
// It is `local/monotonic.hpp` for a whole program: the least work and the best order at allocation, and the most
// memory. Only the word in front is added, because malloc's interface needs it.
//
// allocate: O(1). deallocate: nothing. Not thread-safe. Null if the region's limit is reached.
#pragma once

#include <cstddef>

#include "millpond/classic/detail/break_heap.hpp"
#include "millpond/classic/detail/heap_shell.hpp"
#include "millpond/classic/heap_use.hpp"
#include "millpond/classic/words.hpp"
#include "millpond/core/detail/alignment.hpp"

namespace millpond::mallocs {

template <class Words, class Counts, class Region>
class bump_heap
    : public detail::heap_shell<bump_heap<Words, Counts, Region>, detail::break_heap<Words, Region>, Counts> {
    using shell = detail::heap_shell<bump_heap, detail::break_heap<Words, Region>, Counts>;
    friend shell;
    using memory = detail::break_heap<Words, Region>;
    using word = typename Words::word;

  public:
    explicit bump_heap(std::size_t limit_bytes = shell::default_limit_bytes) noexcept : shell(limit_bytes) {}

    // Returns: memory for `bytes`, aligned to `alignment` and to the words' own alignment; null without memory.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes > detail::max_bytes / 4 || alignment > detail::max_bytes / 4) return nullptr;
        if (alignment < Words::alignment) alignment = Words::alignment;
        if (memory_.used_bytes() == 0 && memory_.extend(Words::alignment) == nullptr) return nullptr;
        const std::size_t before = detail::padding_to(memory_.end() + sizeof(word), alignment) + sizeof(word);
        const std::size_t usable = (bytes + 2 * sizeof(word) - 1) / (2 * sizeof(word)) * (2 * sizeof(word));
        std::byte* const start = memory_.extend(before + usable);
        if (start == nullptr) return nullptr;
        std::byte* const user = start + before;
        memory::store(user - sizeof(word), static_cast<word>(usable));
        counts_.note_allocation(bytes, usable + sizeof(word));
        return user;
    }

    // Returns: the bytes that the user of the block may use.
    [[nodiscard]] static std::size_t usable_bytes(const void* block) noexcept {
        return memory::load(static_cast<const std::byte*>(block) - sizeof(word));
    }

    // Visits nothing: there is no free list.
    template <class Visit>
    void for_each_list(Visit&&) const {}

    [[nodiscard]] classic::heap_use use() const noexcept { return memory_.use(); }

  private:
    using shell::counts_;
    using shell::memory_;

    void give_back(std::byte*) noexcept { counts_.note_deallocation(); }
    static void forget() noexcept {}
};

}  // namespace millpond::mallocs
