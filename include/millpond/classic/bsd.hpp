// SPDX-License-Identifier: BSL-1.0
// bsd: sizes are powers of two, less a tag, each with a list of free blocks; blocks coalesce only when memory runs out.
//
//   │tag│ 8 bytes │    │tag│ 24 bytes             │    │tag│ 56 bytes …       blocks of 16, 32, 64 …
//     └ number of the class; a free block has its link where the user's bytes were
//
// The paper's BSD is Chris Kingsley's allocator of 4.2 BSD. A request is rounded up to a power of two minus the tag's
// word. When the list of a class is empty, a page of 4 KiB is cut into its blocks; larger classes take what they need.
// The paper gives neither the constant (a word, as in 4.2 BSD) nor the smallest class (tag and link).
//
// When the region has no more, adjacent free blocks become one, which the original did not do: a program near its
// memory limit can go on.
//
// allocate, deallocate: O(1), but O(256) where a page is cut, and O(heap) when the region has no more; deallocate needs
// only the address. Serves every alignment, those beyond the words' own with a larger block; null at the region's
// limit. Not thread-safe. Only release() returns memory to the system. Source: Grunwald, Zorn and Henderson 1993,
// sections 2.1, 4.1 and 4.4.
//
// Example:
//     millpond::classic::bsd<> heap;
//     void* block = heap.allocate(24, 8);
//     heap.deallocate(block);
#pragma once

#include <array>
#include <bit>
#include <cstddef>

#include "../block/region.hpp"
#include "../core/abi.hpp"
#include "../core/detail/alignment.hpp"
#include "detail/break_heap.hpp"
#include "detail/heap_shell.hpp"
#include "detail/tag_before.hpp"
#include "heap_use.hpp"
#include "operation_counts.hpp"
#include "words.hpp"

namespace millpond::inline MILLPOND_ABI::classic {

// Counts: operation_counts, or `uncounted`. Region: a basic_region.
template <class Words = pointer_words, class Counts = uncounted, class Region = region>
class bsd : public detail::heap_shell<bsd<Words, Counts, Region>, detail::break_heap<Words, Region>, Counts> {
    using shell = detail::heap_shell<bsd, detail::break_heap<Words, Region>, Counts>;
    friend shell;
    using memory = detail::break_heap<Words, Region>;
    using tags = detail::tag_before<memory>;
    using word = typename Words::word;

  public:
    static constexpr std::size_t least_block_bytes = std::bit_ceil(2 * sizeof(word));
    static constexpr std::size_t classes = 8 * sizeof(word) - std::bit_width(least_block_bytes);

    explicit bsd(std::size_t limit_bytes = shell::default_limit_bytes) noexcept : shell(limit_bytes) {}

    // Returns: memory for `bytes`, aligned to `alignment` and to the words' own alignment; null if there is no memory.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if (alignment <= Words::alignment) return take(bytes, bytes);
        if (alignment > detail::max_bytes || bytes > detail::max_bytes - alignment) return nullptr;
        std::byte* const block = take(bytes + alignment, bytes);
        return block != nullptr ? tags::aligned(block, alignment) : nullptr;
    }

    // Returns: the bytes that the user of the block may use.
    [[nodiscard]] static std::size_t usable_bytes(const void* block) noexcept {
        const auto* const user = static_cast<const std::byte*>(block);
        const std::byte* const origin = tags::origin(user);
        return block_bytes(class_of_tag(tags::read(origin))) - tags::bytes - static_cast<std::size_t>(user - origin);
    }

    // Calls visit(number, free blocks) for each list of free blocks, empty ones too. O(free blocks).
    template <class Visit>
    void for_each_list(Visit&& visit) const {
        for (std::size_t number = 0; number < classes; ++number) {
            std::size_t length = 0;
            for (const std::byte* user = free_[number]; user != nullptr; user = next(user)) ++length;
            visit(number, length);
        }
    }

    // O(free blocks).
    [[nodiscard]] heap_use use() const noexcept {
        heap_use found = memory_.use();
        for_each_list([&](std::size_t number, std::size_t is_free) {
            found.note(block_bytes(number), true, is_free);
            found.note(block_bytes(number), false, cut_[number] - is_free);
        });
        return found;
    }

  private:
    using shell::counts_;
    using shell::memory_;
    // The bytes before the first tag. They align the bytes behind it, as blocks are multiples of that alignment.
    static constexpr std::size_t before_bytes = Words::alignment - tags::bytes;
    static constexpr word free_mark = 128;  // in a tag, while join looks
    static_assert(2 * classes <= free_mark);

    [[nodiscard]] static constexpr std::size_t block_bytes(std::size_t number) noexcept {
        return least_block_bytes << number;
    }
    [[nodiscard]] static std::size_t class_of_tag(word tag) noexcept { return tag / 2; }

    // Returns: the class whose blocks hold so many bytes of the user.
    [[nodiscard]] static std::size_t class_of(std::size_t bytes) noexcept {
        const std::size_t whole = bytes + tags::bytes;
        if (whole <= least_block_bytes) return 0;
        return static_cast<std::size_t>(std::bit_width(whole - 1) - std::bit_width(least_block_bytes) + 1);
    }

    void give_back(std::byte* block) noexcept {
        counts_.note_deallocation();
        std::byte* const user = tags::origin(block);
        std::byte*& first = free_[class_of_tag(tags::read(user))];
        memory_.store_link(user, first != nullptr ? first : memory_.base());
        first = user;
    }

