// SPDX-License-Identifier: BSL-1.0
// process_system: the simulators' host in an ordinary process: malloc, free, and an exception for fatal errors.
#pragma once

#include "lab/references/simulators.h"

namespace millpond::simulate {

// allocate throws std::bad_alloc, fail throws program::failure (environment). The simulators do not expect exceptions:
// their memory is lost, so the process must end. Thread-safe.
extern const millpond_system process_system;

}  // namespace millpond::simulate
