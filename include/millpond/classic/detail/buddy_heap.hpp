// SPDX-License-Identifier: BSL-1.0
// buddy_heap: block sizes in a series where each is the sum of two smaller ones; a free pair becomes one block again.
//
//   size n = size n-1 + size n-Step        Step 1: 32, 64, 128, 256 …        Step 2: 32, 64, 96, 160, 256 …
//
//   │tag│ user's bytes                          │tag│                     │   tag: number of the size · left or right ·
//   └───────────── left, n-1 ───────────────────┴──── right, n-Step ──────┘    the parent's side, kept by the left ·
//                                                                             and its parent's, by the right · free
//
// A block finds its buddy by its size and side. A left block keeps its parent's side, and a right one what the parent
// kept, so a rejoined block knows both (Cranston and Thomas). The whole heap is a left block; it grows by becoming the
// left part of the next size. The paper names the two systems and gives no figures.
//
// allocate, deallocate: O(log bytes); deallocate needs only the address. Not thread-safe. Source: Grunwald, Zorn and
// Henderson 1993, section 2.1 (Standish's categories).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "../../core/abi.hpp"
#include "../../core/detail/alignment.hpp"
#include "../heap_use.hpp"
#include "break_heap.hpp"
#include "heap_shell.hpp"
#include "tag_before.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Words, class Counts, class Region, std::size_t Step>
class buddy_heap : public heap_shell<buddy_heap<Words, Counts, Region, Step>, break_heap<Words, Region>, Counts> {
    using shell = heap_shell<buddy_heap, break_heap<Words, Region>, Counts>;
    friend shell;
    using memory = break_heap<Words, Region>;
    using tags = tag_before<memory>;
    using word = typename Words::word;

  public:
    // A tag and two links, in whole units.
    static constexpr std::size_t least_block_bytes = std::bit_ceil(align_up(3 * sizeof(word), Words::alignment));
    static constexpr std::size_t sizes = 63;

    explicit buddy_heap(std::size_t limit_bytes = shell::default_limit_bytes) noexcept : shell(limit_bytes) {}

