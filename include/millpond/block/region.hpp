// SPDX-License-Identifier: BSL-1.0
// region: a block source that grows in one range of addresses, up to a hard limit.
//
//   │block│block│block│▒▒▒▒▒▒▒▒▒│······································│ guard page │
//   0            frontier ▲     ▲ committed                limit_bytes() ▲
//
// Use it below one allocator that must not move, must not outgrow a limit, or should give its memory back to the
// system: arena is monotonic over it. Blocks come back in the order of a stack, or all at once: the frontier falls when
// the last block comes back, and to 0 when no block is in use. A block freed in the middle gives the memory of its
// whole pages back at once. Its addresses serve the next block of the same size if it has 32 KiB or more; otherwise
// they wait until the frontier falls below them. For small blocks in any order use chunk_cache or compact_pool.
//
// Memory is committed, and supplied ahead of its use, in steps of an eighth of the frontier: at least 16 KiB, at most 1
// MiB. When the frontier falls, memory more than a step above the highest frontier of the last four to eight falls is
// decommitted, if it is an eighth of the committed memory and at least 64 KiB. Addresses are reserved with the first
// block.
//
// A structure that is built once and then only read can be protected: after protect() a write to any block ends the
// program (SIGSEGV), until unprotect(). Meanwhile new blocks are refused, and the caller frees none, except all by
// release or the destructor. Each is a system call: O(1), and O(pages that hold memory) inside it.
//
// Pages says where the memory comes from: file_region and numa_region are this class with pages of other kinds.
//
// try_allocate, try_resize: O(1), and one or two system calls a step. deallocate: O(1), and a system call where memory
// goes back. If the limit is reached or the system refuses memory, the result is null and nothing has changed. Every
// alignment is served. Not thread-safe. In checked mode the program ends on a double free, a foreign block, a wrong
// size or alignment, and calls of two threads that overlap. A forked child goes on with a copy. Source: reserve and
// commit.
//
// Example:
//     millpond::region source(std::size_t{100} << 20);  // 100 MiB at most
//     void* block = source.try_allocate(1000, 16);
//     assert(source.try_resize(block, 1000, 5000) >= 5000);  // in place, as it is the last
//     assert(source.try_allocate(std::size_t{200} << 20, 16) == nullptr);
//     assert(source.protect());  // from here on *block can only be read
//     assert(source.try_allocate(1, 1) == nullptr && source.unprotect());
#pragma once

#include <concepts>
#include <cstddef>
#include <utility>

#include "../core/abi.hpp"
#include "../core/allocation.hpp"
#include "../core/detail/alignment.hpp"
#include "../core/detail/live_blocks.hpp"
#include "../core/detail/one_at_a_time.hpp"
#include "../core/detail/sanitizer.hpp"
#include "../core/out_of_memory.hpp"
#include "detail/recent_peak.hpp"
#include "detail/region_holes.hpp"
#include "reservation.hpp"

namespace millpond::inline MILLPOND_ABI {

template <class Pages = os::pages>
class basic_region {
    using region_holes = detail::region_holes;

    static constexpr bool is_over_a_file = requires(const Pages& source) { source.bytes(); };

  public:
    static constexpr std::size_t default_limit_bytes = std::size_t{1} << (sizeof(void*) >= 8 ? 36 : 28);
    static constexpr std::size_t least_step_bytes = std::size_t{16} << 10;
    static constexpr std::size_t most_step_bytes = std::size_t{1} << 20;
    static constexpr std::size_t least_idle_bytes = std::size_t{64} << 10;

    // Reserves no addresses yet.
    basic_region() noexcept : wanted_bytes_(default_limit_bytes) {}

    // The limit is rounded up to pages; one of 0 or less lets nothing be allocated.
    template <std::integral Integer>
    explicit basic_region(Integer limit_bytes) noexcept
        : wanted_bytes_(limit_bytes > 0 ? static_cast<std::size_t>(limit_bytes) : 0) {}

    // The same, over these pages. What their file holds already counts as one block that is in use.
    template <std::integral Integer>
    basic_region(Integer limit_bytes, Pages source) noexcept
        : range_(0, std::move(source)), wanted_bytes_(limit_bytes > 0 ? static_cast<std::size_t>(limit_bytes) : 0) {
        if constexpr (is_over_a_file) attach();
    }

    basic_region(const basic_region&) = delete;
    basic_region& operator=(const basic_region&) = delete;

    // Effects: blocks that other processes have added to the file since are mapped here, too, and count as in use.
    // Returns: false if there are too few addresses or the system refuses; then nothing has changed.
    bool attach() noexcept
        requires is_over_a_file
    {
        const std::size_t present = detail::align_up(range_.page_source().bytes(), Pages::size());
        if (present <= frontier_) return true;
        if (range_.data() == nullptr && wanted_bytes_ < present) wanted_bytes_ = present;
        reserve();
        if (!range_.commit_to(present)) return false;
        if (live_ == 0) live_ = 1;
        frontier_ = present;
        detail::unpoison_contents(range_.data(), present);
        return true;
    }

