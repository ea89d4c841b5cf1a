// SPDX-License-Identifier: BSL-1.0
// Misuses of compact_pool and suballocator.
#include <atomic>
#include <list>
#include <memory>
#include <thread>

#include "misuses.hpp"

namespace millpond::test {
namespace {

using slots = in_mode<compact_pool<24>>;
using node_allocator = suballocator<std::allocator<int>>;

char* slot_of(slots& pool, std::size_t bytes = 24) { return hidden(static_cast<char*>(pool.allocate(bytes, 8))); }

void slot_freed_twice() {
    slots pool;
    char* const slot = slot_of(pool);
    slot_of(pool);
    pool.deallocate(slot, 24, 8);
    pool.deallocate(slot, 24, 8);
}

void slot_written_behind_its_bytes() {
    slots pool;
    char* const slot = slot_of(pool, 20);
    poke(slot, 20);
    pool.deallocate(slot, 20, 8);
}

void slot_written_after_it_was_freed() {
    slots pool;
    char* const slot = slot_of(pool);
    pool.deallocate(slot, 24, 8);
    poke(slot, 0);
}

void slot_used_after_release() {
    slots pool;
    char* const slot = slot_of(pool);
    pool.release();
    pool.deallocate(slot, 24, 8);
}

void slot_given_to_another_pool() {
    slots here, there;
    slot_of(here);
    here.deallocate(slot_of(there), 24, 8);
}

void node_given_to_another_handle() {
    node_allocator from, to;
    to.deallocate(hidden(from.allocate(1)), 1);
}

void node_used_after_it_was_erased() {
    std::list<int, node_allocator> numbers({1, 2, 3});
    const auto gone = numbers.begin();
    int* const number = hidden(&*gone);
    numbers.erase(gone);
    poke(number, 0);
}

// A source that gives memory only when a second thread has come this far or asks for some.
struct slow_source {
    static inline std::atomic<int> inside = 0;
    void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        ++inside;
        for (int i = 0; i < 1000000 && inside < 2; ++i) std::this_thread::yield();
        return new_delete().try_allocate(bytes, alignment);
    }
    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        new_delete().deallocate(block, bytes, alignment);
    }
};

void two_threads_inside_a_pool() {
    in_mode<compact_pool<24, slow_source>> pool;
    std::thread other([&] { static_cast<void>(pool.allocate(24, 8)); });
    while (slow_source::inside == 0) std::this_thread::yield();
    static_cast<void>(pool.allocate(24, 8));
    other.join();
}

constexpr const char* poisoned = "AddressSanitizer: use-after-poison";
constexpr const char* invalid_write = "Invalid write of size 1";
constexpr const char* unaddressable = "Unaddressable byte(s)";

constexpr program table[] = {
    {"slot_freed_twice", slot_freed_twice, "double free", poisoned, unaddressable},
    {"slot_written_behind_its_bytes", slot_written_behind_its_bytes, "overrun", poisoned, invalid_write},
    {"slot_written_after_it_was_freed", slot_written_after_it_was_freed, "use after free", poisoned, invalid_write},
    {"slot_used_after_release", slot_used_after_release, "use after release", nullptr, nullptr},
    {"slot_given_to_another_pool", slot_given_to_another_pool, "other allocator", nullptr, nullptr},
    {"node_given_to_another_handle", node_given_to_another_handle, "other allocator", nullptr, nullptr},
    {"node_used_after_it_was_erased", node_used_after_it_was_erased, "use after free", poisoned, invalid_write},
    {"two_threads_inside_a_pool", two_threads_inside_a_pool, "two threads at once", nullptr, nullptr},
};

}  // namespace

std::span<const program> slot_misuses() { return table; }

}  // namespace millpond::test
