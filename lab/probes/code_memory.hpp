// SPDX-License-Identifier: BSL-1.0
// code_memory: memory for our code near the program's, and the only function that writes code.
//
//   module's code ── within 1.5 GiB ── │ region 64 KiB, read and run │ slot │ slot │ …
//
// An address relative to rip reaches 2 GiB. Code is written through /proc/self/mem, so that no mapping changes its
// protection or is split. The memory is never freed. Allocates nothing; take has a lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/probes/wanted_scopes.hpp"

namespace millpond::probes {

class code_memory {
  public:
    // Returns false if writing fails. Opens and closes a descriptor.
    static bool write(std::uintptr_t address, const void* bytes, std::size_t size) noexcept;
    // Returns room of `bytes` (a power of two, at most a page) near `address`, which lies in `module`; 0 without room.
    static std::uintptr_t take(std::uintptr_t address, const code_range& module, std::size_t bytes) noexcept;
    // For a forked child: another thread of the parent may have held the lock.
    static void adopt() noexcept;
};

}  // namespace millpond::probes
