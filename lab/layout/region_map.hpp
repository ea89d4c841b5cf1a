// SPDX-License-Identifier: BSL-1.0
// region_map: the stacks, the data of modules, the program's break and the variables of the main thread, at the places
// that a recording with references gives (mpt_regions).
//
//   address ─▶ │ data │ break │ … │ data of libc.so.6 │ … │ stack of thread 2 │ … │ stack of thread 1 │ ─▶ which
//
// Regions have no time: an address that was ever a stack counts as one, unless a heap object lies there. Where regions
// overlap, the one with the highest start wins. Thread-local variables of threads other than the first lie on the
// mapping of the thread's stack and count as stack. find: O(log regions). Read-only once filled; not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/trace/reader.hpp"

namespace millpond::layout {

enum class memory_kind : std::uint8_t { unknown, stack, global, program_break, variables };

struct memory_region {
    std::uint64_t first = 0, last = 0;
    memory_kind kind = memory_kind::unknown;
};

class region_map {
  public:
    region_map() = default;
    // Returns the regions of a recording; an empty map if it gives none. Damaged blocks are left out.
    static region_map of_recording(const std::string& path, const trace::reader& trace);

    void add(const memory_region& region) { regions_.push_back(region); }
    void finish();

    memory_kind find(std::uint64_t address) { return at(address).kind; }
    // Returns the region that contains the address; one of unknown kind if no region does.
    const memory_region& at(std::uint64_t address) {
        if (address >= latest_.first && address <= latest_.last) return latest_;
        return search(address);
    }
    // Returns the first region of a kind, by address; one of unknown kind if there are none.
    const memory_region& first_of(memory_kind kind) const;
    const memory_region& last_of(memory_kind kind) const;
    bool empty() const { return regions_.empty(); }
    // Returns whether the recording marks the start of main (millpond_record_gap of 0).
    bool has_main() const { return has_main_; }

  private:
    const memory_region& search(std::uint64_t address);

    static constexpr memory_region none_{};
    std::vector<memory_region> regions_;  // by address; disjoint once finished
    memory_region latest_{1, 0, memory_kind::unknown};
    bool has_main_ = false;
};

}  // namespace millpond::layout
