// SPDX-License-Identifier: BSL-1.0
// The other half of the program: it owns the pools and frees the blocks that the first half has taken.
#include <cstdio>

#include "halves.hpp"

namespace {

template <class Pool>
void fill_and_empty() {
    Pool pool;
    std::vector<void*> blocks;
    for (int round = 0; round < 20; ++round) {
        fill(blocks, pool);
        for (void* const block : blocks) pool.deallocate(block, 24, 8);
        blocks.clear();
    }
}

}  // namespace

int main() {
    fill_and_empty<plain_pool>();
#if defined(MILLPOND_CHECKED)
    fill_and_empty<pool_in_mode>();
#endif
    pool_in_mode pool;
    numbers_in_pool numbers(&pool);
    fill(numbers);
    std::puts(numbers.size() == 2000 ? "ended" : "lost some numbers");
}
