// SPDX-License-Identifier: BSL-1.0
// halves: the declarations that both halves of the program share: functions with a plain pool, a pool in the mode and a
// container in their signatures.
#pragma once

#include <millpond/bind/allocator.hpp>
#include <millpond/block/region.hpp>
#include <millpond/local/multipool.hpp>
#include <millpond/wrap/in_mode.hpp>
#include <vector>

using plain_pool = millpond::multipool<millpond::region>;
using pool_in_mode = millpond::in_mode<plain_pool>;
using numbers_in_pool = std::vector<int, millpond::allocator<int, pool_in_mode>>;

void fill(std::vector<void*>& blocks, plain_pool& pool);
void fill(std::vector<void*>& blocks, pool_in_mode& pool);
void fill(numbers_in_pool& numbers);
