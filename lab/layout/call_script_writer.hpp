// SPDX-License-Identifier: BSL-1.0
// call_script_writer: writes the calls of a recording as a script that can be played again (call_script.h).
//
//   reader ─▶ call_assembly ─▶ allocator_call ─▶ slot, thread, pool ─▶ call ─▶ FILE
//
// Memory: the live objects. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "lab/layout/call_assembly.hpp"
#include "lab/plan/pool_choice.hpp"

namespace millpond::layout {

struct script_totals {
    std::uint64_t calls = 0, allocations = 0, frees = 0, unknown_frees = 0;
    std::uint32_t slots = 0, threads = 0;
};

// `pools`: the pool of each object, from a plan; null: all objects come from the malloc of the process. Objects
// allocated before main stay with malloc. Throws trace::trace_error if the recording cannot be read, has no references,
// or is damaged and the caller does not accept that; program::failure if the script cannot be written.
script_totals write_call_script(const std::string& recording, const std::string& script,
                                plan::pool_choice* pools = nullptr, bool accepts_damaged = false);

}  // namespace millpond::layout
