// SPDX-License-Identifier: BSL-1.0
// library_no_heap: a container that lives in a buffer of its own and never calls the heap.
//
// Use this in a signal handler's log, a control loop, or a plug-in that must not fail when the host's memory is short.
#include <cstdio>
#include <list>
#include <millpond/millpond.hpp>
#include <new>

int main() {
    alignas(64) static char memory[8192];
    millpond::fixed_buffer buffer(memory, sizeof memory);
    using pool_type = millpond::multipool<millpond::source_ref<millpond::fixed_buffer>>;
    pool_type pool(buffer);

    std::list<int, millpond::allocator<int, pool_type>> recent(&pool);
    bool was_full = false;
    for (int i = 0; i < 1000; ++i) {
        try {
            recent.push_back(i);
        } catch (const std::bad_alloc&) {  // the buffer is full: drop the oldest, whose node serves the next number
            was_full = true;
            recent.pop_front();
            recent.push_back(i);
        }
    }
    std::printf("the last %zu of 1000 numbers, %d to %d, in %zu bytes\n", recent.size(), recent.front(), recent.back(),
                sizeof memory);
    return was_full && recent.back() == 999 ? 0 : 1;
}
