// SPDX-License-Identifier: BSL-1.0
// local: the allocators that carve chunks into blocks, for one thread or for many.
#pragma once

#include "local/batch_depot.hpp"
#include "local/block_batch.hpp"
#include "local/chunk_stock.hpp"
#include "local/class_places.hpp"
#include "local/free_list.hpp"
#include "local/large_blocks.hpp"
#include "local/magazine_rack.hpp"
#include "local/monotonic.hpp"
#include "local/multipool.hpp"
#include "local/patient_lock.hpp"
#include "local/rewind_scope.hpp"
#include "local/shared_large_blocks.hpp"
#include "local/size_class.hpp"
#include "local/synchronized_multipool.hpp"
#include "local/thread_life.hpp"
#include "local/thread_magazine.hpp"
