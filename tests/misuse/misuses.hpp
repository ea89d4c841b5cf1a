// SPDX-License-Identifier: BSL-1.0
// misuses: wrong programs, each a named function, with the expected report in checked mode, under AddressSanitizer and
// under Valgrind; and clean programs, for which nothing may be reported.
//
//   library_misuse_checked   NAME   built with MILLPOND_CHECKED
//   library_misuse_asan      NAME   built with -fsanitize=address, in release mode
//   library_misuse_valgrind  NAME   built with MILLPOND_VALGRIND, in release mode, run under memcheck
#pragma once

#include <millpond/millpond.hpp>
#include <span>

namespace millpond::test {

struct program {
    const char* name;
    void (*run)();
    const char* checked;   // what checked mode says; null for a clean program, and where it need not see it
    const char* asan;      // what AddressSanitizer says; null if it need not see it
    const char* valgrind;  // what memcheck says; null if it need not see it
};

std::span<const program> arena_misuses();
std::span<const program> array_misuses();
std::span<const program> block_misuses();
std::span<const program> container_misuses();
std::span<const program> edge_misuses();
std::span<const program> element_misuses();
std::span<const program> life_misuses();
std::span<const program> rank_misuses();
std::span<const program> sequence_misuses();
std::span<const program> read_misuses();
std::span<const program> row_misuses();
std::span<const program> slot_misuses();
std::span<const program> source_misuses();
std::span<const program> thread_misuses();
std::span<const program> wink_misuses();
std::span<const program> clean_programs();
std::span<const program> clean_page_programs();

using multi = in_mode<multipool<>>;
using mono = in_mode<monotonic<>>;

// Access memory in a way that the compiler must not remove.
inline void poke(void* memory, std::ptrdiff_t at) { static_cast<volatile char*>(memory)[at] = 'x'; }

// Hides a pointer's target from the compiler, so that it neither warns of the misuse nor exploits it.
template <class T>
T* hidden(T* pointer) {
    asm("" : "+r"(pointer));
    return pointer;
}

}  // namespace millpond::test
