// SPDX-License-Identifier: BSL-1.0
// thread_blocks: finds where each module's variables of the main thread lie, relative to the thread pointer.
//
//   … │ libc.so.6 │ libjemalloc.so.2 │ program │ thread pointer ▶ the C library's data for a thread
//
// The dynamic linker places the modules that it loads at the start in the order of loading, downward from the thread
// pointer (glibc, on processors whose thread pointer lies after the variables). Modules are loaded at ascending
// addresses, except the program, which comes first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/trace/reader.hpp"

namespace millpond::layout {

struct thread_block {
    std::string path, build_id;
    std::uint64_t below = 0;  // it begins so far below the thread pointer
    std::uint64_t bytes = 0;
};

// Returns the blocks for a recording whose program is `executable`. A module whose file cannot be read has no block.
std::vector<thread_block> thread_blocks_of(std::vector<trace::module_record> modules, const std::string& executable);

}  // namespace millpond::layout
