// SPDX-License-Identifier: BSL-1.0
// compact_pool: slots of one size, the lowest free address first; empty pages go back to the system at once.
//
//   row, 1 KiB   chunks, 4 KiB each           above 64 KiB: one reserved range
//   │█████│      │████│ │██ █│ │ ██ │   …     │███████│██ ████│      │  █    │▒▒▒▒▒▒▒▒ reserved ▒▒▒▒▒▒▒▒▒│
//                          ▲ next                              ▲ given back
//   leaf   │1101…│ the free slots of the lowest word of 64 are held in the pool itself; the bit tree has the others
//
// Use it for many nodes of one size that come and go for a long time. The live ones stay together, so traversals stay
// fast and memory shrinks with their number. It has no headers: a slot costs its bytes and one bit. For nodes of
// several sizes, or where memory need not shrink, use multipool; over a standard allocator, suballocator.
//
// Growth: first a row and chunks from the source, because a small pool must not pay for a reservation; above 64 KiB a
// range, where an address finds its slot by subtraction. Over sources that are not ordinary process memory (without a
// member `pages`) the pool stays in chunks. Return of memory: all empty chunks except one, at once. In the range,
// sweeps return empty pages when they are more than a sixteenth of those in use and more than 64 KiB. A sweep never
// changes protection in the middle, so holes do not use up the process's mappings. trim() sweeps at once.
//
// Requests that fit no slot pass to the source, one by one. A block of 0 bytes counts as 1.
// allocate, deallocate: O(1), about ten instructions each; now and then O(levels of the tree), at most 5, and system
// calls. reset: O(slots / 64). release: O(chunks + large blocks). for_each, stats: O(slots / 64).
// Not thread-safe, but not bound to a thread: any thread may free if calls do not overlap; synchronized ensures that.
// In checked and hardened builds a double free and an address that is not a slot end the program.
// After the suballocator of F. J. Tapia's Counter Tree Library (2012), chapter 4.
//
// Example:
//     millpond::compact_pool<40> pool;
//     void* a = pool.allocate(40, 8);
//     void* b = pool.allocate(40, 8);
//     pool.deallocate(a, 40, 8);
//     assert(a < b && pool.allocate(40, 8) == a);
//     assert(pool.stats().live_slots == 2);
#pragma once

#include <bit>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "../block/chunk_cache.hpp"
#include "../core/abi.hpp"
#include "../core/concepts.hpp"
#include "../core/detail/alignment.hpp"
#include "../core/detail/hardening.hpp"
#include "../core/detail/kept_exception.hpp"
#include "../core/detail/one_at_a_time.hpp"
#include "../core/detail/sanitizer.hpp"
#include "detail/block_owner.hpp"
#include "detail/large_blocks.hpp"
#include "detail/owned_chunks.hpp"
#include "detail/slot_chunks.hpp"
#include "detail/slot_range.hpp"
#include "slot_shape.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// The pages of the range: those of the source, if it is ordinary process memory.
template <class Source>
struct pages_of {
    using type = void;
};
template <class Source>
    requires requires { typename Source::pages; }
struct pages_of<Source> {
    using type = typename Source::pages;
};

}  // namespace millpond::inline MILLPOND_ABI::detail

namespace millpond::inline MILLPOND_ABI {

// The slots, chunks and pages of a compact_pool at one moment.
struct compact_pool_stats {
    std::size_t live_slots = 0;
    std::size_t slots = 0;      // live and free slots
    std::size_t free_runs = 0;  // runs of adjacent free slots
    std::size_t pages = 0;      // pages of the range that may hold memory; 0 without a range
    std::size_t held_bytes = 0;
};

// The bytes of rows that a pool takes from its source before it grows in a range.
struct promote_above {
    std::size_t bytes;
};

template <class Shape, block_source Source = chunk_cache>
class basic_compact_pool {
    using word = typename Shape::word;
    using pages = typename detail::pages_of<Source>::type;
    using chunks_type = detail::slot_chunks<Shape>;
    using range_type = detail::slot_range<Shape, pages>;
    using leaf = detail::slot_leaf<word>;

