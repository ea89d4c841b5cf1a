// SPDX-License-Identifier: BSL-1.0
// chunk_cache_follow_test: the effect of a trim by the same or another thread on a thread's magazine, and the thread's
// end.
#include <gtest/gtest.h>

#include <atomic>
#include <millpond/block.hpp>
#include <thread>

#include "support/in_a_thread.hpp"

namespace millpond {
namespace {

using test::in_a_thread;

// Releases `times` chunks, one after the other.
void use(int times, std::size_t bytes) {
    chunk_cache cache;
    for (int i = 0; i < times; ++i) cache.deallocate(cache.allocate(bytes, 8), bytes, 8);
}

TEST(chunk_cache_threads, a_thread_that_trims_and_ends_leaves_nothing_reserved) {
    chunk_cache::trim();
    const std::size_t budget = chunk_cache::budget_bytes();
    // Were its share left reserved each time, no thread would get a magazine in the end.
    for (std::size_t i = 0; i < budget / chunk_cache::magazine_bytes; ++i) {
        in_a_thread([] {
            use(2, 4096);
            chunk_cache::trim();
        });
    }
    in_a_thread([] {
        use(2, 4096);
        EXPECT_EQ(chunk_cache::held_bytes(), 4096u);
        in_a_thread([] { EXPECT_EQ(chunk_cache::held_bytes(), 0u) << "it lies in the magazine of the other thread"; });
    });
    chunk_cache::trim();
    EXPECT_EQ(chunk_cache::held_bytes(), 0u);
}

TEST(chunk_cache_threads, a_trim_noticed_late_takes_no_more_than_that_threads_share) {
    chunk_cache::trim();
    std::atomic<int> step{0};
    std::thread user([&step] {
        chunk_cache cache;
        void* const a = cache.allocate(60000, 8);
        void* const b = cache.allocate(60000, 8);
        cache.deallocate(a, 60000, 8);
        cache.deallocate(b, 60000, 8);
        step = 1;
        while (step != 2) std::this_thread::yield();
        use(600, 2048);
        step = 3;
        while (step != 4) std::this_thread::yield();
    });
    while (step != 1) std::this_thread::yield();
    chunk_cache::trim();
    chunk_cache cache;
    void* chunks[20];
    for (void*& chunk : chunks) chunk = cache.allocate(100000, 8);
    for (void* chunk : chunks) cache.deallocate(chunk, 100000, 8);  // too large for a magazine
    const std::size_t held = chunk_cache::held_bytes();
    step = 2;
    while (step != 3) std::this_thread::yield();
    EXPECT_LE(chunk_cache::held_bytes(), held) << "what was the thread's share has gone";
    EXPECT_GE(chunk_cache::held_bytes(), held - 3 * 65536) << "and the rest has not";
    step = 4;
    user.join();
    chunk_cache::trim();
}

}  // namespace
}  // namespace millpond
