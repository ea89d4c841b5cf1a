// SPDX-License-Identifier: BSL-1.0
// faults: tells those who know a range of addresses that the program has touched what it may not touch (SIGSEGV).
//
//   access ─▶ fault ─▶ function a ─▶ function b ─▶ the handler that was there before ─▶ the system's own end
//                          └─ true: the access is tried again
//
// Checked mode stands on it: it says which block, pool or array a wild access has hit, where the system would only end
// the program. The first watch installs one handler for the process; it passes on what no function has repaired, so a
// crash reporter that was installed before still sees the fault, and a core dump shows the access. A handler that is
// installed later takes the place of this one.
//
// The thread that installs it gets an alternate signal stack if it has none. Elsewhere than on POSIX systems watch
// returns false. watch: O(1), one or two system calls, thread-safe. The functions run inside the signal handler of the
// thread that faulted; one that faults itself ends the program. Implemented in src/os: link millpond::millpond.
//
// Example:
//     millpond::os::faults::watch([](const millpond::os::fault&) noexcept { return false; });
#pragma once

#include <cstddef>
#include <cstdint>

namespace millpond::os {

struct fault {
    const void* address = nullptr;  // null also where the processor does not tell it
    bool is_write = false;          // false also where the processor does not tell it
    const void* instruction = nullptr;
    const std::uintptr_t* registers = nullptr;  // what the thread's general registers hold
    std::size_t register_count = 0;
};

// Returns: true if the access may be tried again; false passes the fault on.
using fault_function = bool (*)(const fault& what) noexcept;

struct faults {
    static constexpr std::size_t most_functions = 16;

    // Effects: calls the function for every fault from now on, before those that are known already.
    // Returns: false where the system has no such signals, or that many functions are known.
    static bool watch(fault_function function) noexcept;
};

}  // namespace millpond::os
