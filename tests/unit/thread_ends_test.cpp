// SPDX-License-Identifier: BSL-1.0
// thread_ends_test: a thread that uses shared pools after its thread-local objects have ended, in destructors of
// thread-specific data, leaves nothing that grows with the number of threads.
#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <cstddef>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "millpond/block/chunk_cache.hpp"
#include "millpond/local/multipool.hpp"
#include "millpond/local/synchronized_multipool.hpp"
#include "support/seed.hpp"

namespace millpond::test {
namespace {

using shared_pool = synchronized_multipool<>;

class key {
  public:
    explicit key(void (*end)(void*)) { EXPECT_EQ(pthread_key_create(&key_, end), 0); }
    ~key() { pthread_key_delete(key_); }
    key(const key&) = delete;
    key& operator=(const key&) = delete;
    void set(void* value) const { EXPECT_EQ(pthread_setspecific(key_, value), 0); }

  private:
    pthread_key_t key_{};
};

constexpr std::size_t message_bytes = 200;
shared_pool* messages = nullptr;

TEST(thread_ends_threads, a_message_freed_by_a_key_leaves_no_magazine) {
    shared_pool pool;
    messages = &pool;
    const key free_message([](void* message) { messages->deallocate(message, message_bytes, 8); });
    const auto live_and_end = [&] {
        void* const message = pool.allocate(message_bytes, 8);
        std::thread([&] { free_message.set(message); }).join();
    };
    for (int i = 0; i < 10; ++i) live_and_end();
    const std::size_t before = pool.held_bytes();
    for (int i = 0; i < 1000; ++i) live_and_end();
    EXPECT_EQ(pool.held_bytes(), before);
}

TEST(thread_ends_threads, a_pool_destroyed_by_a_key_leaves_its_chunks_to_others) {
    const key destroy([](void* pool) { delete static_cast<multipool<>*>(pool); });
    const auto live_and_end = [&] {
        std::thread([&] {
            auto pool = std::make_unique<multipool<>>();
            static_cast<void>(pool->allocate(3000, 8));
            destroy.set(pool.release());
        }).join();
    };
    chunk_cache::trim();
    for (int i = 0; i < 10; ++i) live_and_end();
    const std::size_t before = chunk_cache::held_bytes();
    EXPECT_GT(before, 0u) << "chunks of ended threads are where others find them";
    for (int i = 0; i < 100; ++i) live_and_end();
    EXPECT_EQ(chunk_cache::held_bytes(), before);
    chunk_cache::trim();
    EXPECT_EQ(chunk_cache::held_bytes(), 0u);
}

// Allocates and frees while the thread lives, in thread-local destructors and in those of keys, in random order.
struct last_acts {
    std::vector<void*> blocks;
    ~last_acts() {
        for (void* const each : blocks) messages->deallocate(each, message_bytes, 8);
    }
};
thread_local last_acts acts_of_thread;

TEST(thread_ends_threads, any_order_of_ends_leaves_nothing_that_grows) {
    shared_pool pool;
    messages = &pool;
    const key free_some([](void* blocks) {
        const std::unique_ptr<std::vector<void*>> some(static_cast<std::vector<void*>*>(blocks));
        for (void* const each : *some) messages->deallocate(each, message_bytes, 8);
    });
    std::mt19937_64 random(seed());
    const auto wave = [&] {
        std::array<std::thread, 6> threads;
        for (std::thread& each : threads) {
            auto given = std::make_unique<std::vector<void*>>();
            for (std::size_t i = random() % 12; i > 0; --i) given->push_back(pool.allocate(message_bytes, 8));
            each = std::thread([&free_some, &pool, draw = random(), given = given.release()] {
                if (draw % 2 == 0)
                    for (std::size_t i = draw / 2 % 30; i > 0; --i)
                        pool.deallocate(pool.allocate(message_bytes, 8), message_bytes, 8);
                if (draw / 64 % 2 == 0)
                    for (int i = 0; i < 5; ++i) acts_of_thread.blocks.push_back(pool.allocate(message_bytes, 8));
                free_some.set(given);
            });
        }
        for (std::thread& each : threads) each.join();
    };
    // Expects as many magazines as there were simultaneous threads, and the memory that waits in them.
    for (int i = 0; i < 100; ++i) wave();
    const std::size_t before = pool.held_bytes();
    for (int i = 0; i < 400; ++i) wave();
    EXPECT_LE(pool.held_bytes(), before + before / 4 + (std::size_t{64} << 10)) << "seed " << seed();
}

}  // namespace
}  // namespace millpond::test
