// SPDX-License-Identifier: BSL-1.0
// process_record: this process's part of the control memory: its slot, its threads' lines, the modules that it noted.
//
// Every function works without malloc and before any other library has started. A process that finds no free slot, and
// threads that find no free line, share one; what they count there is approximate, and only statistics depend on it.
// Of the control memory its head is mapped, and a slot; only surveys map the whole.
#pragma once

#include "lab/trial/control.hpp"
#include "lab/trial/module_finder.hpp"

namespace millpond::trial {

class process_record {
  public:
    // Maps the file that MILLPOND_TRIAL names; null if it is not there (any more) or not ours.
    static control* map_control(const char* path) noexcept;
    // Without a round: memory of this process and its children alone, for a plan that the library has with it.
    static control* make_control(const char* image_build_id) noexcept;
    // Which program this is.
    static void identify(process_identity& identity) noexcept;
    // Whether the round is about this program. If not, it is counted, and the control memory is let go.
    static bool concerns(control& shared, const process_identity& identity) noexcept;
    // This process's slot. A child claims another one, by the mapping that it inherited: its parent's descriptors, root
    // folder and user may be gone.
    static process_slot* claim(const process_identity& identity) noexcept;
    // Notes whose malloc the program uses.
    static void describe(process_slot& slot) noexcept;
    // In a child, where the dynamic linker must not be asked: another slot, described as the parent's. Takes no lock.
    static process_slot* claim_for_child(process_slot& parent) noexcept;

    // `thread`: names it, as thread_state::id does.
    static thread_counters* claim_line(process_slot& slot, std::uint64_t thread) noexcept;
    static void release_line(process_slot& slot, thread_counters* line) noexcept;

    // Surveys: each module once for each process, as far as there is room.
    static void note_module(const module_identity& identity) noexcept;
    static void note_loaded_modules(const process_slot& slot) noexcept;

  private:
    static process_slot* map_slot(std::uint32_t index) noexcept;

    static inline control* shared_ = nullptr;          // its head, or the whole
    static inline process_slot* mapped_ = nullptr;     // this process's slot, where it is not part of the whole
    static inline process_slot* inherited_ = nullptr;  // its parent's
    static inline std::uint32_t mapped_index_ = 0;
    static inline std::uint32_t slot_index_ = 0;
};

}  // namespace millpond::trial
