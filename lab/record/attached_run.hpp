// SPDX-License-Identifier: BSL-1.0
// attached_run: records a program that runs already, for a time or until it or we are told to end.
//
//   attachment.begin ─▶ awake ─ events ─▶ --for is over, Ctrl-C, or the program ends ─▶ attachment.end ─▶ asleep
//                                                                                   ─▶ attachment.release ─▶ finishing
//
// The recording is one that sleeps and wakes (slot_file.h), with one stretch. Only this room's main calls it; signals
// of the caller are blocked meanwhile.
#pragma once

#include "lab/record/supervisor.hpp"

namespace millpond::record {

// Records options.attached_pid into FILE.partial, for finish(). Throws failure with reason and cure if the program
// cannot be attached to; then nothing is left behind, there or in the program.
void run_attached(const record_options& options);

}  // namespace millpond::record
