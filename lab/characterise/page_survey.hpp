// SPDX-License-Identifier: BSL-1.0
// page_survey: how many bytes of pages each subsystem's live objects touch, at one moment.
//
//   pages    │▒▒  ▒ │   ▒  │      │▒▒▒▒▒▒│      ▒ objects of one subsystem: bytes live 10, pages touched 3
//
// Diffusion is bytes on touched pages / bytes live: 1 is dense, 4096/24 is a node alone on each page.
// add: O(1), for an object of any size; memory: 16 to 32 bytes for each pair of page and subsystem. Not thread-safe.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace millpond::characterise {

class page_survey {
  public:
    static constexpr unsigned page_bytes_log2 = 12;

    // Forgets everything and makes room for this many objects.
    void start(std::size_t subsystems, std::size_t objects) {
        pages_.assign(subsystems, 0);
        // An object of ordinary size touches two pages at most; most share theirs with others.
        const std::size_t slots = std::bit_ceil(objects * 2 + 16);
        slots_.assign(slots, 0);
        used_ = 0;
    }

    void add(std::uint32_t subsystem, std::uint64_t address, std::uint64_t bytes) {
        const std::uint64_t first = address >> page_bytes_log2;
        const std::uint64_t last = (address + (bytes == 0 ? 0 : bytes - 1)) >> page_bytes_log2;
        insert(subsystem, first);
        if (last == first) return;
        insert(subsystem, last);
        pages_[subsystem] += last - first - 1;  // pages inside an object are shared with nobody
    }

    std::uint64_t bytes(std::uint32_t subsystem) const { return pages_[subsystem] << page_bytes_log2; }

  private:
    void insert(std::uint32_t subsystem, std::uint64_t page) {
        if ((used_ + 1) * 4 > slots_.size() * 3) [[unlikely]]
            grow();
        // Addresses have at most 57 bits, hence pages 45; the key is never 0, which marks an empty slot.
        const std::uint64_t key = (std::uint64_t{subsystem} + 1) << 45 | page;
        if (place(key)) {
            ++used_;
            ++pages_[subsystem];
        }
    }

    bool place(std::uint64_t key) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> 20) & mask;
        for (; slots_[at] != 0; at = (at + 1) & mask) {
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
    std::vector<std::uint64_t> pages_;
    std::size_t used_ = 0;
};

}  // namespace millpond::characterise
