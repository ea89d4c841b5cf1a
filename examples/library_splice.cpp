// SPDX-License-Identifier: BSL-1.0
// library_splice: two pools become one, so that nodes may move between the containers of both.
//
// Each worker fills a list in its own pool, without locks; at the end the lists are spliced, not copied.
#include <cstdio>
#include <list>
#include <millpond/millpond.hpp>
#include <thread>

using pool_type = millpond::multipool<>;
using list_type = std::list<int, millpond::allocator<int, pool_type>>;

int main() {
    pool_type mine, theirs;  // `mine` absorbs, so it must live longer: it is destroyed last
    list_type first(&mine), second(&theirs);
    {
        std::jthread worker([&second] {
            for (int i = 0; i < 50000; ++i) second.push_back(i);
        });
        for (int i = 0; i < 50000; ++i) first.push_back(-i);
    }
    mine.absorb(theirs);
    first.splice(first.end(), second);  // legal now: both allocators compare equal
    std::printf("%zu numbers in one list, %zu in the other\n", first.size(), second.size());
    return first.size() == 100000 && second.empty() ? 0 : 1;
}
