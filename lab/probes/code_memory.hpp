// SPDX-License-Identifier: BSL-1.0
// code_memory: room for code of ours near the program's, and the one way in which code is written.
//
//   module's code ── within 1.5 GiB ── │ region 64 KiB, read and run │ slot │ slot │ …
//
// An address relative to rip reaches 2 GiB. Written through /proc/self/mem, so that no mapping changes its protection
// and none is split. Nothing is given back. Allocates nothing; take has a lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/probes/wanted_scopes.hpp"

namespace millpond::probes {

class code_memory {
  public:
    // False where that cannot be done. Opens and closes a descriptor.
    static bool write(std::uintptr_t address, const void* bytes, std::size_t size) noexcept;
    // Room of `bytes` (a power of two, at most a page) near `address`, which lies in `module`; 0: there is none.
    static std::uintptr_t take(std::uintptr_t address, const code_range& module, std::size_t bytes) noexcept;
    // In a forked child: another thread of the parent may have held the lock.
    static void adopt() noexcept;
};

}  // namespace millpond::probes
