// SPDX-License-Identifier: BSL-1.0
// process_words: data that belongs to this process only; a forked child starts with zeros.
//
//   process     │ small_max, slot, generation … │ ── fork, _Fork, clone ─▶  child  │ 0, 0, 0 … │ ── adopt() ─▶ its own
//
// The words fill a page that the kernel zeroes in a child (MADV_WIPEONFORK). So every child is recognised, however it
// was made, without a lock or a handler. Its first event finds small_max at 0 and adopts the inherited state: it claims
// a slot for its counters, and retires state that a thread which it lacks was changing. Before Linux 4.14 a handler of
// pthread_atfork empties the page, and only children of fork are known. A child that shares its parent's memory (vfork)
// shares the words, as it shares the heap. Reading: one load.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/trial/control.hpp"
#include "preload/machine.hpp"

namespace millpond::trial {

struct alignas(preload::machine::page_bytes_max) process_words {
    std::size_t small_max;           // 0: no routes, or the child has not adopted them yet
    std::ptrdiff_t counters_offset;  // from the private all_pool_counters to those in the slot; 0 until there is one
    process_slot* slot;              // null until this process has one
    std::uint32_t generation;        // differs in every process of a line of forks, from 1 on; 0: not adopted
    std::uint32_t adopting;          // atomic: a thread is adopting
};

inline constinit process_words own_words{};

// Set once by the router: makes the words those of this process.
using adopter = void (*)() noexcept;
inline constinit adopter adopt_words = nullptr;

// For slow paths that may be the first call in a child.
inline void adopt_if_child() noexcept {
    if (__atomic_load_n(&own_words.generation, __ATOMIC_ACQUIRE) == 0 && adopt_words != nullptr) adopt_words();
}

// Returns the counters of this process for the private ones at `own`: those themselves until a child has adopted its
// pools.
template <class Counters>
Counters& counters_of_process(Counters* own) noexcept {
    return *reinterpret_cast<Counters*>(reinterpret_cast<char*>(own) + own_words.counters_offset);
}

}  // namespace millpond::trial
