// SPDX-License-Identifier: BSL-1.0
// The exports of libmillpond-NAME.so, for each classic allocator: malloc's family over one locked heap. The build sets
// its name as MILLPOND_HEAP. A synthesized allocator may also have predicted call sites (heaps::prediction).
#include <cstddef>
#include <cstdint>

#include "lab/mallocs/classic_heaps.hpp"
#include "preload/locked_malloc.hpp"

#define MILLPOND_TEXT_OF(name) #name
#define MILLPOND_TEXT(name) MILLPOND_TEXT_OF(name)

namespace millpond::preload {
#ifdef MILLPOND_PREDICTS
using heap_site = mallocs::heaps::prediction::call_site;
#else
using heap_site = return_site;
#endif
#ifdef MILLPOND_NEVER_JOINS
// Without joining, only the pieces of a large block keep the free list short, which every request searches. Still
// larger blocks are kept apart, so that calloc and realloc touch no more of them than the program does.
constexpr std::size_t huge_bytes = std::size_t{16} << 20;
#else
constexpr std::size_t huge_bytes = std::size_t{1} << 20;
#endif
struct backend : locked_malloc<mallocs::heaps::MILLPOND_HEAP, heap_site, huge_bytes> {
    static constexpr const char* name = MILLPOND_TEXT(MILLPOND_HEAP);
};
}  // namespace millpond::preload

#include "preload/interpose_exports.hpp"
#include "preload/usage_exports.hpp"

namespace {

[[gnu::constructor]] void at_start() {
    millpond::preload::backend::start();
#ifdef MILLPOND_PREDICTS
    millpond::mallocs::heaps::prediction::start();
#endif
}
[[gnu::destructor]] void at_end() { millpond::preload::backend::say_statistics(millpond::preload::backend::name); }

}  // namespace
