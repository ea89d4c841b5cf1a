// SPDX-License-Identifier: BSL-1.0
// open_regular, read_regular: read a file that a user or a trace names, and never wait for it.
//
//   FIFO, device, socket, directory ──▶ failure "PATH is a FIFO, not a file"      a writer may never come
//   regular file ──▶ descriptor
//
// Use them for every path that comes from outside. Standard streams have descriptors already and need neither.
#pragma once

#include <cstddef>
#include <string>

namespace millpond::program {

// Opens `path` for reading, close-on-exec. The caller closes the descriptor. Throws failure (input) if it is missing,
// unreadable or not a regular file. Allocates nothing on success. Thread-safe.
int open_regular(const char* path);

// Returns the whole content. Throws failure as open_regular, and for a file of more than `bytes_max` bytes, which is
// refused before it is read. O(bytes). Thread-safe.
std::string read_regular(const std::string& path, std::size_t bytes_max);

}  // namespace millpond::program
