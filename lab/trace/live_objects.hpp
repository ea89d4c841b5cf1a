// SPDX-License-Identifier: BSL-1.0
// live_objects: a table of the objects alive at each address. It finds the object that a free ends, and mends
// hand-offs.
//
//   slots  │ address │ payload │ address │ payload │  empty  │ …     power of two, linear probing, at most 5/8 full,
//            ▲ home(address)                                         no tombstones: a removal moves its successors up
//
// Use it behind reader::for_each_batch, one table a trace. Payload: the analysis's data for each live object (small,
// trivially copyable). begin, end: O(1), one cache miss without prefetch; call prefetch(address) some 16 events ahead
// and the miss is hidden. Memory: 8 + sizeof(Payload) bytes a slot, 1.6 to 3.2 slots for each object at the peak. Not
// thread-safe.
//
// Mending. The life of every address alternates: begin, end, begin, … A hand-off between two threads may be stamped in
// the wrong order by some ticks, so that the merged order breaks this rule. Within a window (ticks, and 64 hand-offs)
// it is corrected:
//   begin where an object lives   the old object waits; the first end of that address by a thread other than the one
//                                 that began the new object ends it. None in the window: its free was lost
//                                 (ending::lost_free).
//   end where nothing lives       the end waits; the first begin of that address by another thread meets it, and that
//                                 object ends at once. None in the window: an object from before the trace (unmatched).
// One thread's own order is exact, hence "another thread". Every object given to begin() ends exactly once, through the
// callback ended(const Payload&, std::uint64_t address, moment, ending), or is still there for for_each().
#pragma once

#include <sys/mman.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace millpond::trace {

struct moment {
    std::uint64_t time_ticks;
    std::uint32_t thread;
};

enum class ending : std::uint8_t { freed, lost_free };

template <typename Payload>
    requires std::is_trivially_copyable_v<Payload>
class live_objects {
  public:
    static constexpr std::uint64_t default_window_ticks = 1 << 14;
    static constexpr std::size_t waiting_max = 64;

    explicit live_objects(std::uint64_t window_ticks = default_window_ticks) : window_ticks_(window_ticks) {
        allocate_slots(10);
    }

    void prefetch(std::uint64_t address) const {
        const slot* const at = &slots_[home(address)];
        __builtin_prefetch(at, 1);
        __builtin_prefetch(at + 1, 1);  // half of all searches go one slot on, and slots cross cache lines
    }

    // Begins an object. An object at address 0 ends at once, as if its free was lost.
    template <typename Ended>
    void begin(std::uint64_t address, const Payload& payload, moment now, Ended&& ended) {
        if (waiting()) [[unlikely]]
            if (expire(now.time_ticks, ended); meets_early_end(address, payload, now, ended)) return;
        if (address == 0) [[unlikely]] {
            ++lost_frees_;
            ended(payload, address, now, ending::lost_free);
            return;
        }
        std::size_t at = home(address);
        while (slots_[at].address != 0) {
            if (slots_[at].address == address) [[unlikely]] {
                displace(slots_[at], now, ended);
                break;
            }
            at = (at + 1) & mask_;
        }
        if (slots_[at].address == 0) ++size_;
        slots_[at] = {address, payload};
        if (size_ > size_max_) [[unlikely]]
            grow();
    }

    // Ends the object at `address`. False if no object is there (yet). `hint`: the result of locate(), or anything.
    template <typename Ended>
    bool end(std::uint64_t address, moment now, Ended&& ended, std::size_t hint = 0) {
        if (waiting()) [[unlikely]]
            if (expire(now.time_ticks, ended); ends_displaced(address, now, ended)) return true;
        std::size_t at = hint & mask_;
        if (slots_[at].address != address || address == 0) at = home(address);
        for (; slots_[at].address != 0; at = (at + 1) & mask_) {
            if (slots_[at].address != address) continue;
            const Payload payload = slots_[at].payload;
            erase(at);
            ended(payload, address, now, ending::freed);
            return true;
        }
        if (early_ends_.size() == waiting_max) drop_early_end();
        early_ends_.push_back({address, now});
        return false;
    }

    // Returns the object at `address`, or null. Valid until the next begin or end.
    Payload* find(std::uint64_t address) {
        const std::size_t at = locate(address);
        return slots_[at].address != 0 ? &slots_[at].payload : nullptr;
    }

    // Returns the place of the object at `address`, or an empty slot. Prefetches the memory that ending it there will
    // touch.
    std::size_t locate(std::uint64_t address) const {
        std::size_t at = home(address);
        while (slots_[at].address != 0 && slots_[at].address != address) at = (at + 1) & mask_;
        __builtin_prefetch(&slots_[at] + 1, 1);  // closing the gap of the removed object starts there
        return at;
    }
    // The payload that is, or was, kept there.
    const Payload& payload_at(std::size_t position) const { return slots_[position].payload; }

    // Call after the last event: decides everything that still waits.
    template <typename Ended>
    void settle(Ended&& ended) {
        while (!displaced_.empty()) drop_displaced(ended);
        while (!early_ends_.empty()) drop_early_end();
    }

    // Calls visit(std::uint64_t address, Payload&) for every live object, in no order.
    template <typename Visit>
    void for_each(Visit&& visit) {
        for (std::size_t at = 0; at <= mask_; ++at)
            if (slots_[at].address != 0) visit(slots_[at].address, slots_[at].payload);
    }

