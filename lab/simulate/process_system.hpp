// SPDX-License-Identifier: BSL-1.0
// process_system: the simulators' host in an ordinary process: malloc, free, and failure for what cannot go on.
#pragma once

#include "lab/references/simulators.h"

namespace millpond::simulate {

// allocate throws std::bad_alloc, fail throws program::failure (environment), through simulators that know no
// exceptions: what they held is lost, so the process must end. Thread-safe.
extern const millpond_system process_system;

}  // namespace millpond::simulate