    static constexpr bool has_range = !std::is_void_v<pages>;
    static constexpr unsigned bits = std::numeric_limits<word>::digits;
    static constexpr word all = std::numeric_limits<word>::max();

  public:
    static constexpr std::size_t slot_bytes = Shape::bytes;
    static constexpr std::size_t alignment = Shape::alignment;
    static constexpr promote_above default_promotion{std::size_t{64} << 10};

    // Ownership: the source is a member, made from the arguments. Allocates nothing yet.
    basic_compact_pool() noexcept(noexcept(Source()))
        requires std::default_initializable<Source>
    {}

    template <class... SourceArguments>
        requires(sizeof...(SourceArguments) > 0 && !detail::starts_with_option<promote_above, SourceArguments...> &&
                 std::constructible_from<Source, SourceArguments...>)
    explicit basic_compact_pool(SourceArguments&&... arguments)
        : source_(std::forward<SourceArguments>(arguments)...) {}

    template <class... SourceArguments>
        requires std::constructible_from<Source, SourceArguments...>
    explicit basic_compact_pool(promote_above promotion, SourceArguments&&... arguments)
        : source_(std::forward<SourceArguments>(arguments)...), promotion_(promotion) {}

    basic_compact_pool(const basic_compact_pool&) = delete;
    basic_compact_pool& operator=(const basic_compact_pool&) = delete;
    ~basic_compact_pool() { give_all_back(); }

    // Returns: the size of the block that serves the request; 0 if it passes to the source.
    [[nodiscard]] static constexpr std::size_t block_bytes(std::size_t bytes, std::size_t align) noexcept {
        return fits(bytes, align) ? slot_bytes : 0;
    }

    // Returns: the lowest free slot, or a block of the source if the request fits no slot; or null.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t align) noexcept {
        const detail::one_at_a_time::visit here(busy_, "the compact_pool");
        if (!fits(bytes, align)) [[unlikely]]
            return large_.try_allocate(source_, bytes, align);
        char* const slot = take();
        if constexpr (detail::memory_checker) {
            if (slot != nullptr) detail::unpoison(slot, bytes + (bytes == 0));
        }
        return slot;
    }

