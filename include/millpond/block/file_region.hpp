// SPDX-License-Identifier: BSL-1.0
// file_region: a region whose memory is a file, which is kept or removed, or memory that processes share.
//
//   this process   │root│block│block│▒▒▒▒▒▒▒▒▒▒▒▒│·····················│ guard page │
//                  0       frontier ▲            ▲ the file ends here, and grows by a step
//   another one          │root│block│block│                            at other addresses, with the same offsets
//
// Use it for
//   a kept file        os::file_pages::create, open: contents that the next run of the program continues
//   more than memory   os::file_pages::temporary(folder): the system writes pages that are not in use to the disk
//   shared memory      os::file_pages::shared: a forked child, or a process that adopts the descriptor, uses the blocks
// Not for contents that fit in memory and end with the process: take region, whose steps cost a file system no work. A
// file on a network may fail by a signal at any access.
//
// Blocks have addresses in one process, and offsets everywhere: write offset_of(block) into shared contents and files,
// or indices into an array, and get the place back with at(offset). Pointers are right only in forked children, and in
// the same run. Put a root with the offsets into the first block: it begins at offset 0. Containers of pointers
// (std::list, counted_set) can so be used by forked children; for other processes take arrays and indices.
//
// One process allocates and frees. Others see what was there when they made their file_region; attach() shows them the
// rest. They may write the blocks, and order that among themselves (std::atomic works). Where several processes must
// allocate, fork them and put one pool with a lock for processes into a block: see synchronized. (AddressSanitizer and
// memcheck cannot watch such a pool: they know only the blocks of their own process.)
//
// What a file held before counts as one block in use; only reset and release drop it. The rest of the last step stays
// in a kept file and counts as well when it is opened again: up to an eighth, at least 16 KiB, at most 1 MiB. Memory of
// blocks freed in the middle stays in the file until the frontier falls below it.
//
// Complexity, alignment and checked mode: as region; a step also costs the file system the allocation of its blocks. If
// the file system refuses, the result is null and page_source().error() says why. Not thread-safe. Not on Windows.
//
// Example:
//     using millpond::os::file_pages;
//     millpond::file_region source(1 << 20, file_pages::temporary("."));  // create("figures") would keep it
//     auto* const figures = static_cast<int*>(source.try_allocate(1000 * sizeof(int), alignof(int)));
//     if (figures == nullptr) {
//         assert(source.page_source().error() != std::errc{});  // as no_space_on_device
//     } else {
//         figures[999] = 7;
//         assert(source.offset_of(figures) == 0 && source.at(0) == figures);
//     }
#pragma once

#include "../core/abi.hpp"
#include "../os/file_pages.hpp"
#include "region.hpp"

namespace millpond::inline MILLPOND_ABI {

using file_region = basic_region<os::file_pages>;

}  // namespace millpond::inline MILLPOND_ABI
