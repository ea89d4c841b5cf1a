/* SPDX-License-Identifier: BSL-1.0 */
/* The interface of a shared library that takes part in the suite as `--contender adapter --peer LIBRARY.so`: six
   functions around one allocator class that Millpond does not know.

     millpond_peer_create ─▶ pool ─▶ allocate, deallocate, … ─▶ millpond_peer_destroy

   The suite makes a pool for each structure it builds, as for every local allocator, and calls from one thread at a
   time unless the workload's name begins with `threads`, where each pool belongs to one thread. A malloc library needs
   no adapter: preload it. tests/lab/suites/example_peer.c is a complete example. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns: a new pool, or null. */
void* millpond_peer_create(void);

/* Returns: `bytes` (above 0) of memory aligned to `alignment`, a power of two of at most 16; or null. */
void* millpond_peer_allocate(void* pool, size_t bytes, size_t alignment);

/* `bytes` and `alignment`: as in the allocation. */
void millpond_peer_deallocate(void* pool, void* block, size_t bytes, size_t alignment);

/* Effects: returns all memory of the pool, including that of blocks that were never freed. */
void millpond_peer_destroy(void* pool);

/* Static texts for the result. */
const char* millpond_peer_name(void);
const char* millpond_peer_version(void);

#ifdef __cplusplus
}
#endif
