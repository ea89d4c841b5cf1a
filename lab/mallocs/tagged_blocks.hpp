// SPDX-License-Identifier: BSL-1.0
// tagged_blocks: adds a tag in front of every block to a heap without tags, for Table 6 of the paper.
//
//   the heap's block │ … │tag│ user's bytes …       tag: the number of bytes before the user's; read at free
//
// The paper adds eight bytes to each object of GNU LOCAL and calls that "with tags", which only costs the space. This
// class also accesses the tags. User's bytes stay aligned, so a tag of one word costs two words.
//
// allocate, deallocate: those of the heap and one access more. The address is enough for a free. Not thread-safe.
// Source: Grunwald, Zorn and Henderson 1993, section 4.3 and Table 6.
#pragma once

#include <cstddef>
#include <cstring>

#include "millpond/classic/heap_record.hpp"
#include "millpond/classic/words.hpp"
#include "millpond/core/detail/alignment.hpp"

namespace millpond::mallocs {

template <class Heap>
class tagged_blocks {
    using word = classic::pointer_words::word;
    static constexpr std::size_t least_before_bytes = classic::pointer_words::alignment;

  public:
    // Returns: memory for `bytes`, aligned to `alignment` and to two words; null without memory.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        const std::size_t before = alignment > least_before_bytes ? alignment : least_before_bytes;
        if (bytes > detail::max_bytes / 4 || before > detail::max_bytes / 4) return nullptr;
        auto* const block = static_cast<std::byte*>(heap_.try_allocate(bytes + before, alignment));
        if (block == nullptr) return nullptr;
        const word tag = before;
        std::memcpy(block + before - sizeof tag, &tag, sizeof tag);
        return block + before;
    }

    // `user`: from this heap and still allocated; not null.
    void deallocate(void* user) noexcept { heap_.deallocate(static_cast<std::byte*>(user) - before_bytes(user)); }

    // Returns: the bytes that the user of the block may use.
    [[nodiscard]] std::size_t usable_bytes(const void* user) const noexcept {
        const std::size_t before = before_bytes(user);
        return heap_.usable_bytes(static_cast<const std::byte*>(user) - before) - before;
    }

    [[nodiscard]] classic::heap_record record() const noexcept { return heap_.record(); }
    [[nodiscard]] const auto& operations() const noexcept { return heap_.operations(); }

  private:
    [[nodiscard]] static std::size_t before_bytes(const void* user) noexcept {
        word tag = 0;
        std::memcpy(&tag, static_cast<const std::byte*>(user) - sizeof tag, sizeof tag);
        return tag;
    }

    Heap heap_;
};

}  // namespace millpond::mallocs
