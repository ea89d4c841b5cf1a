// SPDX-License-Identifier: BSL-1.0
// code_patch: writes to code, and finds room for code near it.
//
// Bytes go through /proc/self/mem, so that no mapping changes its protection and none is split. Room for copies of
// instructions is mapped within 1.5 GiB of the code, because an address relative to rip reaches 2 GiB. Every call opens
// and closes its own descriptor. The caller holds a lock for take_room. Allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millpond::probes {

// False where it cannot be done.
bool write_code(std::uintptr_t address, const void* bytes, std::size_t count) noexcept;

// Room of `bytes` (a power of two, at most a page) near `address`, which lies in the module at [first, last); 0: none.
std::uintptr_t take_room(std::uintptr_t address, std::uintptr_t first, std::uintptr_t last, std::size_t bytes) noexcept;

}  // namespace millpond::probes
