// SPDX-License-Identifier: BSL-1.0
// One half of a program whose halves may be compiled in different modes: it takes blocks from the other half's pool.
#include "halves.hpp"

void fill(std::vector<void*>& blocks, plain_pool& pool) {
    for (int i = 0; i < 2000; ++i) blocks.push_back(pool.allocate(24, 8));
}

#if defined(MILLPOND_CHECKED)  // else it is the same function
void fill(std::vector<void*>& blocks, pool_in_mode& pool) {
    for (int i = 0; i < 2000; ++i) blocks.push_back(pool.allocate(24, 8));
}
#endif

void fill(numbers_in_pool& numbers) {
    for (int i = 0; i < 2000; ++i) numbers.push_back(i);
}
