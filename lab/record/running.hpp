// SPDX-License-Identifier: BSL-1.0
// running: finds the processes that are recorded into a slot file, or may still begin to be.
//
// It reads /proc: such processes have the file mapped, or were started with its name in their environment. Processes
// that we may not inspect (another user's, unless we are root) are not found. O(processes of the machine).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/trace/slot_file.h"

namespace millpond::record {

struct running_process {
    std::uint64_t pid;           // in our pid namespace
    std::uint64_t own_pid;       // as it sees itself, in a namespace of its own
    std::uint64_t start_ns = 0;  // CLOCK_BOOTTIME, to 10 ms
    bool has_mapped = false;

    // Returns whether it is the process that wrote these facts, and not a younger one with its number.
    [[nodiscard]] bool is(const mpt_slot_process& facts) const;
};

// `path` is absolute; `device` and `inode` belong to the file there.
std::vector<running_process> find_running(const std::string& path, std::uint64_t device, std::uint64_t inode);

}  // namespace millpond::record
