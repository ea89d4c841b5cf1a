// SPDX-License-Identifier: BSL-1.0
// exit_statistics: with MILLPOND_STATS=1 in the environment, prints statistics of a malloc on standard error at exit.
//
//   millpond quick_fit: 120 blocks in 8192 bytes, 31 free in 4096 bytes, 16384 bytes used, 65536 bytes held
//   millpond quick_fit: 3 lists with free blocks, the longest of 20, 12 % of the free bytes outside the largest block
//   millpond multipool: list of 48 bytes: 12 blocks in threads' caches, 340 behind them
//   millpond quick_fit: 9000 allocations of 310000 bytes in 420000, 8880 frees, 1200 blocks searched, 90 splits, …
//   (coalesces, growths, insertions into doubly linked lists, and the nodes and pages that these wrote to)
//   millpond synthesized: in the arena 5000 of these blocks, 120000 bytes in 130000, 4990 frees, 3 chunks held
//
// Allocates nothing; makes one system call a line, and bypasses the program's streams.
#pragma once

#include <cstddef>

#include "millpond/classic/heap_record.hpp"

namespace millpond::preload {

class exit_statistics {
  public:
    // Returns the switch as it was at the first call.
    [[nodiscard]] static bool are_wanted() noexcept;

    // Prints the record without the counts of its operations.
    static void say(const char* name, const classic::heap_record& record) noexcept;
    static void say_list(const char* name, std::size_t bytes, std::size_t cached, std::size_t behind) noexcept;
    // `part`: the part of the malloc that counted this; it follows the name.
    static void say(const char* name, const char* part, const classic::operation_counts& counts) noexcept;
    // Prints the counts of blocks in an arena, and the number of its chunks with live blocks.
    static void say_arena(const char* name, const classic::operation_counts& counts, unsigned held_chunks) noexcept;
};

}  // namespace millpond::preload