    // Returns: memory for `bytes`, aligned to `alignment` and to the words' own alignment; null if there is no memory.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if (alignment <= Words::alignment) return take(bytes, bytes);
        if (alignment > max_bytes || bytes > max_bytes - alignment) return nullptr;
        std::byte* const block = take(bytes + alignment, bytes);
        return block != nullptr ? tags::aligned(block, alignment) : nullptr;
    }

    // Returns: the bytes that the user of the block may use.
    [[nodiscard]] static std::size_t usable_bytes(const void* block) noexcept {
        const auto* const user = static_cast<const std::byte*>(block);
        const std::byte* const origin = tags::origin(user);
        return bytes_of(tag(origin).number) - tags::bytes - static_cast<std::size_t>(user - origin);
    }

    // Calls visit(block, bytes with the tag, whether it is free) for each block in the order of addresses. O(blocks).
    template <class Visit>
    void for_each_block(Visit&& visit) const {
        if (first_ == nullptr) return;
        const std::byte* const end = first_ + bytes_of(root_);
        for (const std::byte* user = first_; user < end; user += bytes_of(tag(user).number))
            visit(static_cast<const void*>(user), bytes_of(tag(user).number), tag(user).is_free);
    }

    // Calls visit(number, free blocks) for each list of free blocks, empty ones too. O(free blocks).
    template <class Visit>
    void for_each_list(Visit&& visit) const {
        for (std::size_t number = 0; number < sizes; ++number) {
            std::size_t length = 0;
            for (const std::byte* user = free_[number]; user != nullptr && (length == 0 || user != free_[number]);
                 user = memory_.load_link(user))
                ++length;
            visit(number, length);
        }
    }

    // O(blocks).
    [[nodiscard]] classic::heap_use use() const noexcept {
        classic::heap_use found = memory_.use();
        for_each_block([&](const void*, std::size_t bytes, bool is_free) { found.note(bytes, is_free); });
        return found;
    }

  private:
    using shell::counts_;
    using shell::memory_;
    static constexpr std::size_t before_bytes = Words::alignment - tags::bytes;
    static constexpr std::size_t first_heap_bytes = memory::page_bytes;

    struct block_tag {
        std::size_t number = 0;
        bool is_right = false;
        bool kept = false;  // left block: whether its parent is a right one; right block: what its parent kept
        bool is_free = false;
    };

    static constexpr std::array<std::size_t, sizes> all_bytes = [] {
        std::array<std::size_t, sizes> found{};
        for (std::size_t n = 0; n < sizes; ++n) {
            const std::size_t sum = n >= Step ? found[n - 1] + found[n - Step] : least_block_bytes << n;
            found[n] = n >= Step && sum > max_bytes / 4 ? max_bytes / 2 : sum;
        }
        return found;
    }();

    [[nodiscard]] static std::size_t bytes_of(std::size_t number) noexcept { return all_bytes[number]; }

    [[nodiscard]] static block_tag tag(const std::byte* user) noexcept {
        const word bits = tags::read(user);
        return {bits >> 4, (bits & 8) != 0, (bits & 4) != 0, (bits & 2) != 0};
    }
    static void set_tag(std::byte* user, block_tag value) noexcept {
        tags::write(user, static_cast<word>(value.number << 4 | std::size_t{value.is_right} << 3 |
                                            std::size_t{value.kept} << 2 | std::size_t{value.is_free} << 1));
    }

    void give_back(std::byte* block) noexcept {
        counts_.note_deallocation();
        put_back(tags::origin(block));
    }

    void forget() noexcept {
        first_ = nullptr;
        free_ = {};
        filled_ = 0;
        root_ = 0;
    }

    [[nodiscard]] std::byte* take(std::size_t bytes, std::size_t requested) noexcept {
        if (bytes > max_bytes / 8) return nullptr;
        const std::size_t whole = bytes + tags::bytes;
        std::byte* user = nullptr;
        while ((user = find(whole)) == nullptr) {
            if (!grow(whole)) return nullptr;
        }
        block_tag found = tag(user);
        unlink(user, found.number);
        while (found.number >= Step && whole <= bytes_of(found.number - 1)) user = split(user, found, whole);
        found.is_free = false;
        set_tag(user, found);
        counts_.note_allocation(requested, bytes_of(found.number));
        return user;
    }

    // Returns: a free block of the smallest size that has one and is large enough.
    [[nodiscard]] std::byte* find(std::size_t whole) noexcept {
        std::size_t looked_at = 0;
        for (std::uint64_t left = filled_; left != 0; left &= left - 1, ++looked_at) {
            const auto number = static_cast<std::size_t>(std::countr_zero(left));
            if (bytes_of(number) >= whole) {
                counts_.note_search(looked_at + 1);
                return free_[number];
            }
        }
        counts_.note_search(looked_at);
        return nullptr;
    }

    // Effects: cuts a block in two and frees the part that is not needed. Returns: the other part, whose tag is
    // `found`.
    [[nodiscard]] std::byte* split(std::byte* user, block_tag& found, std::size_t whole) noexcept {
        counts_.note_split();
        const block_tag left{found.number - 1, false, found.is_right, true};
        const block_tag right{found.number - Step, true, found.kept, true};
        std::byte* const second = user + bytes_of(left.number);
        const bool takes_right = bytes_of(right.number) < bytes_of(left.number) && whole <= bytes_of(right.number);
        set_tag(user, left);
        set_tag(second, right);
        if (takes_right) {
            insert(user, left.number);
            found = right;
            return second;
        }
        insert(second, right.number);
        found = left;
        return user;
    }

    // Effects: makes the block free and joins it with its buddy as long as that is free.
    void put_back(std::byte* user) noexcept {
        block_tag own = tag(user);
        while (own.number != root_) {
            const std::size_t parent = own.number + (own.is_right ? Step : 1);
            std::byte* const buddy = own.is_right ? user - bytes_of(parent - 1) : user + bytes_of(own.number);
            const block_tag other = tag(buddy);
            if (!other.is_free || other.number != (own.is_right ? parent - 1 : parent - Step)) break;
            counts_.note_coalesce();
            unlink(buddy, other.number);
            const block_tag& left = own.is_right ? other : own;
            const block_tag& right = own.is_right ? own : other;
            if (own.is_right) user = buddy;
            own = {parent, left.kept, right.kept, true};
        }
        own.is_free = true;
        set_tag(user, own);
        insert(user, own.number);
    }

    // Effects: makes the heap the left part of the next size. Returns: false if there is no memory.
    [[nodiscard]] bool grow(std::size_t whole) noexcept {
        if (first_ == nullptr) return begin(whole);
        if (root_ + 1 >= sizes) return false;
        const std::size_t right = root_ + 1 - Step;
        std::byte* const start = memory_.extend(bytes_of(right));
        if (start == nullptr) return false;
        counts_.note_growth();
        ++root_;
        set_tag(start + tags::bytes, {right, true, false, false});
        put_back(start + tags::bytes);
        return true;
    }

    [[nodiscard]] bool begin(std::size_t whole) noexcept {
        std::size_t number = Step;
        while (bytes_of(number) < first_heap_bytes || bytes_of(number) < whole) {
            if (++number == sizes) return false;
        }
        std::byte* const start = memory_.extend(before_bytes + bytes_of(number));
        if (start == nullptr) return false;
        counts_.note_growth();
        first_ = start + before_bytes + tags::bytes;
        root_ = number;
        set_tag(first_, {number, false, false, true});
        insert(first_, number);
        return true;
    }

    // The lists of free blocks are rings through the blocks, without heads in them.
    void insert(std::byte* user, std::size_t number) noexcept {
        std::byte*& first = free_[number];
        if (first == nullptr) {
            link(user, user);
            filled_ |= std::uint64_t{1} << number;
        } else {
            link(memory_.load_link(first + tags::bytes), user);
            link(user, first);
        }
        first = user;
    }

    void unlink(std::byte* user, std::size_t number) noexcept {
        std::byte*& first = free_[number];
        std::byte* const after = memory_.load_link(user);
        if (after == user) {
            first = nullptr;
            filled_ &= ~(std::uint64_t{1} << number);
            return;
        }
        link(memory_.load_link(user + tags::bytes), after);
        if (first == user) first = after;
    }

    void link(std::byte* before, std::byte* after) noexcept {
        memory_.store_link(before, after);
        memory_.store_link(after + tags::bytes, before);
    }

    std::byte* first_ = nullptr;  // the user's bytes of the first block
    std::array<std::byte*, sizes> free_{};
    std::uint64_t filled_ = 0;  // sizes that have a free block
    std::size_t root_ = 0;      // the number of the whole heap's size
};

}  // namespace millpond::inline MILLPOND_ABI::detail