    std::size_t size() const { return size_; }
    std::uint64_t unmatched_frees() const { return unmatched_frees_; }  // objects from before the trace, or inherited
    std::uint64_t lost_frees() const { return lost_frees_; }            // addresses allocated twice without a free
    std::uint64_t mended() const { return mended_; }                    // corrected hand-offs

  private:
    struct slot {
        std::uint64_t address;  // 0: empty
        Payload payload;
    };
    struct early_end {
        std::uint64_t address;
        moment at;
    };
    struct displaced_object {
        std::uint64_t address;
        moment at;  // when the new object began, and in which thread
        Payload payload;
    };
    struct free_slots {
        void operator()(slot* memory) const { std::free(memory); }
    };

    std::size_t home(std::uint64_t address) const {
        return static_cast<std::size_t>(((address >> 3) * 0x9E3779B97F4A7C15u) >> shift_);
    }
    bool waiting() const { return !displaced_.empty() || !early_ends_.empty(); }
    // Also true for an event that lies before `then`: one stream may be behind by some ticks.
    bool within(std::uint64_t then, std::uint64_t now) const { return now < then || now - then <= window_ticks_; }

    void erase(std::size_t hole) {
        --size_;
        for (std::size_t at = (hole + 1) & mask_; slots_[at].address != 0; at = (at + 1) & mask_) {
            // An object may move up to the hole unless its home lies behind it.
            if (((at - home(slots_[at].address)) & mask_) < ((at - hole) & mask_)) continue;
            slots_[hole] = slots_[at];
            hole = at;
        }
        slots_[hole].address = 0;
    }

    void allocate_slots(unsigned log2) {
        constexpr std::size_t huge_page_bytes = 2u << 20;
        const std::size_t bytes = (sizeof(slot) << log2);
        const std::size_t alignment = bytes >= huge_page_bytes ? huge_page_bytes : 64;
        const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
        auto* memory = static_cast<slot*>(std::aligned_alloc(alignment, rounded));
        if (memory == nullptr) throw std::bad_alloc();
        // Look-ups are random: with 4 KiB pages each would miss the TLB, too. A refusal does no harm.
        if (alignment == huge_page_bytes) ::madvise(memory, rounded, MADV_HUGEPAGE);
        std::memset(static_cast<void*>(memory), 0, rounded);
        slots_.reset(memory);
        mask_ = (std::size_t{1} << log2) - 1;
        shift_ = 64 - log2;
        size_max_ = (mask_ + 1) / 8 * 5;
    }

    [[gnu::noinline]] void grow() {
        const std::unique_ptr<slot[], free_slots> old = std::move(slots_);
        const std::size_t old_slots = mask_ + 1;
        allocate_slots(static_cast<unsigned>(std::countr_zero(old_slots)) + 1);
        for (std::size_t from = 0; from < old_slots; ++from) {
            if (old[from].address == 0) continue;
            std::size_t at = home(old[from].address);
            while (slots_[at].address != 0) at = (at + 1) & mask_;
            slots_[at] = old[from];
        }
    }

    template <typename Ended>
    [[gnu::noinline]] void displace(const slot& old, moment now, Ended&& ended) {
        if (displaced_.size() == waiting_max) drop_displaced(ended);
        displaced_.push_back({old.address, now, old.payload});
    }

    template <typename Ended>
    [[gnu::noinline]] void expire(std::uint64_t now, Ended&& ended) {
        while (!displaced_.empty() && !within(displaced_.front().at.time_ticks, now)) drop_displaced(ended);
        while (!early_ends_.empty() && !within(early_ends_.front().at.time_ticks, now)) drop_early_end();
    }

    template <typename Ended>
    void drop_displaced(Ended&& ended) {
        const displaced_object lost = displaced_.front();
        displaced_.erase(displaced_.begin());
        ++lost_frees_;
        ended(lost.payload, lost.address, lost.at, ending::lost_free);
    }

    void drop_early_end() {
        early_ends_.erase(early_ends_.begin());
        ++unmatched_frees_;
    }

    template <typename Ended>
    [[gnu::noinline]] bool meets_early_end(std::uint64_t address, const Payload& payload, moment now, Ended&& ended) {
        for (auto waits = early_ends_.begin(); waits != early_ends_.end(); ++waits) {
            if (waits->address != address || waits->at.thread == now.thread) continue;
            const moment at{now.time_ticks, waits->at.thread};
            early_ends_.erase(waits);
            ++mended_;
            ended(payload, address, at, ending::freed);
            return true;
        }
        return false;
    }

    template <typename Ended>
    [[gnu::noinline]] bool ends_displaced(std::uint64_t address, moment now, Ended&& ended) {
        for (auto waits = displaced_.begin(); waits != displaced_.end(); ++waits) {
            if (waits->address != address || waits->at.thread == now.thread) continue;
            const displaced_object old = *waits;
            displaced_.erase(waits);
            ++mended_;
            ended(old.payload, address, {old.at.time_ticks, now.thread}, ending::freed);
            return true;
        }
        return false;
    }

    std::unique_ptr<slot[], free_slots> slots_;
    std::size_t mask_ = 0, size_ = 0, size_max_ = 0;
    unsigned shift_ = 0;
    std::uint64_t window_ticks_;
    std::uint64_t unmatched_frees_ = 0, lost_frees_ = 0, mended_ = 0;
    std::vector<early_end> early_ends_;  // both in the order in which they came
    std::vector<displaced_object> displaced_;
};

}  // namespace millpond::trace
