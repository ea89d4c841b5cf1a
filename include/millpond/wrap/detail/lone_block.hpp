// SPDX-License-Identifier: BSL-1.0
// lone_block: a block of a checked allocator that has pages of its own, so that reads of it are seen as well.
//
//   │no access│guard B5 B5 …│ block │no access│guard …│ block │no access│        live: an overrun faults at once
//   │no access│      no access      │no access│guard …│ block │no access│        ended: so does every access
//
// The first 1024 blocks of a process are lone ones, and then one in 64 if an ended one makes room. checked still takes
// the block from its allocator and sets that memory aside: limits, counts and rewinds do not change. The record of a
// block stays until its pages are used again, even after its allocator is gone.
// A faulting address is looked up here (os/faults.hpp) and reported to misuse_handler with the instruction. If the
// handler returns, the pages are opened and the access goes on.
//
// A range of 256 MiB of addresses holds them all. There are no lone blocks if that range cannot be reserved, a memory
// checker watches, or src/os is not linked. Blocks that are live or in quarantine take at most 64 MiB; those that have
// left the quarantine have no memory.
//
// take, end, retire: one system call each, and O(entries looked at). Thread-safe: take holds a brief lock; the
// allocator that has the block makes the other calls.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "../../core/abi.hpp"
#include "../../core/detail/alignment.hpp"
#include "../../core/detail/brief_lock.hpp"
#include "../../core/detail/sanitizer.hpp"
#include "../../os/faults.hpp"
#include "../../os/optional_calls.hpp"
#include "../call_site.hpp"
#include "../misuse.hpp"
#include "block_record.hpp"
#include "block_report.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class lone_block {
  public:
    // Returns: pages for a block, open and reading as zero, or null if there are none for it. `owner`: the allocator,
    // whose address names it in reports.
    [[nodiscard]] static lone_block* take(std::size_t bytes, std::size_t alignment, const void* owner) noexcept {
        if constexpr (memory_checker) return nullptr;
        if (bytes > most_bytes || !is_ready() || alignment > page_bytes_) return nullptr;
        const std::size_t wanted = align_up(least_front_bytes + align_up(bytes + (bytes == 0), alignment), page_bytes_);
        if (open_bytes_.load(std::memory_order_relaxed) + wanted > most_open_bytes || !lock_.try_lock()) return nullptr;
        lone_block* const found = find_pages(wanted);
        lock_.unlock();
        if (found == nullptr) return nullptr;
        if (!calls().commit(found->pages_, wanted)) {
            found->is_retired_.store(true, std::memory_order_release);
            return nullptr;
        }
        open_bytes_.fetch_add(wanted, std::memory_order_relaxed);
        found->known_ = {};
        found->known_.start = found->pages_ + wanted - align_up(bytes + (bytes == 0), alignment);
        found->known_.bytes = bytes;
        found->known_.alignment = alignment;
        found->owner_ = owner;
        found->owner_gone_at_ = {};
        found->is_owner_gone_ = false;
        found->is_open_ = true;
        return found;
    }

    [[nodiscard]] char* start() const noexcept { return known_.start; }
    [[nodiscard]] char* pages() const noexcept { return pages_; }
    [[nodiscard]] std::size_t pages_bytes() const noexcept { return bytes_; }

    // Effects: assigns the pages to this live block.
    void note_allocated(call_site site) noexcept { known_.allocated_at = site; }

    // Effects: forbids access from now on. The contents stay.
    void end(const block_record& ended) noexcept {
        known_.ending = ended.ending;
        known_.ended_at = ended.ended_at;
        close();
    }

    // Effects: as end, for a block that was live when its allocator was destroyed, or had ended before.
    void end_with_owner(call_site site) noexcept {
        is_owner_gone_ = true;
        owner_gone_at_ = site;
        close();
        retire();
    }

    // Effects: returns the memory to the system, so that other blocks may have the pages. No access until then.
    void retire() noexcept {
        is_open_ = false;
        static_cast<void>(calls().decommit(pages_, bytes_));
        open_bytes_.fetch_sub(bytes_, std::memory_order_relaxed);
        is_retired_.store(true, std::memory_order_release);
    }

  private:
    static constexpr std::size_t least_front_bytes = 64;
    static constexpr std::size_t most_bytes = std::size_t{4} << 20;
    static constexpr std::size_t most_open_bytes = std::size_t{64} << 20;
    static constexpr std::size_t range_bytes = std::size_t{256} << 20;
    // The C library's free, called with a block that is not its own, looks for the head of a heap at such an address.
    static constexpr std::size_t heap_bytes = std::size_t{64} << 20;
    static constexpr std::size_t entries = 1024;
    static constexpr unsigned one_in = 64;
    static constexpr std::size_t most_looked_at = 64;

    // Effects: the first time, reserves the range and watches faults. Returns: false if that fails.
    [[nodiscard]] static bool is_ready() noexcept {
        const int known = state_.load(std::memory_order_acquire);
        if (known != unknown) return known == ready;
        if (!lock_.try_lock()) return false;
        if (state_.load(std::memory_order_relaxed) == unknown)
            state_.store(prepare() ? ready : refused, std::memory_order_release);
        lock_.unlock();
        return state_.load(std::memory_order_relaxed) == ready;
    }

    [[nodiscard]] static bool prepare() noexcept {
        if (os::optional_calls::linked() == nullptr) return false;
        page_bytes_ = calls().page_bytes();
        // Scarce addresses are left to the program.
        if constexpr (sizeof(void*) < 8) return false;
        constexpr std::size_t plenty = 16 * range_bytes;
        void* const probe = calls().reserve(plenty);
        if (probe == nullptr) return false;
        calls().release(probe, plenty);
        const std::size_t table_bytes = align_up(entries * sizeof(lone_block), page_bytes_);
        void* const table = calls().reserve(table_bytes);
        if (table == nullptr) return false;
        void* const range = calls().reserve(range_bytes + heap_bytes);
        if (range == nullptr || !calls().commit(table, table_bytes) || !calls().watch_faults(&explain)) {
            if (range != nullptr) calls().release(range, range_bytes + heap_bytes);
            calls().release(table, table_bytes);
            return false;
        }
        table_ = static_cast<lone_block*>(table);  // zeros, which are empty entries
        begin_ = next_ = static_cast<char*>(range) + padding_to(range, heap_bytes);
        return true;
    }

    // Returns: an entry with so many bytes of closed pages, or null.
    [[nodiscard]] static lone_block* find_pages(std::size_t wanted) noexcept {
        const std::size_t used = used_.load(std::memory_order_relaxed);
        if (used < entries) {
            char* first = next_ + (is_head_of_heap(next_) ? page_bytes_ : 0);
            // Skips ranges that contain such an address.
            if (address(first) / heap_bytes != (address(first) + wanted) / heap_bytes)
                first += padding_to(first, heap_bytes) + page_bytes_;
            if (first + wanted + page_bytes_ <= begin_ + range_bytes) {
                next_ = first + wanted + page_bytes_;
                lone_block* const fresh = ::new (static_cast<void*>(&table_[used])) lone_block;
                fresh->pages_ = first;
                fresh->bytes_ = wanted;
                used_.store(used + 1, std::memory_order_release);
                return fresh;
            }
        }
        if (++refused_ % one_in != 0) return nullptr;
        for (std::size_t i = 0; i < most_looked_at && i < used; ++i) {
            cursor_ = cursor_ + 1 < used ? cursor_ + 1 : 0;
            lone_block& old = table_[cursor_];
            if (old.bytes_ != wanted || !old.is_retired_.load(std::memory_order_acquire)) continue;
            old.is_retired_.store(false, std::memory_order_relaxed);
            return &old;
        }
        return nullptr;
    }

    // Call it only where src/os is linked, without which there are no lone blocks.
    [[nodiscard]] static const os::optional_calls& calls() noexcept { return *os::optional_calls::linked(); }

    void close() noexcept {
        if (is_open_) static_cast<void>(calls().protect(pages_, bytes_));
        is_open_ = false;
    }

    [[nodiscard]] static std::uintptr_t address(const void* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }
    [[nodiscard]] static bool is_head_of_heap(const void* p) noexcept { return address(p) % heap_bytes == 0; }
    [[nodiscard]] static bool is_in_range(std::uintptr_t at) noexcept { return at - address(begin_) < range_bytes; }

    // Returns: the block whose pages hold the address, or else the nearest one; null if there are no blocks.
    [[nodiscard]] static lone_block* nearest_to(std::uintptr_t at) noexcept {
        lone_block* best = nullptr;
        std::uintptr_t distance = range_bytes;
        const std::size_t used = used_.load(std::memory_order_acquire);
        for (std::size_t i = 0; i < used; ++i) {
            lone_block& one = table_[i];
            const std::uintptr_t first = address(one.pages_), end = first + one.bytes_;
            std::uintptr_t away = at < first ? first - at : at < end ? 0 : at - end + 1;
            if (away != 0 && at < first) away += page_bytes_;  // most wild accesses run over an end
            if (one.known_.start != nullptr && away < distance) {
                distance = away;
                best = &one;
            }
        }
        return best;
    }

    // Effects: reports a fault in the range. Returns: true if the access may go on.
    static bool explain(const os::fault& what) noexcept {
        const std::uintptr_t at = address(what.address), page = at & ~std::uintptr_t{page_bytes_ - 1};
        if (!is_in_range(at) || page % heap_bytes == 0) return false;
        lone_block* const hit = nearest_to(at);
        if (hit == nullptr) return false;
        const bool is_inside = at - address(hit->pages_) < hit->bytes_;
        hit->report(at, what);
        return is_inside ? calls().commit(hit->pages_, hit->bytes_)
                         : calls().commit(reinterpret_cast<void*>(page), page_bytes_);
    }

    void report(std::uintptr_t at, const os::fault& what) const noexcept {
        const char* const did = what.is_write ? "written" : "read";
        const call_site site(static_cast<const char*>(what.instruction) + 1);
        const auto offset = static_cast<std::ptrdiff_t>(at - address(known_.start));
        if (known_.ending == block_ending::freed) {
            report_block(misuse_kind::use_after_free, known_, site, "was %s at byte %td after it was freed", did,
                         offset);
        } else if (known_.ending != block_ending::none) {
            report_block(kind_after(known_.ending), known_, site, "was %s at byte %td although it is gone", did,
                         offset);
        } else if (is_owner_gone_) {
            block_record gone = known_;
            gone.ended_at = owner_gone_at_;
            report_block(misuse_kind::destroyed_allocator, gone, site,
                         "was %s at byte %td after its allocator at %p was destroyed", did, offset, owner_);
        } else if (offset < 0) {
            report_block(misuse_kind::underrun, known_, site, "was %s %td bytes before its start", did, -offset);
        } else {
            report_block(misuse_kind::overrun, known_, site, "was %s at byte %td, behind its end", did, offset);
        }
    }

    enum : int { unknown, ready, refused };
    static inline constinit std::atomic<int> state_{unknown};
    static inline constinit brief_lock lock_;
    static inline constinit lone_block* table_ = nullptr;
    static inline constinit std::atomic<std::size_t> used_{0};
    static inline constinit char* begin_ = nullptr;
    static inline constinit char* next_ = nullptr;
    static inline constinit std::size_t cursor_ = 0;
    static inline constinit std::size_t page_bytes_ = 0;  // of the system, once ready
    static inline constinit unsigned refused_ = 0;
    static inline constinit std::atomic<std::size_t> open_bytes_{0};

    char* pages_ = nullptr;
    std::size_t bytes_ = 0;
    block_record known_{};
    const void* owner_ = nullptr;
    call_site owner_gone_at_{};
    bool is_owner_gone_ = false;
    bool is_open_ = false;
    std::atomic<bool> is_retired_{false};
};

}  // namespace millpond::inline MILLPOND_ABI::detail