    // Returns: `bytes` of memory aligned to `alignment`, or null.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        bytes += bytes == 0;
        const detail::one_at_a_time::visit here(busy_, "the region");
        if (void* const block = take_hole(bytes, alignment)) return block;
        std::size_t start = 0;
        return find_room(bytes, alignment, start) ? give(start, start + bytes, bytes, alignment) : nullptr;
    }

    // Returns: memory up to the end of the last page that the block needs, so at least `bytes`.
    [[nodiscard]] allocation try_allocate_at_least(std::size_t bytes, std::size_t alignment) noexcept {
        bytes += bytes == 0;
        const detail::one_at_a_time::visit here(busy_, "the region");
        if (void* const block = take_hole(bytes, alignment)) return {block, bytes};
        std::size_t start = 0;
        if (!find_room(bytes, alignment, start)) return {};
        const std::size_t end = detail::align_up(start + bytes, Pages::size());
        return {give(start, end, bytes, alignment), end - start};
    }

    // Throws: std::bad_alloc.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        if (void* block = try_allocate(bytes, alignment)) return block;
        out_of_memory(bytes, alignment);
    }

    void deallocate(void* block, std::size_t bytes, [[maybe_unused]] std::size_t alignment) noexcept {
        const detail::one_at_a_time::visit here(busy_, "the region");
        bytes += bytes == 0;
        blocks_.drop(block, bytes, alignment, "the region");
        detail::poison(block, bytes);
        const std::size_t start = offset_of(block);
        if (--live_ == 0) {
            fall_to(0);
        } else if (start + bytes == frontier_) {
            fall_to(start);
        } else if (bytes < region_holes::least_bytes) {
            range_.discard(start, start + bytes);
        } else if (region_holes::is_wide(bytes) && detail::is_aligned(block, region_holes::wide_alignment) &&
                   bytes % region_holes::wide_alignment == 0) {
            const allocation hole = holes_.note_wide(static_cast<char*>(block), bytes);
            const std::size_t first = offset_of(hole.start);
            range_.discard(first + region_holes::kept_bytes(hole.start), first + hole.bytes);
        } else {
            range_.discard(start + region_holes::kept_bytes(block), start + bytes);
            if (!region_holes::is_wide(bytes)) holes_.note(block, bytes);
        }
    }

    // Effects: if the block is the last one, moves its end so that it holds `wanted` bytes and a step, or nearer to
    // that. Returns: the block's size from now on. It is less than `wanted` only if nothing changed: another block lies
    // behind it, the limit is reached, or the system has no memory.
    [[nodiscard]] std::size_t try_resize(void* block, std::size_t bytes, std::size_t wanted) noexcept {
        const std::size_t start = offset_of(block);
        if (start + bytes != frontier_ || is_protected_) return bytes;
        if (wanted <= bytes) {
            const std::size_t end = with_step(start + wanted);
            detail::poison(range_.data() + start + wanted, bytes - wanted);
            fall_to(end < frontier_ ? end : frontier_);
            detail::unpoison(range_.data() + start + wanted, frontier_ - start - wanted);
        } else {
            if (wanted > range_.size() - start || !commit_to(start + wanted)) return bytes;
            const std::size_t end = with_step(start + wanted);
            const std::size_t old_end = frontier_;
            frontier_ = end < range_.committed() ? end : range_.committed();
            detail::unpoison(range_.data() + old_end, frontier_ - old_end);
        }
        blocks_.resize(block, frontier_ - start);
        return frontier_ - start;
    }

    // Effects: frees all blocks; the memory is kept, as when the frontier falls.
    void reset() noexcept {
        detail::poison(range_.data(), frontier_);
        blocks_.clear();
        live_ = 0;
        fall_to(0);
    }

    // Effects: frees all blocks and gives all memory back to the system. The addresses stay.
    void release() noexcept {
        static_cast<void>(unprotect());
        blocks_.clear();
        live_ = 0;
        frontier_ = 0;
        holes_.forget();
        peak_ = detail::recent_peak{};
        range_.decommit_to(0);
    }

    // Effects: makes all blocks read-only. Returns: false if the system refuses; then they may still be written.
    [[nodiscard]] bool protect() noexcept {
        is_protected_ = is_protected_ || range_.set_writable(false);
        return is_protected_;
    }

    // Effects: blocks may be written and freed again. Returns: false if the system refuses.
    [[nodiscard]] bool unprotect() noexcept {
        is_protected_ = is_protected_ && !range_.set_writable(true);
        return !is_protected_;
    }

    // Returns: the distance in bytes of a block, or of a place inside it, from the first byte. It is the same in every
    // process that maps the file.
    [[nodiscard]] std::size_t offset_of(const void* block) const noexcept {
        return static_cast<std::size_t>(static_cast<const std::byte*>(block) - range_.data());
    }

    // Returns: the place at this distance, or null if nothing is in use there.
    [[nodiscard]] void* at(std::size_t offset) const noexcept {
        return offset < frontier_ ? range_.data() + offset : nullptr;
    }

    // Returns: where the pages come from: the file with its error, or the node.
    [[nodiscard]] const Pages& page_source() const noexcept { return range_.page_source(); }

    // Returns: the limit in bytes. It is below the wanted one if the system had too few addresses; before the first
    // block it is the wanted one.
    [[nodiscard]] std::size_t limit_bytes() const noexcept {
        return range_.data() != nullptr ? range_.size() : wanted_bytes_;
    }

    // Returns: the bytes below the frontier.
    [[nodiscard]] std::size_t used_bytes() const noexcept { return frontier_; }

    // Returns: the bytes that are committed and therefore charged to the process.
    [[nodiscard]] std::size_t held_bytes() const noexcept { return range_.committed(); }

    // Effects: asks for huge pages, or for none. The system may ignore it; ask where you have measured a gain. Returns:
    // false if the system has no such advice, or no addresses for the region.
    bool advise_huge(bool wanted) noexcept {
        reserve();
        return range_.advise_huge(wanted);
    }

  private:
    // A commit of more than this is a large block, whose owner may never touch all of it: it is not supplied ahead.
    static constexpr std::size_t most_populated_bytes = 2 * most_step_bytes;

    void reserve() noexcept {
        if (range_.data() != nullptr) return;
        range_.reserve(wanted_bytes_);
        range_.name("arena or region");
    }

    // Returns: true, and where the block would begin, if it is committed now.
    [[nodiscard]] bool find_room(std::size_t bytes, std::size_t alignment, std::size_t& start) noexcept {
        if (is_protected_) return false;
        if constexpr (is_over_a_file) {
            if (range_.committed() == 0 && !attach())
                return false;  // else the block would lie over the file's contents
        }
        reserve();
        if (bytes > range_.size()) return false;  // no sum can overflow; the range refuses an end beyond its own
        start = frontier_ + detail::padding_to(range_.data() + frontier_, alignment);
        return commit_to(start + bytes);
    }

    [[nodiscard]] void* take_hole(std::size_t bytes, std::size_t alignment) noexcept {
        if (is_protected_) return nullptr;
        void* const block =
            region_holes::is_wide(bytes) ? holes_.take_wide(bytes, alignment) : holes_.take(bytes, alignment);
        if (block == nullptr) return nullptr;
        ++live_;
        blocks_.note(block, bytes, bytes, alignment);
        detail::unpoison(block, bytes);
        return block;
    }

    // `asked`: the bytes that were asked for, out of the bytes up to `end`.
    [[nodiscard]] void* give(std::size_t start, std::size_t end, std::size_t asked, std::size_t alignment) noexcept {
        ++live_;
        blocks_.note(range_.data() + start, asked, end - start, alignment);
        frontier_ = end;
        detail::unpoison(range_.data() + start, end - start);
        return range_.data() + start;
    }

    // Returns: `end` and a step, rounded to the end of a page or of the range.
    [[nodiscard]] std::size_t with_step(std::size_t end) const noexcept {
        std::size_t step = end / 8;
        if (step < least_step_bytes) step = least_step_bytes;
        if (step > most_step_bytes) step = most_step_bytes;
        return step < range_.size() - end ? detail::align_up(end + step, Pages::size()) : range_.size();
    }

    [[nodiscard]] bool commit_to(std::size_t end) noexcept {
        const std::size_t before = range_.committed();
        if (end <= before) return true;
        if (!range_.commit_to(with_step(end)) && !range_.commit_to(end)) return false;
        const std::size_t fresh = range_.committed() - before;
        detail::poison(range_.data() + before, fresh);
        if (fresh <= most_populated_bytes) range_.populate(before, before + fresh);
        return true;
    }

    void fall_to(std::size_t frontier) noexcept {
        const std::size_t kept = with_step(peak_.note(frontier_));
        if (frontier == 0) holes_.forget();  // they all lie below the last block
        frontier_ = frontier;
        const std::size_t committed = range_.committed();
        if (kept < committed && committed - kept >= least_idle_bytes && committed - kept >= committed / 8)
            range_.decommit_to(kept);
    }

    basic_reservation<Pages> range_;
    std::size_t wanted_bytes_;
    std::size_t frontier_ = 0;
    std::size_t live_ = 0;  // live blocks
    bool is_protected_ = false;
    region_holes holes_;
    detail::recent_peak peak_;
    [[no_unique_address]] detail::live_blocks blocks_;
    [[no_unique_address]] detail::one_at_a_time busy_;
};

using region = basic_region<>;

}  // namespace millpond::inline MILLPOND_ABI
