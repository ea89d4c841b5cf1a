// SPDX-License-Identifier: BSL-1.0
// moved_reader: reads the references of a recording as they would be on another allocator.
//
//   recording ─▶ program's references ─▶ object, offset ─▶ where the other allocator has put the object ─┐
//             └▶ calls of the allocator ─ counted off ─▶ the same calls, as they were played             ├▶ next()
//   played    ─▶ references of the other allocator within these calls ──────────────────────────────────┘
//
// `played` is a recording of the player (references/player), which has made the same calls to the other allocator. It
// is best made in the program's own image: then that allocator, the libraries and the variables lie at their real
// places. References of the other allocator keep their addresses, and the program's references move (address_moves):
//   to objects                       with their objects
//   to a module's data               to where that module lies now
//   to the first thread's variables, the break and what the start has mapped    likewise
//   to stacks of threads             to those of the threads that made their calls
//   to the first thread's stack, and to all that only the program has    apart
// References of the recorded allocator are left out. Those of the other one take their place, at the end of each call;
// its stack frames lie below the program's stack pointer at that call. References before main, including the loading of
// the allocator's libraries, also come from `played` if both recordings are of one executable. The data of a library
// that only the recording had by then belong to the recorded allocator permanently; it may visit them at a thread's
// end.
// A reference outside every object (a string function reads to the end of a line) moves with the next object within 64
// bytes. One that is further away comes from the recorded allocator, for example where a C library empties a thread's
// cache, and is left out.
// Limits: the program may behave differently at other addresses, and an allocator may return memory by the clock.
//
// Memory: the live objects and one block of each recording; it does not grow with the run. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lab/layout/address_moves.hpp"
#include "lab/layout/call_assembly.hpp"
#include "lab/layout/region_map.hpp"
#include "lab/references/player/player_link.h"
#include "lab/references/reader.hpp"

namespace millpond::layout {

struct moved_totals {
    std::uint64_t calls = 0;                 // calls played
    std::uint64_t allocator_references = 0;  // made by the other allocator
    std::uint64_t allocator_instructions = 0;
    move_counts program;
};

class moved_reader {
  public:
    // Throws trace::trace_error if either recording cannot be read or has no references.
    moved_reader(const std::string& recording, const std::string& played,
                 const references::reader_options& options = {});

    moved_reader(const moved_reader&) = delete;
    moved_reader& operator=(const moved_reader&) = delete;

    // Works as references::reader::next; allocations and frees have the addresses of the other allocator. Throws
    // trace::trace_error if `played` does not hold the calls of the recording.
    bool next(references::step& to);
    // Throws trace::trace_error if `played` is damaged; it can be made again.
    void require_whole_play() const;
    const references::reader& recorded() const { return recorded_; }
    moved_totals totals() const {
        moved_totals all = totals_;
        all.program = moves_.counts();
        return all;
    }

  private:
    // The position of next().
    enum class place : std::uint8_t { start, program, begin, seek, enter, early_free, inside, late_free, allocate };
    struct frame {
        std::uint64_t pointer = 0;  // the stack pointer at the entry; before that: the last reference to the stack
        memory_region stack;
    };

    bool next_of_start(references::step& to);
    bool next_of_program(references::step& to);
    void begin_call(const allocator_call& call);
    void take_early(const allocator_call& call);
    bool next_of_end(references::step& to);
    bool next_of_call(references::step& to);
    void next_inside(references::step& to);
    void next_sought(references::step& to);
    void note_ending(const references::stream_event& event, std::uint64_t thread);
    void hand_over(references::step& to, const references::step& from);
    void take_ending(references::step& to, const references::step& from);
    static std::uint64_t thread_of(const allocator_call& call);
    static bool begins_main(const references::stream_event& event);
    static bool is_mark(const references::stream_event& event);
    std::uint64_t placed_at_start(std::uint64_t address);
    void take_played(references::step& to, const references::step& from);
    std::uint64_t played_address();
    void move_program(references::step& to, const references::step& from);
    std::uint64_t placed(std::uint64_t address);
    static void note_frame(frame& of, region_map& regions, const references::step& in);
    [[noreturn]] void refuse(const std::string& why) const;

    references::reader recorded_, played_;
    std::string recorded_path_, played_path_;
    region_map recorded_regions_, played_regions_;
    call_assembly assembly_;
    address_moves moves_;

    std::vector<millpond_early_block> early_blocks_;  // allocations at the start of `played`
    std::uint64_t next_early_ = 0;
    std::uint64_t start_shift_ = 0;  // from the player's stack to the program's, before main

    place place_ = place::start;
    references::step recorded_step_, played_step_;
    bool has_recorded_step_ = false, is_at_end_ = false, is_drained_ = false;
    bool has_own_start_ = false;  // both are of one executable, and it makes the early calls
    bool is_starting_ = false;    // the recording has not reached main: the start of `played` counts
    allocator_call call_;
    std::uint64_t played_thread_ = 0;
    std::unordered_set<std::uint64_t> ending_threads_;  // threads of the player
    bool is_marked_ = false;                            // the player's next call is the one sought
    frame program_frame_, player_frame_;                // of the current call
    std::unordered_map<std::uint64_t, frame> program_frames_, player_frames_;  // by thread
    std::vector<millpond_reference> batch_;
    moved_totals totals_;
};

}  // namespace millpond::layout
