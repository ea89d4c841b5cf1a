// SPDX-License-Identifier: BSL-1.0
// process_record: this process's part of the control memory: its slot, its threads' lines, and its modules.
//
// Every function works without malloc and before any other library has started. Processes without a free slot, and
// threads without a free line, share one. Their counts are approximate, but only statistics depend on them. Only the
// control memory's head and one slot are mapped; surveys map the whole.
#pragma once

#include "lab/trial/control.hpp"
#include "lab/trial/module_finder.hpp"

namespace millpond::trial {

class process_record {
  public:
    // Maps the file that MILLPOND_TRIAL names; null if it does not exist (any more) or is not ours.
    static control* map_control(const char* path) noexcept;
    // Makes the control memory for a plan inside the library, without a round: only this process and its children share
    // it.
    static control* make_control(const char* image_build_id) noexcept;
    // Identifies this program.
    static void identify(process_identity& identity) noexcept;
    // Returns whether the round is about this program. If not, counts it and unmaps the control memory.
    static bool concerns(control& shared, const process_identity& identity) noexcept;
    // Returns this process's slot. A child claims another one through the mapping that it inherited, because its
    // parent's descriptors, root directory and user may be gone.
    static process_slot* claim(const process_identity& identity) noexcept;
    // Notes which module's malloc the program uses.
    static void describe(process_slot& slot) noexcept;
    // For a child, where the dynamic linker must not be asked: claims another slot and copies the parent's description.
    // Takes no lock.
    static process_slot* claim_for_child(process_slot& parent) noexcept;

    // `thread`: its name, as in thread_state::id.
    static thread_counters* claim_line(process_slot& slot, std::uint64_t thread) noexcept;
    static void release_line(process_slot& slot, thread_counters* line) noexcept;

    // For surveys: notes each module once for each process, while there is room.
    static void note_module(const module_identity& identity) noexcept;
    static void note_loaded_modules(const process_slot& slot) noexcept;

  private:
    static process_slot* map_slot(std::uint32_t index) noexcept;
    static process_slot* map_slot_from_file(std::uint32_t index) noexcept;

    static inline const char* path_ = nullptr;         // of the control file, in the environment; null: it has none
    static inline control* shared_ = nullptr;          // the mapped head, or the whole
    static inline process_slot* mapped_ = nullptr;     // this process's slot, where it is not part of the whole
    static inline process_slot* inherited_ = nullptr;  // the parent's
    static inline std::uint32_t mapped_index_ = 0;
    static inline std::uint32_t slot_index_ = 0;
};

}  // namespace millpond::trial
