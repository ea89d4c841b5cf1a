// SPDX-License-Identifier: BSL-1.0
// strategy: the allocators that a plan may give to a subsystem, by the names that plans use.
//
//   multipool                for subsystems of one thread: no lock; other threads stay with the program's allocator
//   synchronized(multipool)  the same for subsystems of several threads
//   monotonic                an arena for a scope: blocks in the order of allocation, a free only decrements a count
//
// Winking out, which skips destructors, needs a change of the source, so a trial cannot use it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millpond::plan {

enum class strategy { multipool, synchronized_multipool, monotonic };

std::string_view strategy_name(strategy named) noexcept;
// Spaces are ignored.
std::optional<strategy> strategy_of(std::string_view name);
// For messages: "multipool, synchronized(multipool), monotonic".
std::string strategies_accepted();

}  // namespace millpond::plan
