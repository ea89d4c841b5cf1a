// SPDX-License-Identifier: BSL-1.0
// start: a program in a fresh process, with changes to its environment and its standard streams.
//
// The child is made by fork, not by vfork or posix_spawn: the kernel carries the peak resident memory of the address
// space that called execve over into the new program, and with vfork that space is the whole of the caller's. A forked
// child owns only its caller's anonymous pages, so start programs while the caller is still small; then the floor lies
// below what any dynamically linked program needs by itself. The child's signal mask and dispositions are the caller's,
// but for handlers, which exec resets. Thread-safe if no other thread changes the environment meanwhile.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace millpond::measure {

struct start_options {
    // Variables to set, or to remove where the value is null; the last change of a name holds. All others are
    // inherited.
    std::vector<std::pair<std::string, std::optional<std::string>>> environment;
    // Files for the standard streams; empty means inherited. Output files are created or truncated; equal paths share
    // one file.
    std::string stdin_path, stdout_path, stderr_path;
    // Whether the program is killed when the caller dies, so that a measurement that was given up does not disturb the
    // next.
    bool dies_with_caller = false;
};

// Starts `path` (as find_program or check_preloadable resolved it) with `arguments`, argv[0] included.
// The caller waits for it. Throws failure: an exec that fails (status 5), a standard stream that cannot be
// opened (3 for input, 4 for output).
pid_t start(const std::string& path, const std::vector<std::string>& arguments, const start_options& options);

// `libraries` in front of what LD_PRELOAD holds already, so that the user's own preloads keep working, behind ours.
std::string preload_value(const std::string& library);

}  // namespace millpond::measure
