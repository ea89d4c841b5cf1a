// SPDX-License-Identifier: BSL-1.0
// Report: boostorg/pool 54, boostorg/boost 1060, boostorg/pool 66
// Situation: a pool is used a little, released whole and used again, many times.
// Holds: it asks for the same memory in each round, and not for twice as much.
// Library: yes
#include <cstdio>
#include <millpond/millpond.hpp>
struct counting {
    static inline std::size_t bytes = 0;
    void* try_allocate(std::size_t n, std::size_t alignment) noexcept {
        bytes += n;
        return ::operator new(n, std::align_val_t(alignment), std::nothrow);
    }
    void deallocate(void* at, std::size_t n, std::size_t alignment) noexcept {
        ::operator delete(at, n, std::align_val_t(alignment));
    }
};
template <class Allocator>
static bool grows() {
    Allocator pool;
    std::size_t first = 0;
    for (int round = 0; round < 40; ++round) {
        counting::bytes = 0;
        for (int i = 0; i < 50; ++i)
            if (pool.try_allocate(24, 8) == nullptr) return true;
        pool.release();
        if (round == 2) first = counting::bytes;
        if (round > 2 && counting::bytes > first) return true;
    }
    return false;
}
int main() {
    const bool wrong = grows<millpond::multipool<counting>>() || grows<millpond::monotonic<counting>>();
    std::puts(wrong ? "wrong" : "ok");
    return wrong;
}
