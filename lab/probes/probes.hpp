// SPDX-License-Identifier: BSL-1.0
// probes: notes every entry to, and every return from, the functions that the environment names (wanted_scopes).
//
//   function's entry  ─jmp──▶ a new activation, if the caller notices ends by itself (probe_link)
//   function's entry  ─int3─▶ SIGTRAP handler: a new activation; a breakpoint at the place to which it will return
//   return site       ─int3─▶ SIGTRAP handler: all activations whose frames lie below the stack pointer have ended
//   exception, longjmp ─────▶ the same, with the stack pointer of the frame that will continue
//   heap event        ─watch▶ a walk to the innermost activation: one that is not on the stack was left by other means
//   dlopen            ─int3─▶ at the dynamic linker's own call for debuggers: functions of new modules are found
//
// Neither stack nor registers of the program are changed. The instruction under a breakpoint runs elsewhere
// (displaced_instruction). If a function cannot be observed to the end, a note gives the reason, and it counts as not
// observed. An entry costs two traps and their notes, some 6 µs, or a jump and its notes, some 50 ns. Locks are taken
// only to place a probe. All memory is static or mapped; nothing is allocated. Reentrant: the handler blocks all
// signals, and the code behind a jump protects its changes from signal handlers of its thread.
#pragma once

#include <signal.h>

#include <cstdint>

#include "lab/probes/probe_link.hpp"
#include "lab/probes/wanted_scopes.hpp"

namespace millpond::probes {

class probes {
  public:
    static event_watcher start(const recorder_calls* calls) noexcept;
    static void stop() noexcept;

    // Returns whether SIGTRAP is ours.
    [[nodiscard]] static bool is_active() noexcept;
    // The frame at `stack` continues, so frames below it have ended. UINTPTR_MAX: the thread ends.
    static void frame_continues(std::uintptr_t stack) noexcept;
    // True if this thread believes that it has blocked SIGTRAP. Only while is_active().
    [[nodiscard]] static bool& believes_blocked() noexcept;

  private:
    struct scope;

    static void on_trap(int signal, siginfo_t* info, void* context) noexcept;
    static void on_event(const preload::call_site& site) noexcept;
    static void entered(unsigned number, std::uintptr_t stack) noexcept;
    static void entered_by_jump(std::uint64_t number, std::uintptr_t stack) noexcept;
    static void left(std::uint64_t number) noexcept;
    static void give_up(unsigned number, unsigned why) noexcept;
    static void adopt_process() noexcept;
    static void register_scopes() noexcept;
    static void find_scopes() noexcept;
    static void place_scope(unsigned number, std::uintptr_t entry, const code_range& module) noexcept;
    static void register_scope(scope& s) noexcept;
    static void watch_loader() noexcept;
    static unsigned place_return(std::uintptr_t address, unsigned number) noexcept;

    static scope* scopes;  // as many as are wanted
};

}  // namespace millpond::probes
