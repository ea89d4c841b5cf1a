// SPDX-License-Identifier: BSL-1.0
// The exports of libmillpond-multipool.so: malloc's family over pooled_malloc.
#include "lab/mallocs/pooled_malloc.hpp"

namespace millpond::preload {
using backend = mallocs::pooled_malloc;
}

#include "preload/interpose_exports.hpp"
#include "preload/usage_exports.hpp"

namespace {

[[gnu::constructor]] void at_start() { millpond::mallocs::pooled_malloc::start(); }

[[gnu::destructor]] void at_end() {
    if (millpond::mallocs::checked_malloc::is_on()) millpond::mallocs::checked_malloc::verify();
    millpond::mallocs::pooled_malloc::say_statistics();
}

}  // namespace
