// SPDX-License-Identifier: BSL-1.0
// control: the memory that millpond-trial shares with the processes of one round. It holds their instructions and their
// counters.
//
//   │ header: variant, routes │ process 0: counters │ process 1 │ … │ process 511 │ survey: modules seen │
//
// The driver makes it (an anonymous file, so nothing is left behind) and names it in the variable MILLPOND_TRIAL. The
// preloaded library maps only the pages that it needs, because mapped pages count towards the program's limit of
// addresses. Counters live here while the program runs, so that nothing is lost when it is killed. Every process image
// that a round starts claims a slot; when all are claimed, further ones share a private page and are only counted.
// Counters of a thread's line or of a pool that one thread uses are plain; all others are atomic. Plain data: the
// driver and the library are one build.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/machine.hpp"

namespace millpond::trial {

enum class variant : std::uint32_t { empty, shared, shared_huge, looked_up, plan, survey };

// The environment variable that names the control memory to a preloaded process.
inline constexpr const char* control_variable = "MILLPOND_TRIAL";

// Blocks up to this size come from pools.
inline constexpr std::size_t pooled_bytes_max = std::size_t{32} << 10;

// The counters of one thread. Lines are claimed by threads and reused after they end.
struct alignas(64) thread_counters {
    std::uint64_t claimed;       // the name of the thread that claimed it; 0: free
    std::uint64_t walks;         // look-ups of sites whose own function is not known to be the owner
    std::uint64_t misses;        // look-ups without an answer: no memory, or in a signal handler during another
    std::uint64_t passed_large;  // allocations that went to the program's allocator because of their size or alignment
    std::uint64_t passed_unrouted;  // … because no route names their subsystem
    std::uint64_t passed_refused;   // … because their pool belongs to another thread, or had no memory
};

struct alignas(64) pool_counters {
    std::uint64_t allocations;
    std::uint64_t deallocations;         // by the owner, or under the lock
    std::uint64_t remote_deallocations;  // atomic: handed to the owner by other threads
    std::uint64_t refused_thread;        // atomic: allocations by threads that do not own the pool
    std::uint64_t held_bytes;            // slabs taken from the slab map
    std::uint64_t slab_bytes_used;       // of which chunks were made
    // Arena pools only:
    std::uint64_t arena_bytes;        // slabs taken for chunks of arenas
    std::uint64_t resets;             // atomic
    std::uint64_t capped_bytes;       // bytes that an arena held when it reached the bound; 0: none did
    std::uint64_t capped_live_bytes;  // of these, live bytes
    std::uint64_t calls;              // atomic: of the arenas' functions, observed
    std::uint64_t outlived_calls;     // atomic: of those, calls that ended before all their objects
    std::uint64_t trapped_calls;      // atomic: of those, calls that a trap reported, not a jump
};

// The counters of one thread for one pool that threads share. The line stays with that pool until the process ends.
struct alignas(64) cache_counters {
    std::uint32_t claimed;  // atomic
    std::uint32_t pool;     // from 1; 0: none
    std::uint64_t allocations;
    std::uint64_t deallocations;
};

// The counters of all pools: in the slot, or privately in a child that has no slot yet.
struct all_pool_counters {
    static constexpr std::size_t pools_max = 200, caches_max = 256;
    pool_counters pools[pools_max];
    cache_counters caches[caches_max];
};

struct process_identity {
    char executable[512];
    char build_id[72];
};

// Mapped by itself, so it fills pages.
struct alignas(preload::machine::page_bytes_max) process_slot {
    static constexpr std::size_t thread_lines = 64;

    std::int32_t pid;
    std::uint32_t malloc_in_executable;  // 1: the program has its own malloc, instead of ours or together with it
    std::uint64_t range_bytes;           // addresses that pools may grow into; 0 where there are no pools
    std::uint64_t module_count, module_misses, nodes;
    std::uint64_t modules_met[8];  // a bit for each module of the routes that an allocation came from
    char provider[256];            // module whose malloc the program uses, empty for the C library
    process_identity identity;
    thread_counters threads[thread_lines];
    all_pool_counters counted;
};

struct control {
    static constexpr std::uint64_t magic_value = 0x314c'4149'5254'504d;  // "PMTRIAL1"
    static constexpr std::size_t slots = 512;
    static constexpr std::size_t survey_bytes = std::size_t{1} << 20;

    std::uint64_t magic;
    std::uint64_t bytes;  // of the whole mapping
    variant mode;
    std::uint32_t slots_claimed;    // atomic; may exceed `slots`
    std::uint32_t other_processes;  // atomic: images of programs outside the round
    std::uint32_t reserved;
    char image_build_id[72];    // only this program is tried, also in child processes; empty: every program
    char routes_path[4096];     // for variant::plan; also gives looked_up its look-ups
    std::uint32_t survey_used;  // atomic
    std::uint32_t survey_full;
    process_slot processes[slots];
    char survey[survey_bytes];  // survey_record, path, zero, build-id, zero; padded to 8
};

struct survey_record {
    std::uint32_t ready;  // written last
    std::uint32_t bytes;  // of this record with its strings
    std::int32_t pid;
    std::uint32_t slot;
};

}  // namespace millpond::trial
