// SPDX-License-Identifier: BSL-1.0
// What libmillpond-multipool.so exports: malloc's family over pooled_malloc.
#include "lab/pooled/pooled_malloc.hpp"

namespace millpond::preload {
using backend = pooled::pooled_malloc;
}

#include "preload/interpose_exports.hpp"

namespace {

[[gnu::constructor]] void at_start() { millpond::pooled::pooled_malloc::start(); }

}  // namespace
