// SPDX-License-Identifier: BSL-1.0
// library_hello: two containers with a pool of their own, one bound by type and one by base.
//
// When the scope ends the pool is destroyed, and its memory goes back to the process's cache of chunks.
#include <cstdio>
#include <map>
#include <memory_resource>
#include <millpond/millpond.hpp>
#include <string>
#include <vector>

int main() {
    using pool_type = millpond::multipool<>;
    pool_type pool;

    // Binding by type: the container's type names the pool, and allocation is inlined.
    std::vector<int, millpond::allocator<int, pool_type>> squares(&pool);
    for (int i = 0; i < 1000; ++i) squares.push_back(i * i);

    // Binding by base: any std::pmr container works, through a resource over the same pool.
    millpond::resource<pool_type&> base(pool);
    std::pmr::map<std::pmr::string, int> words(&base);
    for (const char* word : {"mill", "pond", "wheel", "mill", "water", "mill"}) ++words[word];

    std::printf("%d squares, %zu words, mill %d times, %zu KiB held\n", squares.back(), words.size(), words["mill"],
                pool.held_bytes() / 1024);
    return squares.back() == 998001 && words["mill"] == 3 ? 0 : 1;
}
