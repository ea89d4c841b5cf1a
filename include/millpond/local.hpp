// SPDX-License-Identifier: BSL-1.0
// local: the allocators that carve chunks into blocks, for one thread or for many.
#pragma once

#include "local/arena.hpp"
#include "local/compact_pool.hpp"
#include "local/first_chunk.hpp"
#include "local/monotonic.hpp"
#include "local/multipool.hpp"
#include "local/rewind_scope.hpp"
#include "local/slot_shape.hpp"
#include "local/synchronized_multipool.hpp"
