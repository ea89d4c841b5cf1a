// SPDX-License-Identifier: BSL-1.0
// library_made_to_measure: counts a container's requests, then gives it a pool of exactly its sizes, and a limit.
#include <cstdio>
#include <map>
#include <millpond/millpond.hpp>

template <class Pool>
void work(Pool& pool) {
    using entry = std::pair<const int, double>;
    std::map<int, double, std::less<>, millpond::allocator<entry, Pool>> prices(&pool);
    for (int i = 0; i < 10000; ++i) prices[i * 7919 % 5000] = i;
}

int main() {
    // A trial run counts: one size, 48 bytes where addresses have 64 bits (V is 0), and at most 5000 nodes at once.
    millpond::counted<millpond::multipool<>> probe;
    work(probe);
    probe.print("map");
    const std::size_t peak = probe.counts().peak_live_bytes;

    // The pool for these counts: one class of 48 bytes, one chunk that holds all nodes, and a limit against more
    // growth.
    using classes = millpond::class_map<48>;
    using pool_type = millpond::limited<millpond::multipool<millpond::chunk_cache, classes>>;
    pool_type pool(millpond::byte_limit{peak});
    work(pool);
    std::printf("peak %zu bytes\n", peak);
    return probe.counts().peak_live_blocks == 5000 && pool.held_bytes() >= peak ? 0 : 1;
}
