// SPDX-License-Identifier: BSL-1.0
// Report: swiftlang/swift 18771, foonathan/memory 171, intel/GPGMM 449
// Situation: the first request of a pool is for 0 bytes; shared pointers to small types come from pools; a source
//   has too little memory for the next chunk.
// Holds: 0 bytes give an address; every small object is its own; what cannot be had is null, and the pool goes on
//   serving.
// Library: yes
#include <cstdio>
#include <list>
#include <memory>
#include <millpond/millpond.hpp>
struct scarce {
    long left = 20000;
    void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if ((left -= static_cast<long>(bytes)) < 0) {
            left += static_cast<long>(bytes);
            return nullptr;
        }
        return ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
    }
    void deallocate(void* at, std::size_t bytes, std::size_t alignment) noexcept {
        left += static_cast<long>(bytes);
        ::operator delete(at, bytes, std::align_val_t(alignment));
    }
};
template <class Allocator>
static bool serves() {
    Allocator pool;
    void* nothing = pool.try_allocate(0, 1);
    if (nothing == nullptr) return false;
    pool.deallocate(nothing, 0, 1);
    int given = 0;
    while (pool.try_allocate(100, 8) != nullptr)
        if (++given > 1000) return false;
    if (given < 50) return false;
    pool.release();
    return pool.try_allocate(100, 8) != nullptr;
}
int main() {
    if (!serves<millpond::multipool<scarce>>() || !serves<millpond::monotonic<scarce>>()) {
        std::puts("wrong");
        return 1;
    }
    millpond::multipool<> pool;
    const millpond::allocator<char, millpond::multipool<>> small(&pool);
    std::list<std::shared_ptr<char>> kept;
    for (int i = 0; i < 1000; ++i) kept.push_back(std::allocate_shared<char>(small, static_cast<char>(i % 100)));
    kept.remove_if([](const std::shared_ptr<char>& one) { return *one % 3 == 0; });
    for (const std::shared_ptr<char>& one : kept)
        if (*one % 3 == 0) return 2;
    kept.clear();
    std::puts("ok");
}