    // Throws: what the source throws, or std::bad_alloc.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t align) {
        if (void* block = take_in_hand(bytes, align)) [[likely]]
            return block;
        return allocate_slowly(bytes, align);
    }

    // Effects: frees the slot. `bytes` and `align`: those of the request.
    void deallocate(void* block, std::size_t bytes, std::size_t align) noexcept {
        const detail::one_at_a_time::visit here(busy_, "the compact_pool");
        if (bytes != 0) detail::expect_open(block);
        expect_own(block, bytes, align);
        if (!fits(bytes, align)) [[unlikely]]
            return large_.deallocate(source_, block, bytes);
        detail::poison(block, slot_bytes);
        if (address(block) < bound_ && give_to_hand(block)) return;
        if constexpr (has_range) {
            if (range_.holds(block)) [[likely]]
                return give_to_range(block);
        }
        give_to_row(block);
    }

    // Returns: true if the address lies in a row or the range of this pool. It does not search blocks that fit no slot.
    [[nodiscard]] bool holds(const void* address) noexcept {
        return in_range(address) || chunks_.row_of(address).start != nullptr;
    }

    // Effects: calls each(begin, end) for the addresses of every row and of the range, as they are now.
    template <class Each>
    void for_each_piece(Each each) const {
        chunks_.for_each_row(
            [&](const auto& row) { each(address(row.start), address(row.first() + row.slots * slot_bytes)); });
        if constexpr (has_range) {
            if (range_.extent() != 0) each(range_.begin(), range_.begin() + range_.extent());
        }
    }

    // Effects: calls each(void* slot) for every live slot, in the order of addresses within a row and the range. It
    // must not call this pool.
    template <class Each>
    void for_each(Each each) const {
        visit_leaves([&](const leaf& from, word existing) {
            for (word live = static_cast<word>(taken_of(from) & existing); live != 0;
                 live &= static_cast<word>(live - 1))
                each(static_cast<void*>(from.first + static_cast<std::size_t>(std::countr_zero(live)) * slot_bytes));
        });
    }

    [[nodiscard]] compact_pool_stats stats() const noexcept;

    // Effects: gets more slots until `bytes` of them are free. Memory that was used and is empty goes back as usual.
    // Returns: false if there is no memory for all of them.
    [[nodiscard]] bool try_reserve(std::size_t bytes) noexcept {
        const detail::one_at_a_time::visit here(busy_, "the compact_pool");
        put_back();
        std::size_t free = 0;
        visit_leaves([&](const leaf& from, word existing) {
            free += static_cast<std::size_t>(std::popcount(static_cast<word>(~*from.taken & existing)));
        });
        while (free * slot_bytes < bytes) {
            std::size_t before = 0;
            if constexpr (has_range) before = range_.extent();
            const leaf added = grow();
            if (added.taken == nullptr) return false;
            note_open(added.first);
            if constexpr (has_range) free += (range_.extent() - before) / slot_bytes;
            if (!in_range(added.first)) free += chunks_.row_of(added.first).slots;
        }
        return true;
    }

    // Effects: gives back all empty pages of the range now.
    void trim() noexcept {
        const detail::one_at_a_time::visit here(busy_, "the compact_pool");
        put_back();
        if constexpr (has_range) range_.trim();
    }

    // Effects: forgets every block and keeps the memory; large blocks go back.
    void reset() noexcept {
        const detail::one_at_a_time::visit here(busy_, "the compact_pool");
        empty_hand();
        next_ = bound_ = 0;
        if constexpr (managed_allocator<Source>) {
            forget();
            source_.reset();
        } else {
            large_.release(source_);
            chunks_.reset();
        }
        if constexpr (has_range) range_.reset();
    }

    // Effects: gives all memory back; the destructor does the same.
    void release() noexcept {
        const detail::one_at_a_time::visit here(busy_, "the compact_pool");
        empty_hand();
        next_ = bound_ = 0;
        if constexpr (managed_allocator<Source>) {
            forget();
            source_.release();
        } else {
            give_all_back();
        }
        if constexpr (has_range) range_.release();
    }

    // Returns: the bytes obtained from the source, and the bytes of the range whose pages may hold memory.
    [[nodiscard]] std::size_t held_bytes() const noexcept {
        std::size_t sum = chunks_.held_bytes() + large_.held_bytes();
        if constexpr (has_range) sum += range_.held_bytes();
        return sum;
    }

    [[nodiscard]] Source& source() noexcept { return source_; }

  private:
    // The slots checked together for an empty page: those of a page or, if slots cross the ends of pages, an eighth of
    // them, so that few such pages are missed.
    static constexpr std::size_t page_slots = slot_bytes < 4096 ? std::bit_floor(4096 / slot_bytes) : 1;
    static constexpr std::size_t seen_slots =
        detail::is_power_of_two(slot_bytes) || page_slots < 8 ? page_slots : page_slots / 8;
    static constexpr unsigned group = seen_slots < bits ? static_cast<unsigned>(seen_slots) : bits;
    static constexpr word group_mask = static_cast<word>(all >> (bits - group));

    [[nodiscard]] static constexpr bool fits(std::size_t bytes, std::size_t align) noexcept {
        return bytes <= slot_bytes && align <= alignment;
    }
    [[nodiscard]] static std::uintptr_t address(const void* of) noexcept {
        return reinterpret_cast<std::uintptr_t>(of);
    }
    [[nodiscard]] static word bit_of(std::size_t slot) noexcept { return static_cast<word>(word{1} << (slot % bits)); }
    [[nodiscard]] bool in_range([[maybe_unused]] const void* slot) const noexcept {
        if constexpr (has_range) return range_.holds(slot);
        return false;
    }

    // Effects: under an address sanitizer, reports an address that is not a slot of this pool, and a block given back
    // with a size that is neither the requested one nor its own.
    void expect_own([[maybe_unused]] const void* block, [[maybe_unused]] std::size_t bytes,
                    [[maybe_unused]] std::size_t align) noexcept {
        if constexpr (detail::address_sanitizer) {
            if (!fits(bytes, align)) return;
            std::size_t offset = 0;
            if (in_range(block)) {
                if constexpr (has_range) offset = address(block) - range_.begin();
            } else {
                const auto row = chunks_.row_of(block);
                if (row.start == nullptr) return detail::report_to_sanitizer(detail::not_its_own, block);
                offset = address(block) - address(row.first());
            }
            if (offset % slot_bytes != 0)
                return detail::report_to_sanitizer("an address that is no slot was given back", block);
            if (bytes != 0 && bytes < slot_bytes && slot_bytes % 8 == 0) detail::expect_size(block, bytes);
        }
    }

    // The slots in hand read as taken in memory. They are a leaf, whose slots are the `hand_bytes_` from `first_` on,
    // with a one in `free_` for each free slot; and one slot below it, the last freed, so that a free and the next
    // allocation touch neither leaf nor tree. The slots in hand are lower than all other free slots: all leaves below
    // `next_` read full, and first_ is below next_. Slots at `bound_` or above can be freed in memory, whatever is in
    // hand.
    [[nodiscard]] char* take() noexcept {
        if (single_ != nullptr) return std::exchange(single_, nullptr);
        if (free_ == 0) [[unlikely]]
            return take_slowly();
        return take_from_hand();
    }

    // Returns: a block for the request if there is a slot for it in hand, else null.
    [[nodiscard]] void* take_in_hand(std::size_t bytes, std::size_t align) noexcept {
        const detail::one_at_a_time::visit here(busy_, "the compact_pool");
        if (!fits(bytes, align) || (single_ == nullptr && free_ == 0)) [[unlikely]]
            return nullptr;
        char* const slot = take();
        detail::unpoison(slot, bytes + (bytes == 0));
        return slot;
    }

    // Throws: as allocate.
    [[nodiscard, gnu::noinline]] void* allocate_slowly(std::size_t bytes, std::size_t align) {
        detail::kept_exception thrown;
        if (void* block = try_allocate(bytes, align)) return block;
        thrown.give_up(bytes, align);
    }

    [[nodiscard]] char* take_from_hand() noexcept {
        char* const slot = first_ + static_cast<std::size_t>(std::countr_zero(free_)) * slot_bytes;
        free_ &= static_cast<word>(free_ - 1);
        return slot;
    }

    // Effects: takes a slot that is being freed in hand, if it is below all other free ones. Returns: true if it did.
    [[nodiscard]] bool give_to_hand(void* block) noexcept {
        const std::size_t offset = address(block) - address(first_);
        if (offset < hand_bytes_) {
            give_to_leaf_in_hand(block, offset);
            return true;
        }
        if (address(block) >= (free_ != 0 ? address(first_) : next_)) return false;
        // Hardened pools check the bit of every slot that is freed, so that none is freed twice.
        if (single_ != nullptr || detail::is_hardened) {
            put_back();
            return false;
        }
        take_single(block);
        return true;
    }

    void give_to_leaf_in_hand(void* block, std::size_t offset) noexcept {
        const word bit = bit_of(offset / slot_bytes);
        if (detail::is_hardened && offset % slot_bytes != 0)
            detail::misuse_found("an address that is no slot was freed", block);
        if (detail::is_hardened && (free_ & bit) != 0) detail::misuse_found("a block was freed twice", block);
        free_ |= bit;
    }

    void take_single(void* block) noexcept {
        single_ = static_cast<char*>(block);
        if (free_ != 0) return;
        hand_bytes_ = 0;  // the leaf may lie below, so its freed slots come first
        bound_ = next_;
    }

    // Effects: if the leaf in hand is used up, takes in hand a slot of a full leaf that was just freed in memory, if it
    // is below all other free ones. Returns: true if it did.
    [[nodiscard]] bool take_from_full(void* block, word* taken) noexcept {
        if (detail::is_hardened || free_ != 0 || single_ != nullptr || address(block) >= next_) return false;
        *taken = all;
        take_single(block);
        return true;
    }

    void empty_hand() noexcept {
        single_ = first_ = nullptr;
        hand_bytes_ = 0;
        free_ = 0;
    }

    // Effects: writes the slots in hand back to memory.
    [[gnu::noinline]] void put_back() noexcept {
        char* const single = single_;
        const leaf hand{nullptr, first_, hand_bytes_ / slot_bytes};
        const word free = free_;
        empty_hand();
        if (free != 0) put_back(hand.first, free, hand.slots);
        if (single != nullptr) put_back(single, 1, 1);
        bound_ = next_;
        if constexpr (has_range) {
            if (range_.wants_sweep()) range_.sweep();
        }
    }

    // Effects: frees in memory the slots from `first` on, all in one leaf.
    void put_back(const char* first, word free, std::size_t count) noexcept {
        if (in_range(first)) {
            if constexpr (has_range) put_back_to_range(first, free, count);
            return;
        }
        const auto row = chunks_.row_of(first);
        const std::size_t slot = row.slot_of(first);
        const leaf to = row.leaf_at(slot / bits);
        *to.taken &= static_cast<word>(~(free << slot % bits));
        note_open(to.first);
        chunks_.open(row);
        chunks_.give_back_if_empty(source_, row);
    }

    void put_back_to_range(const char* first, word free, std::size_t count) noexcept {
        const std::size_t slot = range_.slot_of(first);
        word* const taken = range_.leaf_of(slot);
        *taken &= static_cast<word>(~(free << slot % bits));
        note_open(range_.first_of(taken));
        range_.open(taken);
        for (std::size_t at = slot; at < slot + count; at += group) {
            if (is_group_free(*taken, at)) range_.note_free(at / group * group, group);
        }
    }

    // Effects: notes that a leaf has a free slot.
    void note_open(const char* first) noexcept {
        if (address(first) < next_) next_ = address(first);
    }

    void give_to_range(void* block) noexcept {
        const std::size_t slot = range_.slot_of(block);
        if (detail::is_hardened && (address(block) - range_.begin()) % slot_bytes != 0)
            detail::misuse_found("an address that is no slot was freed", block);
        word* const taken = range_.leaf_of(slot);
        const word before = *taken;
        give_to(block, taken, slot);
        if (before == all) [[unlikely]]
            return reopen(block, taken, slot);
        if (is_group_free(*taken, slot)) [[unlikely]]
            note_free(slot);
    }

    static void give_to(void* block, word* taken, std::size_t slot) noexcept {
        if (detail::is_hardened && (*taken & bit_of(slot)) == 0) detail::misuse_found("a block was freed twice", block);
        *taken &= static_cast<word>(~bit_of(slot));
    }

    [[nodiscard]] static bool is_group_free(word taken, std::size_t slot) noexcept {
        return ((taken >> (slot % bits / group * group)) & group_mask) == 0;
    }

    [[gnu::noinline]] void reopen(void* block, word* taken, std::size_t slot) noexcept {
        if (take_from_full(block, taken)) return;
        note_open(range_.first_of(taken));
        range_.open(taken);
        if (group < bits && is_group_free(*taken, slot)) note_free(slot);
    }

    [[gnu::noinline]] void note_free(std::size_t slot) noexcept {
        range_.note_free(slot / group * group, group);
        if (range_.wants_sweep()) put_back();
    }

    [[gnu::noinline]] void give_to_row(void* block) noexcept {
        const auto row = chunks_.row_of(block);
        if (row.start == nullptr) detail::misuse_found("an address of no row of this pool was freed", block);
        const std::size_t slot = row.slot_of(block);
        if (detail::is_hardened && (slot >= row.slots || row.first() + slot * slot_bytes != block))
            detail::misuse_found("an address that is no slot was freed", block);
        const leaf to = row.leaf_at(slot / bits);
        const word before = *to.taken;
        give_to(block, to.taken, slot);
        if (before == all) {
            if (take_from_full(block, to.taken)) return;
            note_open(to.first);
            chunks_.open(row);
        }
        if (*to.taken == row.free_leaf(slot / bits)) chunks_.give_back_if_empty(source_, row);
    }

    // Returns: the leaf with the lowest free slot; taken is null if no slot is free.
    [[nodiscard]] leaf lowest_open() noexcept {
        leaf lowest = chunks_.lowest_open();
        if constexpr (has_range) {
            const leaf other = range_.lowest_open();
            if (other.taken != nullptr && (lowest.taken == nullptr || other.first < lowest.first)) lowest = other;
        }
        return lowest;
    }

    [[gnu::noinline]] char* take_slowly() noexcept {
        leaf lowest = lowest_open();
        if (lowest.taken == nullptr) lowest = grow();
        if (lowest.taken == nullptr) return nullptr;
        if (in_range(lowest.first)) {
            if constexpr (has_range) free_ = range_.check_out(lowest);
        } else {
            free_ = static_cast<word>(~*lowest.taken);
            *lowest.taken = all;
            chunks_.note_used(lowest.first);
        }
        first_ = lowest.first;
        hand_bytes_ = lowest.slots * slot_bytes;
        bound_ = address(first_) + hand_bytes_;
        const leaf next = lowest_open();
        next_ = next.taken != nullptr ? address(next.first) : std::numeric_limits<std::uintptr_t>::max();
        return take_from_hand();
    }

    // Returns: a leaf of new slots; taken is null if there is no memory.
    [[nodiscard]] leaf grow() noexcept {
        if constexpr (has_range) {
            if (chunks_.row_bytes() >= promotion_.bytes) {
                const leaf added = range_.grow();
                if (added.taken != nullptr) return added;
            }
        }
        return chunks_.add_row(source_);
    }

    // Returns: the taken bits of a leaf, without those in hand.
    [[nodiscard]] word taken_of(const leaf& from) const noexcept {
        word taken = *from.taken;
        const std::size_t end = from.slots * slot_bytes;
        if (first_ == from.first) taken &= static_cast<word>(~free_);
        const std::size_t offset = address(single_) - address(from.first);
        if (offset < end) taken &= static_cast<word>(~bit_of(offset / slot_bytes));
        return taken;
    }

    // Effects: calls each(leaf, a one for every slot that exists).
    template <class Each>
    void visit_leaves(Each each) const {
        chunks_.for_each_row([&](const auto& row) {
            for (std::size_t n = 0; n < chunks_type::words_for(row.slots); ++n)
                each(row.leaf_at(n), static_cast<word>(~row.free_leaf(n)));
        });
        if constexpr (has_range) range_.for_each_leaf([&](const leaf& from) { each(from, all); });
    }

    void forget() noexcept {
        large_.forget();
        chunks_.forget();
    }

    void give_all_back() noexcept {
        if constexpr (managed_allocator<Source>) return;
        large_.release(source_);
        chunks_.release(source_);
    }

    char* single_ = nullptr;
    word free_ = 0;
    char* first_ = nullptr;
    std::size_t hand_bytes_ = 0;
    std::uintptr_t bound_ = 0;
    std::uintptr_t next_ = 0;
    [[no_unique_address]] range_type range_;
    chunks_type chunks_;
    detail::large_blocks large_;
    [[no_unique_address]] Source source_;
    [[no_unique_address]] detail::one_at_a_time busy_;
    promote_above promotion_ = default_promotion;
};

template <class Shape, block_source Source>
compact_pool_stats basic_compact_pool<Shape, Source>::stats() const noexcept {
    compact_pool_stats found;
    const char* end = nullptr;  // of the previous leaf
    bool was_free = false;      // the last slot of the previous leaf
    visit_leaves([&](const leaf& from, word existing) {
        const word free = static_cast<word>(~taken_of(from) & existing);
        const auto slots = static_cast<std::size_t>(std::popcount(existing));
        if (from.first != end) was_free = false;
        const word starts = static_cast<word>(free & ~(free << 1 | (was_free ? 1U : 0U)));
        found.slots += slots;
        found.live_slots += slots - static_cast<std::size_t>(std::popcount(free));
        found.free_runs += static_cast<std::size_t>(std::popcount(starts));
        was_free = (free >> (slots - 1) & 1) != 0;
        end = from.first + slots * slot_bytes;
    });
    if constexpr (has_range) found.pages = range_.used_pages();
    found.held_bytes = held_bytes();
    return found;
}

template <std::size_t SlotBytes, block_source Source = chunk_cache>
using compact_pool = basic_compact_pool<slot_shape<SlotBytes>, Source>;

}  // namespace millpond::inline MILLPOND_ABI
