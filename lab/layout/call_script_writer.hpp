// SPDX-License-Identifier: BSL-1.0
// call_script_writer: writes the calls of a recording as a script that can be played (call_script.h).
//
//   reader ─▶ call_assembly ─▶ allocator_call ─▶ slot, thread, pool ─▶ call ─▶ FILE
//
// Memory: the live objects. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "lab/layout/call_assembly.hpp"

namespace millpond::layout {

struct script_totals {
    std::uint64_t calls = 0, allocations = 0, frees = 0, unknown_frees = 0;
    std::uint32_t slots = 0, threads = 0;
};

// Which pool a call's object is in; 0: the malloc of the process. Asked once for each allocation.
using pool_of_call = std::function<std::uint16_t(const allocator_call&)>;

// `pools`: how many `pool_of` may name, malloc's included. Throws trace::trace_error where the recording cannot be read
// or has no references, program::failure where the script cannot be written.
script_totals write_call_script(const std::string& recording, const std::string& script, std::uint32_t pools = 1,
                                const pool_of_call& pool_of = {});

}  // namespace millpond::layout
