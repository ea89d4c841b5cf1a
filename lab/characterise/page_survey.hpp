// SPDX-License-Identifier: BSL-1.0
// page_survey: the pages that each subsystem's live objects touch at one moment, and the bytes on each.
//
//   pages    │▒▒  ▒ │   ▒  │      │▒▒▒▒▒▒│      ▒ objects of one subsystem: bytes live 10, pages touched 3
//
// Diffusion is bytes on touched pages / bytes live: 1 is dense, 4096/24 is one node of 24 bytes on each page.
// Use: start(), add() every live object, finish(), then bytes() and for_each(). add: O(1), for an object of any size;
// look-ups wait in a queue until their memory has come. Pages wholly inside one object are counted in bytes() and left
// out of for_each(): no other object can lie on them. Memory: 32 to 64 bytes for each pair of page and subsystem.
// Copyable, so that two moments can be compared. Not thread-safe.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "lab/program/model_page.hpp"

namespace millpond::characterise {

class page_survey {
  public:
    static constexpr unsigned page_bytes_log2 = program::model_page_log2;

    // Forgets everything. `pages`: the approximate number of different pages; the table grows if there are more.
    void start(std::size_t subsystems, std::size_t pages, unsigned sample_log2 = 0) {
        sample_log2_ = sample_log2;
        pages_.assign(subsystems, 0);
        inner_pages_.assign(subsystems, 0);
        slots_.assign(std::bit_ceil(pages * 2 + queue_max * 2), {0, 0});
        used_ = queued_ = 0;
    }

    // Returns false if adding the object would change nothing. Asking first is cheaper while most pages are left out.
    bool wants(std::uint64_t address, std::uint64_t bytes) const {
        const std::uint64_t first = address >> page_bytes_log2;
        return sampled(first, sample_log2_) || ((address + bytes - 1) >> page_bytes_log2) != first;
    }

    void add(std::uint32_t subsystem, std::uint64_t address, std::uint64_t bytes) {
        const std::uint64_t first = address >> page_bytes_log2;
        const std::uint64_t last = (address + (bytes == 0 ? 0 : bytes - 1)) >> page_bytes_log2;
        if (last == first) return enqueue(subsystem, first, bytes);
        enqueue(subsystem, first, ((first + 1) << page_bytes_log2) - address);
        enqueue(subsystem, last, address + bytes - (last << page_bytes_log2));
        inner_pages_[subsystem] += last - first - 1;  // pages inside an object are not shared
    }

    void finish() {
        for (std::size_t i = 0; i < queued_; ++i) insert(queue_[i]);
        queued_ = 0;
    }

    std::uint64_t bytes(std::uint32_t subsystem) const {
        return ((pages_[subsystem] << sample_log2_) + inner_pages_[subsystem]) << page_bytes_log2;
    }
    // The number of pairs in the table.
    std::size_t used() const { return used_; }
    unsigned sample_log2() const { return sample_log2_; }
    // Returns whether a page is in the sample. The sample of a larger sample_log2 is part of that of a smaller one.
    static bool sampled(std::uint64_t page, unsigned sample_log2) {
        // Another factor than that of home(): pages chosen by some bits must not crowd in the table.
        return ((page * 0xD6E8FEB86659FD93u) >> 40 & ((1u << sample_log2) - 1)) == 0;
    }
    std::size_t subsystems() const { return pages_.size(); }

    // Calls visit(subsystem, page, bytes) for each pair in the table, in no order. A page is an address without its
    // last 12 bits.
    template <typename Visit>
    void for_each(Visit&& visit) const {
        for (const slot& s : slots_) {
            if (s.key != 0) visit(subsystem_of(s.key), s.key & page_mask, s.bytes);
        }
    }

  private:
    static constexpr std::size_t queue_max = 32;
    static constexpr unsigned page_bits = 45;  // addresses have 57 bits at most

    static constexpr std::uint64_t page_mask = (std::uint64_t{1} << page_bits) - 1;

    struct slot {
        std::uint64_t key;  // 0: empty
        std::uint64_t bytes;
    };

    static std::uint32_t subsystem_of(std::uint64_t key) { return static_cast<std::uint32_t>(key >> page_bits) - 1; }

    void enqueue(std::uint32_t subsystem, std::uint64_t page, std::uint64_t bytes) {
        page &= page_mask;  // a damaged trace may name addresses that no program has
        if (!sampled(page, sample_log2_)) return;
        if (queued_ == queue_max) finish();
        // Never 0, which marks an empty slot.
        const std::uint64_t key = (std::uint64_t{subsystem} + 1) << page_bits | page;
        __builtin_prefetch(&slots_[home(key)], 1);
        queue_[queued_++] = {key, bytes};
    }

    void insert(const slot& added) {
        if (!place(added)) return;
        ++pages_[subsystem_of(added.key)];
        if (++used_ * 4 > slots_.size() * 3) [[unlikely]]
            grow();
    }

    std::size_t home(std::uint64_t key) const {
        return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> 20) & (slots_.size() - 1);
    }

    // Returns true if the pair is new.
    bool place(const slot& added) {
        std::size_t at = home(added.key);
        for (; slots_[at].key != 0; at = (at + 1) & (slots_.size() - 1)) {
            if (slots_[at].key != added.key) continue;
            slots_[at].bytes += added.bytes;
            return false;
        }
        slots_[at] = added;
        return true;
    }

    void grow() {
        std::vector<slot> old(slots_.size() * 2, slot{0, 0});
        old.swap(slots_);
        for (const slot& s : old) {
            if (s.key != 0) place(s);
        }
    }

    std::vector<slot> slots_;
    std::vector<std::uint64_t> pages_, inner_pages_;  // by subsystem
    unsigned sample_log2_ = 0;
    std::size_t used_ = 0;
    std::array<slot, queue_max> queue_{};
    std::size_t queued_ = 0;
};

}  // namespace millpond::characterise
