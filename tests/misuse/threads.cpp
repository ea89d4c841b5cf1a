// SPDX-License-Identifier: BSL-1.0
// Misuses by two threads at once. They always overlap: the call of the first thread waits for the second.
#include <atomic>
#include <memory>
#include <thread>

#include "misuses.hpp"

namespace millpond::test {
namespace {

std::atomic<int> inside = 0;

// Waits until a second thread has come this far, or until none can.
void meet_another_thread() {
    ++inside;
    for (int i = 0; i < 1000000 && inside < 2; ++i) std::this_thread::yield();
}

struct slow_source {
    void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        meet_another_thread();
        return new_delete().try_allocate(bytes, alignment);
    }
    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        new_delete().deallocate(block, bytes, alignment);
    }
};

bool gives_slowly = false;

template <class T>
struct slow_allocator : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = slow_allocator<U>;
    };
    slow_allocator() = default;
    template <class U>
    slow_allocator(const slow_allocator<U>&) noexcept {}
    T* allocate(std::size_t n) {
        if (gives_slowly) meet_another_thread();
        return std::allocator<T>::allocate(n);
    }
};

template <class First, class Second>
void at_once(First first, Second second) {
    std::thread other(first);
    for (int i = 0; i < 1000000 && inside == 0; ++i) std::this_thread::yield();
    second();
    ++inside;
    other.join();
}

template <class Pool, class... Arguments>
void two_threads_in(Arguments... arguments) {
    Pool pool(arguments...);
    const auto take = [&] { static_cast<void>(hidden(pool.try_allocate(24, 8))); };
    at_once(take, take);
}

void two_threads_in_a_multipool() { two_threads_in<in_mode<multipool<slow_source>>>(); }
void two_threads_in_a_monotonic() { two_threads_in<in_mode<monotonic<slow_source>>>(); }
void two_threads_in_a_pool_of_pools() { two_threads_in<in_mode<multipool<monotonic<slow_source>>>>(); }
void two_threads_in_a_limited_pool() { two_threads_in<in_mode<limited<multipool<slow_source>>>>(byte_limit{1000000}); }
void two_threads_in_a_counted_pool() { two_threads_in<in_mode<counted<monotonic<slow_source>>>>(); }

void free_while_another_thread_allocates() {
    in_mode<multipool<slow_source>> pool;
    inside = 2;
    void* const block = pool.allocate(24, 8);
    inside = 0;
    at_once([&] { static_cast<void>(hidden(pool.allocate(5000, 8))); }, [&] { pool.deallocate(block, 24, 8); });
}

void reset_while_another_thread_allocates() {
    in_mode<multipool<slow_source>> pool;
    at_once([&] { static_cast<void>(hidden(pool.allocate(5000, 8))); }, [&] { pool.reset(); });
}

void rewind_while_another_thread_allocates() {
    in_mode<monotonic<slow_source>> pool;
    const auto place = pool.checkpoint();
    at_once([&] { static_cast<void>(hidden(pool.allocate(5000, 8))); }, [&] { pool.rewind(place); });
}

void two_threads_past_the_lock() {
    synchronized<in_mode<multipool<slow_source>>> pool;
    at_once([&] { static_cast<void>(hidden(pool.allocate(24, 8))); },
            [&] { static_cast<void>(hidden(pool.unlocked().allocate(24, 8))); });
}

void two_threads_by_base() {
    resource<in_mode<multipool<slow_source>>> pool;
    std::pmr::memory_resource& base = pool;
    const auto take = [&] { static_cast<void>(hidden(base.allocate(24, 8))); };
    at_once(take, take);
}

void absorption_while_another_thread_allocates() {
    in_mode<multipool<slow_source>> pool, other;
    at_once([&] { static_cast<void>(hidden(other.allocate(24, 8))); }, [&] { pool.absorb(other); });
}

void two_threads_in_one_handle() {
    using slots = suballocator<slow_allocator<long>>;
    slots one, other(one);
    static_cast<void>(hidden(one.allocate(1)));
    gives_slowly = true;
    // The slots of a new chunk.
    const auto take = [](slots& from) {
        for (int i = 0; i < 1000 && inside < 2; ++i) static_cast<void>(hidden(from.allocate(1)));
    };
    at_once([&] { take(one); }, [&] { take(other); });
}

struct slow_element {
    slow_element() { meet_another_thread(); }
    char byte = 'x';
};

void two_threads_in_an_array() {
    dyn_array<slow_element> elements(1000);
    const auto append = [&] { elements.emplace_back(); };
    at_once(append, append);
}

void pop_while_another_thread_appends() {
    dyn_array<slow_element> elements(1000);
    inside = 2;
    elements.emplace_back();
    inside = 0;
    at_once([&] { elements.emplace_back(); }, [&] { elements.pop_back(); });
}

constexpr const char* at_the_same_time = "two threads at once";

constexpr program table[] = {
    {"two_threads_in_a_multipool", two_threads_in_a_multipool, at_the_same_time, nullptr, nullptr},
    {"two_threads_in_a_monotonic", two_threads_in_a_monotonic, at_the_same_time, nullptr, nullptr},
    {"two_threads_in_a_pool_of_pools", two_threads_in_a_pool_of_pools, at_the_same_time, nullptr, nullptr},
    {"two_threads_in_a_limited_pool", two_threads_in_a_limited_pool, at_the_same_time, nullptr, nullptr},
    {"two_threads_in_a_counted_pool", two_threads_in_a_counted_pool, at_the_same_time, nullptr, nullptr},
    {"free_while_another_thread_allocates", free_while_another_thread_allocates, at_the_same_time, nullptr, nullptr},
    {"reset_while_another_thread_allocates", reset_while_another_thread_allocates, at_the_same_time, nullptr, nullptr},
    {"rewind_while_another_thread_allocates", rewind_while_another_thread_allocates, at_the_same_time, nullptr,
     nullptr},
    {"two_threads_past_the_lock", two_threads_past_the_lock, at_the_same_time, nullptr, nullptr},
    {"two_threads_by_base", two_threads_by_base, at_the_same_time, nullptr, nullptr},
    {"absorption_while_another_thread_allocates", absorption_while_another_thread_allocates, at_the_same_time, nullptr,
     nullptr},
    {"two_threads_in_one_handle", two_threads_in_one_handle, at_the_same_time, nullptr, nullptr},
    {"two_threads_in_an_array", two_threads_in_an_array, at_the_same_time, nullptr, nullptr},
    {"pop_while_another_thread_appends", pop_while_another_thread_appends, at_the_same_time, nullptr, nullptr},
};

}  // namespace

std::span<const program> thread_misuses() { return table; }

}  // namespace millpond::test
