// SPDX-License-Identifier: BSL-1.0
// event_choice: chooses the event to count on this machine for a name: a named event, or one of libpfm's.
//
//   named event ── the kernel counts its generic event here? ──▶ that one
//               └─ an alternative that this processor has, and the kernel counts? ──▶ that one
//               └─ neither ──▶ null: why the kernel refuses the generic one
//
// It tries each by counting: a few system calls and some ten thousand instructions. One thread.
#pragma once

#include <optional>
#include <string>

#include "lab/measure/event_names.hpp"
#include "lab/measure/named_events.hpp"

namespace millpond::measure {

// An event that owns its strings; `of` contains none.
struct chosen_event {
    event of;
    std::string counted_as;  // libpfm's name
    std::string why_null;    // known beforehand; the event need not be tried
};

// Returns: the event that counts here for a named event.
chosen_event choose_named(const event_names& known, const named_event& wanted);

// Returns: the event that counts here under that name. Without a choice, `wrong` describes the error in the name.
std::optional<chosen_event> choose_event(const event_names& known, const std::string& name, std::string& wrong);

}  // namespace millpond::measure
