// SPDX-License-Identifier: BSL-1.0
// emulator_memory: the part of this process's resident memory that belongs to the emulator that runs it.
//
//   /proc/self/maps   the emulated program, as its emulator shows it     ░░░░░░░░░░
//   /proc/self/smaps  the process, as the kernel shows it                ░░░░░░░░░░ ▓▓▓▓▓▓▓ the emulator, above it
//
// qemu keeps a table entry for every page that the program reserves: 7 MB for a GiB. Only with MILLPOND_EMULATED in the
// environment, because reading the files takes time. No malloc. O(mappings).
#pragma once

#include <cstdint>

namespace millpond::suites {

// Returns: the resident bytes of the emulator; 0 without MILLPOND_EMULATED.
std::uint64_t emulator_bytes() noexcept;

}  // namespace millpond::suites
