// SPDX-License-Identifier: BSL-1.0
// malloc_in_use: which library this process's malloc comes from.
//
//   env LD_PRELOAD=libjemalloc.so.2 millpond-p0089-suite …  ──▶  "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
//
// The loader only warns of a library that it cannot preload, and the program would then be measured on another malloc
// than was asked for. So every suite says what it runs on, and whoever asked compares. O(loaded libraries).
#pragma once

#include <string>

namespace millpond::frame {

// Returns: the path of the library (or program) that malloc is in, as the loader has it; empty where it cannot tell.
std::string malloc_in_use();

}  // namespace millpond::frame
