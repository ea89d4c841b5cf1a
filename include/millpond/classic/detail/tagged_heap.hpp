// SPDX-License-Identifier: BSL-1.0
// tagged_heap: blocks with a tag at each end, and lists of the free ones; the basis of first_fit, gnu_gxx and best_fit.
//
//   base                                      alignment ▼ of what the user gets
//   │ heads of the lists │end│ tag │ user's bytes … │tag│ tag │ next │ prev │ … free … │tag│end│
//                              └── size, tag and tag ───┘ └────────── size ────────────────┘
//
// A tag is a word: the size of the block with its two tags, plus 1 if it is in use. The two ends are tags of an empty
// block that is always in use, so no block has to check whether it has a neighbour. The heads are links in the same
// memory, so each list is a ring.
//
// Policy defines the differences:
//   lists, list_of(bytes)       the number of lists of free blocks, and the list of a size
//   find(heap, bytes)           a free block of at least that size, or null, and the number of blocks examined
//   begin, inserted, unlinked   notices of changes to the lists
//   merging                     when neighbours become one: classic/coalescing.hpp
//
// allocate: as the search; deallocate: O(1). A block is not cut if less than 24 bytes would be left (section 2.1). The
// lower part of a cut block is given, and the upper takes its place in the list. Memory grows by whole pages of 4 KiB.
// Not thread-safe. Source: Grunwald, Zorn and Henderson 1993, section 2.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "../../core/abi.hpp"
#include "../../core/detail/alignment.hpp"
#include "../coalescing.hpp"
#include "../heap_use.hpp"
#include "break_heap.hpp"
#include "heap_shell.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Words, class Counts, class Region, class Policy>
class tagged_heap : public heap_shell<tagged_heap<Words, Counts, Region, Policy>, break_heap<Words, Region>, Counts> {
    using shell = heap_shell<tagged_heap, break_heap<Words, Region>, Counts>;
    friend shell;

  public:
    using word = typename Words::word;
    static constexpr std::size_t word_bytes = sizeof(word);
    static constexpr std::size_t unit = Words::alignment;
    static constexpr std::size_t tag_bytes = 2 * word_bytes;
    static constexpr std::size_t least_block_bytes = align_up(2 * tag_bytes, unit);
    // "In this case less than 24 bytes" (section 2.1), and never less than a block.
    static constexpr std::size_t least_rest_bytes =
        align_up(24, unit) < least_block_bytes ? least_block_bytes : align_up(24, unit);

    explicit tagged_heap(std::size_t limit_bytes = shell::default_limit_bytes) noexcept : shell(limit_bytes) {}

