// SPDX-License-Identifier: BSL-1.0
// advise: places in a program that own an allocator, with every standard container over it.
#pragma once

#include "advise/arena_allocator.hpp"
#include "advise/containers.hpp"
#include "advise/instance_allocator.hpp"
#include "advise/instance_pool.hpp"
#include "advise/phase_arena.hpp"
#include "advise/pool_allocator.hpp"
#include "advise/process_pool.hpp"
#include "advise/scope_arena.hpp"
#include "advise/slab_pool.hpp"
#include "advise/thread_arena.hpp"
