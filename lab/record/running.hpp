// SPDX-License-Identifier: BSL-1.0
// running: which processes are still recorded into a slot file, or may yet begin to be.
//
// Read off /proc: they have the file mapped, or were started with its name in their environment. A process that nobody
// may look into (another user's, for one who is not root) is not seen. O(processes of the machine).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millpond::record {

struct running_process {
    std::uint64_t pid;           // as we see it
    std::uint64_t own_pid;       // as it sees itself, in a namespace of its own
    std::uint64_t start_ns = 0;  // CLOCK_BOOTTIME, to 10 ms
    bool has_mapped = false;
};

// `path` is absolute, `device` and `inode` are those of the file there.
std::vector<running_process> find_running(const std::string& path, std::uint64_t device, std::uint64_t inode);

}  // namespace millpond::record