    // Returns: memory for `bytes`, aligned to `alignment` and to the words' own alignment; null if there is no memory.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        std::byte* const node = take_uncounted(bytes, alignment);
        if (node != nullptr) counts_.note_allocation(bytes, size_of(node));
        return node;
    }

    // For heaps that take their memory from this one: blocks that they cut further are left out of the counts. Unless
    // it `may_grow`, only free blocks serve.
    [[nodiscard]] std::byte* take_uncounted(std::size_t bytes, std::size_t alignment, bool may_grow = true) noexcept {
        if (bytes > max_bytes / 2 || alignment > max_bytes / 4) return nullptr;
        const std::size_t size = block_bytes(bytes);
        if (alignment <= unit) return take(size, may_grow);
        std::byte* const node = take(size + alignment + least_block_bytes, may_grow);
        return node != nullptr ? cut_to(node, size, alignment) : nullptr;
    }
    void give_back_uncounted(std::byte* node) noexcept {
        const std::size_t size = size_of(node);
        if constexpr (Policy::merging == classic::coalescing::deferred) freed_bytes_ += size;
        put_back(node, size);
    }
    // Effects: gives the block `more` bytes, of a free block behind it or, if it `may_grow`, of the heap's end.
    // Returns: false if there are none; then nothing has changed.
    [[nodiscard]] bool enlarge_uncounted(std::byte* node, std::size_t more, bool may_grow) noexcept {
        more = align_up(more, unit);
        std::byte* const after = node + size_of(node);
        const std::size_t behind = is_taken(after) ? 0 : size_of(after);
        std::size_t grown = 0;
        if (behind < more) {
            if (!may_grow || after + behind != memory_.end()) return false;
            grown = align_up(more - behind, memory::page_bytes);
            if (memory_.extend(grown) == nullptr) return false;
            counts_.note_growth();
            memory_.store(memory_.end() - word_bytes, taken);
        }
        if (behind != 0) unlink(after);
        const std::size_t rest = behind + grown - more;
        const std::size_t cut = rest < least_rest_bytes ? 0 : rest;
        set_tags(node, size_of(node) + behind + grown - cut, taken);
        if (cut != 0) put_back(node + size_of(node), cut);
        return true;
    }
    void give_back(std::byte* node) noexcept {
        counts_.note_deallocation();
        give_back_uncounted(node);
    }

    // Returns: the bytes that the user of the block may use.
    [[nodiscard]] static std::size_t usable_bytes(const void* block) noexcept {
        return size_of(static_cast<const std::byte*>(block)) - tag_bytes;
    }

    // Calls visit(block, bytes with tags, whether it is free) for each block in the order of addresses. O(blocks).
    template <class Visit>
    void for_each_block(Visit&& visit) const {
        if (first_ == nullptr) return;
        for (std::byte* node = first_; size_of(node) != 0; node += size_of(node))
            visit(static_cast<const void*>(node), size_of(node), !is_taken(node));
    }

    // Calls visit(number, free blocks) for each list of free blocks, empty ones too. O(free blocks).
    template <class Visit>
    void for_each_list(Visit&& visit) const {
        for (std::size_t list = 0; list < Policy::lists; ++list) {
            std::size_t length = 0;
            if (first_ != nullptr)
                for (const std::byte* node = next(head(list)); !is_head(node); node = next(node)) ++length;
            visit(list, length);
        }
    }

    // O(blocks).
    [[nodiscard]] classic::heap_use use() const noexcept {
        classic::heap_use found = memory_.use();
        for_each_block([&](const void*, std::size_t bytes, bool is_free) { found.note(bytes, is_free); });
        return found;
    }

    // For policies: a node is the place of a free block's links, or the head of a list.
    [[nodiscard]] std::byte* head(std::size_t list) const noexcept { return memory_.base() + list * 2 * word_bytes; }
    [[nodiscard]] std::byte* next(const std::byte* node) const noexcept { return memory_.load_link(node); }
    [[nodiscard]] bool is_head(const std::byte* node) const noexcept { return node < first_; }
    [[nodiscard]] static std::size_t size_of(const std::byte* node) noexcept {
        return static_cast<std::size_t>(memory::load(node - word_bytes) & ~taken);
    }

  private:
    using shell::counts_;
    using shell::memory_;
    using memory = break_heap<Words, Region>;
    static constexpr word taken = 1;
    static constexpr std::size_t heads_bytes = Policy::lists * 2 * word_bytes;

    // Returns: the size of the block that holds so many bytes of the user.
    [[nodiscard]] static std::size_t block_bytes(std::size_t bytes) noexcept {
        const std::size_t size = align_up(bytes + tag_bytes, unit);
        return size < least_block_bytes ? least_block_bytes : size;
    }

    [[nodiscard]] static bool is_taken(const std::byte* node) noexcept {
        return (memory::load(node - word_bytes) & taken) != 0;
    }
    // Returns: the size of the block before this one if that is free, else 0.
    [[nodiscard]] static std::size_t free_bytes_before(const std::byte* node) noexcept {
        const word tag = memory::load(node - tag_bytes);
        return (tag & taken) == 0 ? static_cast<std::size_t>(tag) : 0;
    }

    void set_tags(std::byte* node, std::size_t size, word status) noexcept {
        const word tag = static_cast<word>(size) | status;
        memory_.store(node - word_bytes, tag);
        memory_.store(node + size - tag_bytes, tag);
    }

    void forget() noexcept {
        first_ = nullptr;
        policy_ = Policy{};
        freed_bytes_ = 0;
    }

    // Returns: a block of `size` bytes or a little more, marked as in use; null if there is no memory.
    [[nodiscard]] std::byte* take(std::size_t size, bool may_grow) noexcept {
        std::byte* node = first_ != nullptr ? find(size) : nullptr;
        if (node == nullptr) {
            node = may_grow ? grow(size) : nullptr;
            if (node == nullptr) return nullptr;
        }
        const std::size_t rest = size_of(node) - size;
        if (rest < least_rest_bytes) {
            unlink(node);
            set_tags(node, rest + size, taken);
            return node;
        }
        counts_.note_split();
        put_in_place_of(node, node + size, rest);
        set_tags(node, size, taken);
        return node;
    }

    [[nodiscard]] std::byte* find(std::size_t size) noexcept {
        auto [node, looked_at] = policy_.find(*this, size);
        if constexpr (Policy::merging == classic::coalescing::deferred) {
            if (node == nullptr && freed_bytes_ >= memory_.used_bytes() / 4 && freed_bytes_ != 0) {
                merge_all();
                const auto again = policy_.find(*this, size);
                node = again.first;
                looked_at += again.second;
            }
        }
        counts_.note_search(looked_at);
        return node;
    }

    // Returns: a free block of at least `size` bytes at the end of the heap, in its list; null if there is no memory.
    [[nodiscard]] std::byte* grow(std::size_t size) noexcept {
        if (first_ == nullptr && !begin()) return nullptr;
        std::byte* const node = memory_.end();
        std::size_t more = size;
        if constexpr (Policy::merging == classic::coalescing::at_once) {
            const std::size_t before = free_bytes_before(node);
            if (before >= size) return node - before;  // a block that the search did not look at
            more -= before;
        }
        more = align_up(more, memory::page_bytes);
        if (memory_.extend(more) == nullptr) return nullptr;
        counts_.note_growth();
        memory_.store(memory_.end() - word_bytes, taken);
        return put_back(node, more);
    }

    // Effects: writes the heads of the lists and the two ends, with no block between them.
    [[nodiscard]] bool begin() noexcept {
        const std::size_t before = align_up(heads_bytes + tag_bytes, unit);
        if (memory_.extend(before) == nullptr) return false;
        first_ = memory_.end();
        for (std::size_t list = 0; list < Policy::lists; ++list) link(head(list), head(list));
        memory_.store(first_ - tag_bytes, taken);
        memory_.store(first_ - word_bytes, taken);
        policy_.begin(*this);
        return true;
    }

    // Effects: makes these bytes a free block, joined with its neighbours if the policy says so. Returns: the block.
    std::byte* put_back(std::byte* node, std::size_t size) noexcept {
        if constexpr (Policy::merging == classic::coalescing::at_once) {
            std::byte* const after = node + size;
            if (!is_taken(after)) {
                counts_.note_coalesce();
                size += size_of(after);
                unlink(after);
            }
            if (const std::size_t before = free_bytes_before(node); before != 0) {
                counts_.note_coalesce();
                node -= before;
                size += before;
                if (Policy::list_of(size) == Policy::list_of(before)) {
                    set_tags(node, size, 0);
                    return node;
                }
                unlink(node);
            }
        }
        set_tags(node, size, 0);
        insert(node, Policy::list_of(size));
        return node;
    }

    // Effects: joins adjacent free blocks everywhere. O(blocks).
    void merge_all() noexcept {
        freed_bytes_ = 0;
        for (std::size_t list = 0; list < Policy::lists; ++list) link(head(list), head(list));
        policy_ = Policy{};
        policy_.begin(*this);
        for (std::byte* node = first_; size_of(node) != 0;) {
            std::size_t size = size_of(node);
            const bool is_free = !is_taken(node);
            for (std::byte* after = node + size; is_free && !is_taken(after); after = node + size) {
                counts_.note_coalesce();
                size += size_of(after);
            }
            if (is_free) {
                set_tags(node, size, 0);
                insert(node, Policy::list_of(size));
            }
            node += size;
        }
    }

    // Returns: an aligned block cut out of this one; the parts before and behind it are free again.
    [[nodiscard]] std::byte* cut_to(std::byte* node, std::size_t size, std::size_t alignment) noexcept {
        const std::size_t whole = size_of(node);
        std::size_t before = padding_to(node, alignment);
        if (before != 0 && before < least_block_bytes) before += align_up(least_block_bytes - before, alignment);
        std::byte* const block = node + before;
        const std::size_t behind = whole - before - size;
        const std::size_t cut = behind < least_rest_bytes ? 0 : behind;
        set_tags(block, whole - before - cut, taken);
        if (cut != 0) {
            counts_.note_split();
            put_back(block + size, cut);
        }
        if (before != 0) {
            counts_.note_split();
            put_back(node, before);
        }
        return block;
    }

    void link(std::byte* before, std::byte* after) noexcept {
        memory_.store_link(before, after);
        memory_.store_link(after + word_bytes, before);
    }

    void insert(std::byte* node, std::size_t list) noexcept {
        policy_.inserted(list);
        std::byte* const first = next(head(list));
        counts_.note_insertion(head(list), node, first);
        link(head(list), node);
        link(node, first);
    }

    void unlink(std::byte* node) noexcept {
        std::byte* const after = next(node);
        std::byte* const before = memory_.load_link(node + word_bytes);
        policy_.unlinked(node, after);
        link(before, after);
    }

    // Effects: `rest`, cut from the free block `node`, takes its place in the list, or goes to another list.
    void put_in_place_of(std::byte* node, std::byte* rest, std::size_t bytes) noexcept {
        const std::size_t list = Policy::list_of(bytes);
        if (list != Policy::list_of(size_of(node))) {
            unlink(node);
            set_tags(rest, bytes, 0);
            insert(rest, list);
            return;
        }
        std::byte* const after = next(node);
        std::byte* const before = memory_.load_link(node + word_bytes);
        set_tags(rest, bytes, 0);
        link(before, rest);
        link(rest, after);
        policy_.unlinked(node, rest);
    }

    std::byte* first_ = nullptr;  // the first block
    std::size_t freed_bytes_ = 0;
    [[no_unique_address]] Policy policy_;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
