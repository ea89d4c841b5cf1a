// SPDX-License-Identifier: BSL-1.0
// What libmillpond-NAME.so exports, for each classic allocator: malloc's family over one locked heap. The build says
// which: MILLPOND_HEAP is its name.
#include "lab/mallocs/classic_heaps.hpp"
#include "preload/locked_malloc.hpp"

#define MILLPOND_TEXT_OF(name) #name
#define MILLPOND_TEXT(name) MILLPOND_TEXT_OF(name)

namespace millpond::preload {
struct backend : locked_malloc<mallocs::heaps::MILLPOND_HEAP> {
    static constexpr const char* name = MILLPOND_TEXT(MILLPOND_HEAP);
};
}  // namespace millpond::preload

#include "preload/interpose_exports.hpp"
#include "preload/usage_exports.hpp"

namespace {

[[gnu::constructor]] void at_start() { millpond::preload::backend::start(); }
[[gnu::destructor]] void at_end() { millpond::preload::backend::say_statistics(millpond::preload::backend::name); }

}  // namespace
