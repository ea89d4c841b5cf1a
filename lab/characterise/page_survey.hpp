// SPDX-License-Identifier: BSL-1.0
// page_survey: how many bytes of pages each subsystem's live objects touch, at one moment.
//
//   pages    │▒▒  ▒ │   ▒  │      │▒▒▒▒▒▒│      ▒ objects of one subsystem: bytes live 10, pages touched 3
//
// Diffusion is bytes on touched pages / bytes live: 1 is dense, 4096/24 is a node alone on each page.
// Use: start(), add() every live object, finish(), then bytes(). add: O(1), for an object of any size; look-ups wait in
// a queue until their memory has come. Memory: 16 to 32 bytes for each pair of page and subsystem. Not thread-safe.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace millpond::characterise {

class page_survey {
  public:
    static constexpr unsigned page_bytes_log2 = 12;

    // Forgets everything. `pages`: about how many different ones there will be; it grows where there are more.
    void start(std::size_t subsystems, std::size_t pages) {
        pages_.assign(subsystems, 0);
        slots_.assign(std::bit_ceil(pages * 2 + queue_max * 2), 0);
        used_ = queued_ = 0;
    }

    void add(std::uint32_t subsystem, std::uint64_t address, std::uint64_t bytes) {
        const std::uint64_t first = address >> page_bytes_log2;
        const std::uint64_t last = (address + (bytes == 0 ? 0 : bytes - 1)) >> page_bytes_log2;
        enqueue(subsystem, first);
        if (last == first) return;
        enqueue(subsystem, last);
        pages_[subsystem] += last - first - 1;  // pages inside an object are shared with nobody
    }

    void finish() {
        for (std::size_t i = 0; i < queued_; ++i) insert(queue_[i]);
        queued_ = 0;
    }

    std::uint64_t bytes(std::uint32_t subsystem) const { return pages_[subsystem] << page_bytes_log2; }
    std::size_t used() const { return used_; }

  private:
    static constexpr std::size_t queue_max = 32;
    static constexpr unsigned page_bits = 45;  // addresses have 57 bits at most

    void enqueue(std::uint32_t subsystem, std::uint64_t page) {
        if (queued_ == queue_max) finish();
        // Never 0, which marks an empty slot.
        const std::uint64_t key = (std::uint64_t{subsystem} + 1) << page_bits | page;
        __builtin_prefetch(&slots_[home(key)], 1);
        queue_[queued_++] = key;
    }

    void insert(std::uint64_t key) {
        if (!place(key)) return;
        ++pages_[static_cast<std::size_t>(key >> page_bits) - 1];
        if (++used_ * 4 > slots_.size() * 3) [[unlikely]]
            grow();
    }

    std::size_t home(std::uint64_t key) const {
        return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> 20) & (slots_.size() - 1);
    }

    bool place(std::uint64_t key) {
        std::size_t at = home(key);
        for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
            if (slots_[at] == key) return false;
        }
        slots_[at] = key;
        return true;
    }

    void grow() {
        std::vector<std::uint64_t> old(slots_.size() * 2, 0);
        old.swap(slots_);
        for (const std::uint64_t key : old) {
            if (key != 0) place(key);
        }
    }

    std::vector<std::uint64_t> slots_;
    std::vector<std::uint64_t> pages_;  // by subsystem
    std::size_t used_ = 0;
    std::array<std::uint64_t, queue_max> queue_{};
    std::size_t queued_ = 0;
};

}  // namespace millpond::characterise