    void forget() noexcept {
        free_ = free_when_none_ = {};
        cut_ = {};
    }

    [[nodiscard]] std::byte* take(std::size_t bytes, std::size_t requested) noexcept {
        if (bytes > detail::max_bytes / 2) return nullptr;
        const std::size_t number = class_of(bytes);
        if (number >= classes || (free_[number] == nullptr && !cut(number))) return nullptr;
        std::byte* const user = free_[number];
        free_[number] = next(user);
        counts_.note_allocation(requested, block_bytes(number));
        return user;
    }

    // Effects: adds blocks of a class, the lowest first in its list. Returns: false if there is no memory.
    [[nodiscard, gnu::noinline]] bool cut(std::size_t number) noexcept {
        if (memory_.used_bytes() == 0 && before_bytes != 0 && memory_.extend(before_bytes) == nullptr) return false;
        const std::size_t bytes = block_bytes(number);
        const std::size_t whole = bytes < memory::page_bytes ? memory::page_bytes : bytes;
        std::byte* start = memory_.extend(whole);
        if (start == nullptr) start = join(whole);
        if (start == nullptr) return false;
        counts_.note_growth();
        for (std::size_t offset = whole; offset != 0; offset -= bytes) {
            std::byte* const user = start + offset - bytes + tags::bytes;
            tags::write(user, static_cast<word>(2 * number));
            push(number, user);
        }
        cut_[number] += whole / bytes;
        return true;
    }

    // Effects: adjacent free blocks leave their lists; what they have beyond `whole` bytes, a power of two of pages,
    // becomes free blocks again. Returns: their start; null if no run of free blocks is that long.
    [[nodiscard, gnu::noinline, gnu::cold]] std::byte* join(std::size_t whole) noexcept {
        if (memory_.used_bytes() == 0 || (free_ == free_when_none_ && whole >= none_bytes_)) return nullptr;
        mark_free_blocks(free_mark);
        std::byte *start = memory_.base() + before_bytes, *end = start;
        while (end != memory_.end() && static_cast<std::size_t>(end - start) < whole) {
            const bool is_free = is_chunk_free(end);
            end += chunk_bytes(end);
            if (!is_free) start = end;
        }
        mark_free_blocks(0);
        if (static_cast<std::size_t>(end - start) < whole) {
            free_when_none_ = free_;
            none_bytes_ = whole;
            return nullptr;
        }
        forget_between(start, end);
        for (std::byte* rest = start + whole; rest != end;) {
            const std::size_t bytes = std::bit_floor(static_cast<std::size_t>(end - rest));
            const auto number = static_cast<std::size_t>(std::bit_width(bytes) - std::bit_width(least_block_bytes));
            tags::write(rest + tags::bytes, static_cast<word>(2 * number));
            push(number, rest + tags::bytes);
            ++cut_[number];
            rest += bytes;
        }
        return start;
    }

    void mark_free_blocks(word mark) noexcept {
        for (std::size_t number = 0; number < classes; ++number)
            for (std::byte* user = free_[number]; user != nullptr; user = next(user))
                tags::write(user, static_cast<word>(2 * number) | mark);
    }

    // Returns: the size of a chunk, which is what cut took at once: a page of small blocks, or one block.
    [[nodiscard]] static std::size_t chunk_bytes(const std::byte* chunk) noexcept {
        const std::size_t bytes = bytes_of_first(chunk);
        return bytes < memory::page_bytes ? memory::page_bytes : bytes;
    }
    [[nodiscard]] static std::size_t bytes_of_first(const std::byte* chunk) noexcept {
        return block_bytes(class_of_tag(tags::read(chunk + tags::bytes) & ~free_mark));
    }
    // Call it while free blocks are marked.
    [[nodiscard]] static bool is_chunk_free(const std::byte* chunk) noexcept {
        const std::size_t bytes = bytes_of_first(chunk), whole = chunk_bytes(chunk);
        for (std::size_t offset = 0; offset != whole; offset += bytes)
            if ((tags::read(chunk + offset + tags::bytes) & free_mark) == 0) return false;
        return true;
    }

    // Effects: takes the free blocks between these out of their lists; they are no longer blocks.
    void forget_between(const std::byte* start, const std::byte* end) noexcept {
        for (std::size_t number = 0; number < classes; ++number) {
            std::byte* user = free_[number];
            free_[number] = nullptr;
            while (user != nullptr) {
                std::byte* const behind = next(user);
                if (user < start || user >= end) {
                    push(number, user);
                } else {
                    --cut_[number];
                }
                user = behind;
            }
        }
    }

    void push(std::size_t number, std::byte* user) noexcept {
        memory_.store_link(user, free_[number] != nullptr ? free_[number] : memory_.base());
        free_[number] = user;
    }

    // The last link of a list leads to the base, where no bytes of a user lie.
    [[nodiscard]] std::byte* next(const std::byte* user) const noexcept {
        std::byte* const link = memory_.load_link(user);
        return link != memory_.base() ? link : nullptr;
    }

    std::array<std::byte*, classes> free_{};
    std::array<std::size_t, classes> cut_{};
    // The lists at the time when join found no place for so many bytes. Unless they change, it need not search again.
    std::array<std::byte*, classes> free_when_none_{};
    std::size_t none_bytes_ = 0;
};

}  // namespace millpond::inline MILLPOND_ABI::classic
