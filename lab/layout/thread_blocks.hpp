// SPDX-License-Identifier: BSL-1.0
// thread_blocks: where each module's variables of the first thread lie, by the thread pointer.
//
//   … │ libc.so.6 │ libjemalloc.so.2 │ program │ thread pointer ▶ what the C library has for a thread
//
// The dynamic linker gives the modules that it loads at the start their places in the order of loading, downward from
// the thread pointer (glibc, processors whose thread pointer lies behind the variables). They are loaded at ascending
// addresses, but for the program, which comes first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/trace/reader.hpp"

namespace millpond::layout {

struct thread_block {
    std::string path, build_id;
    std::uint64_t below = 0;  // the thread pointer, it begins
    std::uint64_t bytes = 0;
};

// Of the modules of a recording whose program is `executable`. A module whose file cannot be read has none.
std::vector<thread_block> thread_blocks_of(std::vector<trace::module_record> modules, const std::string& executable);

}  // namespace millpond::layout
