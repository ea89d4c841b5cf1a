// SPDX-License-Identifier: BSL-1.0
// usage_exports: malloc_trim, mallinfo2, mallinfo and malloc_stats, for a library that is a program's whole malloc.
//
// Include it after interpose_exports.hpp, in the same source. The backend also has, all static and noexcept:
//   classic::heap_record record();   bool trim();   const char* name
// The figures are those of the backend and of the provider behind it together. A router or recorder has none: there the
// provider's own functions answer.
#pragma once

#include <malloc.h>
#include <stddef.h>

#include "preload/exit_statistics.hpp"
#include "preload/real.hpp"

#pragma GCC visibility push(default)

extern "C" {

int malloc_trim(std::size_t kept_bytes) noexcept {
    const bool ours = millpond::preload::backend::trim();
    return millpond::preload::real::trim(kept_bytes) || ours ? 1 : 0;
}

struct mallinfo2 mallinfo2() noexcept {
    const millpond::classic::heap_use ours = millpond::preload::backend::record().use;
    struct mallinfo2 all = millpond::preload::real::usage();
    all.arena += ours.held_bytes;
    all.ordblks += ours.free_blocks;
    all.uordblks += ours.block_bytes;
    all.fordblks += ours.free_bytes;
    return all;
}

// Numbers beyond an int wrap, as the C library's do.
struct mallinfo mallinfo() noexcept {
    const struct mallinfo2 all = mallinfo2();
    struct mallinfo narrow{};
    narrow.arena = static_cast<int>(all.arena);
    narrow.ordblks = static_cast<int>(all.ordblks);
    narrow.smblks = static_cast<int>(all.smblks);
    narrow.hblks = static_cast<int>(all.hblks);
    narrow.hblkhd = static_cast<int>(all.hblkhd);
    narrow.fsmblks = static_cast<int>(all.fsmblks);
    narrow.uordblks = static_cast<int>(all.uordblks);
    narrow.fordblks = static_cast<int>(all.fordblks);
    narrow.keepcost = static_cast<int>(all.keepcost);
    return narrow;
}

void malloc_stats() noexcept {
    millpond::preload::exit_statistics::say(millpond::preload::backend::name, millpond::preload::backend::record());
}

}  // extern "C"

#pragma GCC visibility pop
