// SPDX-License-Identifier: BSL-1.0
// moved_reader: the references of a recording as they would be on another allocator.
//
//   recording ─▶ program's references ─▶ object, offset ─▶ where the other allocator has put the object ─┐
//             └▶ calls of the allocator ─ counted off ─▶ the same calls, as they were played             ├▶ next()
//   played    ─▶ references of the other allocator within these calls ──────────────────────────────────┘
//
// `played` is a recording of the player (references/player), which has made the recording's calls to the other
// allocator; best in the program's own image, where that allocator, libraries and variables lie where they will. What
// it accessed stays where it was, and the program's references move there (address_moves):
//   to objects                       with their objects
//   to a module's data               to where that module lies now
//   to the first thread's variables, the break and what the start has mapped    likewise
//   to stacks of threads             to those of the threads that made their calls
//   to the first thread's stack, and to all that only the program has    apart
// What the recorded allocator accessed is left out, and what the other one accessed comes in its place, where the call
// ended; its frames lie below the program's stack pointer at that call. What was accessed before main, loading the
// allocator's libraries among it, is the other's, too, if both are of one executable; data of a library that only the
// recording had by then are the recorded allocator's for good, which may visit them at a thread's end.
// A reference beside every object (a string function reads to the end of a line) moves with the next one within 64
// bytes; one to memory between objects that is further away is of the recorded allocator's making, as where a C
// library empties a thread's cache, and is left out.
// What this cannot know: behaviour of the program that depends on addresses, and an allocator that returns memory by
// the clock.
//
// Memory: the live objects, and a block of each recording; not the length of the run. Not thread-safe.
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
    std::uint64_t calls = 0;                 // that were played
    std::uint64_t allocator_references = 0;  // of the other allocator
    std::uint64_t allocator_instructions = 0;
    move_counts program;
};

class moved_reader {
  public:
    // Throws trace::trace_error where one of both cannot be read or has no references.
    moved_reader(const std::string& recording, const std::string& played,
                 const references::reader_options& options = {});

    moved_reader(const moved_reader&) = delete;
    moved_reader& operator=(const moved_reader&) = delete;

    // As references::reader::next; allocations and frees have the addresses of the other allocator. Throws
    // trace::trace_error where `played` does not hold the calls of the recording.
    bool next(references::step& to);
    // Throws trace::trace_error where `played` is damaged: it can be made again.
    void require_whole_play() const;
    const references::reader& recorded() const { return recorded_; }
    moved_totals totals() const {
        moved_totals all = totals_;
        all.program = moves_.counts();
        return all;
    }

  private:
    // Where next() stands.
    enum class place : std::uint8_t { start, program, begin, seek, enter, early_free, inside, late_free, allocate };
    struct frame {
        std::uint64_t pointer = 0;  // the stack pointer at the entry; before: the last reference to the stack
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
    bool has_own_start_ = false;  // both are of one executable, and early calls are its own start's
    bool is_starting_ = false;    // the recording has not come to main: the start of `played` counts
    allocator_call call_;
    std::uint64_t played_thread_ = 0;
    std::unordered_set<std::uint64_t> ending_threads_;  // of the player
    bool is_marked_ = false;                            // the player's next call is the one that is sought
    frame program_frame_, player_frame_;                // of the call
    std::unordered_map<std::uint64_t, frame> program_frames_, player_frames_;  // by thread
    std::vector<millpond_reference> batch_;
    moved_totals totals_;
};

}  // namespace millpond::layout
