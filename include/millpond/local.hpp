// SPDX-License-Identifier: BSL-1.0
// local: the allocators that carve chunks into blocks, each for one thread.
#pragma once

#include "local/chunk_stock.hpp"
#include "local/free_list.hpp"
#include "local/large_blocks.hpp"
#include "local/monotonic.hpp"
#include "local/multipool.hpp"
#include "local/rewind_scope.hpp"
