// SPDX-License-Identifier: BSL-1.0
// address_moves: maps an address of the recorded program to its address on another allocator.
//
//   address in the recording ─▶ object, offset ─▶ where the other allocator has put the object
//                           └▶ module, variables, stack, break ─▶ where the played process has them
//                           └▶ what only the program has ─▶ apart from everything else, at the same place in any cache
//
// The caller reports objects through begin_object() and end_object(). A look-up costs as much as in object_map. Memory:
// the live objects. Not thread-safe.
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

// Counts of the program's references so far.
struct move_counts {
    std::uint64_t moved = 0;     // to objects
    std::uint64_t beside = 0;    // of these, outside every object but within 64 bytes of one
    std::uint64_t unplaced = 0;  // in no object, stack or module
    std::uint64_t left_out = 0;  // of the recorded allocator: to memory of no live object, or to its modules
};

class address_moves {
  public:
    static constexpr std::uint64_t left_out = 0;  // the result for an address that has no place
    // the addresses from here on hold what only the program has
    static constexpr std::uint64_t apart = std::uint64_t{1} << 44;

    // `recorded_regions` and `played_regions` must outlive this object.
    address_moves(const trace::reader& recorded, region_map& recorded_regions, const trace::reader& played,
                  region_map& played_regions);

    // Returns the new address; left_out if the memory belonged to the recorded allocator.
    std::uint64_t moved(std::uint64_t address);
    // Returns the new address of one that lies in this stack.
    std::uint64_t moved_with_stack(std::uint64_t address, const memory_region& stack);

    void begin_object(std::uint64_t address, std::uint64_t bytes, std::uint64_t moved);
    // Ends the object and returns its address on the other allocator; 0 if no object is there.
    std::uint64_t end_object(std::uint64_t address);
    // Pairs the stacks of one thread. The main thread's stack is not moved: only the environment decides where it lies.
    void pair_stacks(const memory_region& own, const memory_region& players);
    // Takes the references before main, if both recordings are of one executable: the played process has that memory,
    // too. A module that it does not have was preloaded into the recording, and belongs to the recorded allocator.
    void note_start(std::span<const millpond_reference> from);

    const move_counts& counts() const { return counts_; }

  private:
    // The shift from a module's place in the recording to its place where the calls were played.
    struct module_shift {
        std::uint64_t first;  // its start in the recording
        std::uint64_t shift;  // `apart` if the played process does not have it
        bool is_allocators = false;
    };
    // The same for a module's variables of the main thread.
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
    std::unordered_set<std::uint64_t> start_pages_;  // of no known kind, accessed before main
    std::uint64_t break_shift_ = 0, variables_shift_ = 0;
    object_map objects_;                                             // by addresses of the recording
    std::vector<std::uint64_t> moved_to_;                            // by id of objects_
    std::unordered_map<std::uint64_t, std::uint64_t> stack_shifts_;  // by a stack's first address
    std::pair<std::uint64_t, std::uint64_t> latest_shift_{1, 0};
    move_counts counts_;
};

}  // namespace millpond::layout
