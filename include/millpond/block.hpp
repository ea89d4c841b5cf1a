// SPDX-License-Identifier: BSL-1.0
// block: the block sources, which supply allocators with memory.
#pragma once

#include "block/chunk_cache.hpp"
#include "block/file_region.hpp"
#include "block/fixed_buffer.hpp"
#include "block/new_delete.hpp"
#include "block/numa_region.hpp"
#include "block/region.hpp"
#include "block/reservation.hpp"
#include "block/source_ref.hpp"
#include "block/std_source.hpp"
#include "block/upstream_resource.hpp"
