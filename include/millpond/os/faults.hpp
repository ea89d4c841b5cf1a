// SPDX-License-Identifier: BSL-1.0
// faults: calls registered functions when the program touches memory that it may not touch (SIGSEGV).
//
//   access ─▶ fault ─▶ function a ─▶ function b ─▶ the handler that was there before ─▶ the system's own end
//                          └─ true: the access is tried again
//
// Checked mode uses it to report which block, pool or array a wild access has hit, where the system would only end the
// program. The first watch installs one handler for the process. It passes on faults that no function has repaired: a
// crash reporter installed before still sees them, and a core dump shows the access. A handler installed later replaces
// this one.
//
// The thread that installs it gets an alternate signal stack if it has none. On systems other than POSIX, watch returns
// false. watch: O(1), one or two system calls, thread-safe. The functions run inside the signal handler of the thread
// that faulted; a function that faults itself ends the program. Implemented in src/os: link millpond::millpond.
//
// Example:
//     millpond::os::faults::watch([](const millpond::os::fault&) noexcept { return false; });
#pragma once

#include <cstddef>
#include <cstdint>

namespace millpond::os {

struct fault {
    const void* address = nullptr;  // null also if the processor does not tell it
    bool is_write = false;          // false also if the processor does not tell it
    const void* instruction = nullptr;
    const std::uintptr_t* registers = nullptr;  // values of the thread's general registers
    std::size_t register_count = 0;
};

// Returns: true if the access may be tried again; false passes the fault on.
using fault_function = bool (*)(const fault& what) noexcept;

struct faults {
    static constexpr std::size_t most_functions = 16;

    // Effects: calls the function for every fault from now on, before those registered earlier. Returns: false if the
    // system has no such signals, or if the table of functions is full.
    static bool watch(fault_function function) noexcept;
};

}  // namespace millpond::os
