// SPDX-License-Identifier: BSL-1.0
// strategy: the allocators that a plan may give to a subsystem of an unmodified program, by the names that plans use.
//
// multipool                 for subsystems of one thread: no lock; allocations of other threads stay with the program's
// allocator synchronized(multipool)   the same behind a lock, for subsystems of several threads
//
// Other strategies (monotonic, winking out, one pool for each instance) need a change of the source, so no trial takes
// them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millpond::lab {

enum class strategy { multipool, synchronized_multipool };

std::string_view strategy_name(strategy named) noexcept;
// Spaces are ignored.
std::optional<strategy> strategy_of(std::string_view name);
// For messages: "multipool, synchronized(multipool)".
std::string strategies_accepted();

}  // namespace millpond::lab
