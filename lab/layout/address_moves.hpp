// SPDX-License-Identifier: BSL-1.0
// address_moves: from where the program's memory lies in a recording to where it lies on another allocator.
//
//   address in the recording ─▶ object, offset ─▶ where the other allocator has put the object
//                           └▶ module, variables, stack, break ─▶ where the played process has them
//                           └▶ what only the program has ─▶ apart from everything else, at the same place in any cache
//
// Objects are told by begin_object() and end_object(); a look-up is that of object_map. Memory: the live objects.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lab/layout/object_map.hpp"
#include "lab/layout/region_map.hpp"
#include "lab/references/reference.h"
#include "lab/trace/reader.hpp"

namespace millpond::layout {

// Of the program's references so far.
struct move_counts {
    std::uint64_t moved = 0;     // to objects
    std::uint64_t beside = 0;    // of these, beside every object
    std::uint64_t unplaced = 0;  // of no object, stack or module
    std::uint64_t left_out = 0;  // of the recorded allocator's: memory that was no object's any more, and its modules
};

class address_moves {
  public:
    static constexpr std::uint64_t left_out = 0;                    // of an address that has no place
    static constexpr std::uint64_t apart = std::uint64_t{1} << 44;  // what only the program has lies beyond

    // `recorded_regions` and `played_regions` must stay.
    address_moves(const trace::reader& recorded, region_map& recorded_regions, const trace::reader& played,
                  region_map& played_regions);

    // Of the program's memory; left_out where it was the recorded allocator's.
    std::uint64_t moved(std::uint64_t address);
    // Of the stack that the address lies in.
    std::uint64_t moved_with_stack(std::uint64_t address, const memory_region& stack);

    void begin_object(std::uint64_t address, std::uint64_t bytes, std::uint64_t moved);
    // Where the object lay on the other allocator; 0: there is none.
    std::uint64_t end_object(std::uint64_t address);
    // Both are of one thread. The first thread's stack is nobody's: its place depends on the environment alone.
    void pair_stacks(const memory_region& own, const memory_region& players);
    // References before main, where both are of one executable: what they touch is there in the played process, too.
    // A module that is not was preloaded into the recording: the recorded allocator's.
    void note_start(std::span<const millpond_reference> from);

    const move_counts& counts() const { return counts_; }

  private:
    // From where a module lies in the recording to where it lies where the calls were played.
    struct module_shift {
        std::uint64_t first;  // of the module in the recording
        std::uint64_t shift;  // apart: it does not lie there
        bool is_allocators = false;
    };
    // Of a module's variables of the first thread, likewise.
    struct variables_shift {
        std::uint64_t first, bytes, shift;
    };
    static constexpr std::uint64_t beside_bytes = 64;

    void find_variables(const trace::reader& recorded, const trace::reader& played);
    std::uint64_t shift_of(memory_kind kind) const;
    std::uint64_t moved_beside(std::uint64_t address);
    module_shift* module_of(std::uint64_t address);
    std::uint64_t moved_with_module(std::uint64_t address);
    std::uint64_t moved_with_variables(std::uint64_t address) const;

    region_map *recorded_regions_, *played_regions_;
    std::vector<module_shift> modules_;  // by address
    std::vector<variables_shift> variables_;
    std::unordered_set<std::uint64_t> start_pages_;  // that were accessed before main, and are of no known kind
    std::uint64_t break_shift_ = 0, variables_shift_ = 0;
    object_map objects_;                                             // by addresses of the recording
    std::vector<std::uint64_t> moved_to_;                            // by id of objects_
    std::unordered_map<std::uint64_t, std::uint64_t> stack_shifts_;  // by a stack's first address
    std::pair<std::uint64_t, std::uint64_t> latest_shift_{1, 0};
    move_counts counts_;
};

}  // namespace millpond::layout
