// SPDX-License-Identifier: BSL-1.0
// synchronized_multipool_threads_test: blocks pass between threads, threads and pools start and end, sources fail.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <millpond/local.hpp>
#include <thread>
#include <vector>

#include "support/accounting_source.hpp"
#include "support/in_a_thread.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_source;
using test::in_a_thread;
using pool_under_test = synchronized_multipool<accounting_ref>;

TEST(synchronized_multipool_threads, blocks_freed_by_one_thread_serve_another) {
    accounting_source source;
    pool_under_test pool(source);
    std::vector<void*> blocks(1000);
    in_a_thread([&] {
        for (void*& block : blocks) block = pool.allocate(40, 8);
    });
    in_a_thread([&] {
        for (void* block : blocks) pool.deallocate(block, 40, 8);
    });
    const std::size_t held = pool.held_bytes();
    for (int i = 0; i < 1000; ++i) static_cast<void>(pool.allocate(40, 8));
    EXPECT_EQ(pool.held_bytes(), held) << "threads that have ended keep nothing";
}

// The consumer only frees: its blocks must return to the producer while both threads live.
TEST(synchronized_multipool_threads, a_producer_lives_on_what_its_consumer_frees) {
    accounting_source source;
    pool_under_test pool(source);
    std::atomic<void*> mailbox{nullptr};
    constexpr int count = 50000;
    std::thread consumer([&] {
        for (int i = 0; i < count; ++i) {
            void* block;
            while ((block = mailbox.exchange(nullptr)) == nullptr) std::this_thread::yield();
            EXPECT_EQ(*static_cast<int*>(block), i);
            pool.deallocate(block, 256, 8);
        }
    });
    for (int i = 0; i < count; ++i) {
        auto* const block = static_cast<int*>(pool.allocate(256, 8));
        *block = i;
        void* none = nullptr;
        while (!mailbox.compare_exchange_weak(none, block)) {
            none = nullptr;
            std::this_thread::yield();
        }
    }
    consumer.join();
    EXPECT_LT(pool.held_bytes(), 300000u) << "of 12.8 MB that passed";
}

TEST(synchronized_multipool_threads, a_thousand_short_threads_need_no_more_than_a_few) {
    accounting_source source;
    pool_under_test pool(source);
    std::size_t held = 0;
    void* left = pool.allocate(200, 8);
    for (int i = 0; i < 1000; ++i) {
        in_a_thread([&] {
            pool.deallocate(left, 200, 8);  // of the thread before
            std::vector<void*> blocks(300);
            for (void*& block : blocks) std::memset(block = pool.allocate(200, 8), i, 200);
            for (void* block : blocks) pool.deallocate(block, 200, 8);
            left = pool.allocate(200, 8);
        });
        if (i == 10) held = pool.held_bytes();
    }
    EXPECT_LE(pool.held_bytes(), held);
}

TEST(synchronized_multipool_threads, a_pool_goes_before_the_threads_that_used_it) {
    std::atomic<int> step{0};
    auto pool = std::make_unique<synchronized_multipool<>>();
    std::vector<std::thread> users;
    for (int i = 0; i < 4; ++i) {
        users.emplace_back([&] {
            pool->deallocate(pool->allocate(100, 8), 100, 8);
            ++step;
            while (step < 5) std::this_thread::yield();  // until the pool is gone and another one is there
            pool->deallocate(pool->allocate(100, 8), 100, 8);
        });
    }
    while (step < 4) std::this_thread::yield();
    pool.reset();
    pool = std::make_unique<synchronized_multipool<>>();
    ++step;
    for (std::thread& user : users) user.join();
}

TEST(synchronized_multipool_threads, reset_and_release_take_what_other_threads_keep) {
    accounting_source source;
    pool_under_test pool(source);
    std::atomic<int> turn{0};
    std::thread other([&] {
        for (int round = 0; round < 20; ++round) {
            while (turn != 2 * round + 1) std::this_thread::yield();
            std::vector<void*> blocks(1000);
            for (void*& block : blocks) std::memset(block = pool.allocate(48, 8), 1, 48);
            for (void* block : blocks) pool.deallocate(block, 48, 8);
            ++turn;
        }
    });
    for (int round = 0; round < 20; ++round) {
        std::memset(pool.allocate(48, 8), 1, 48);
        ++turn;
        while (turn != 2 * round + 2) std::this_thread::yield();
        round % 2 == 0 ? pool.reset() : pool.release();
        if (round % 2 != 0) {
            EXPECT_EQ(source.live_blocks(), 0u);
        }
    }
    other.join();
}

synchronized_multipool<> static_pool;

// An object made before the pool is first used in its thread, so that it ends after the thread's magazine.
struct goes_late {
    std::vector<void*> blocks;
    ~goes_late() {
        for (void* block : blocks) static_pool.deallocate(block, 32, 8);
        void* const last = static_pool.allocate(32, 8);
        std::memset(last, 1, 32);
        static_pool.deallocate(last, 32, 8);
        static_pool.deallocate(static_pool.allocate(5000000, 8), 5000000, 8);
    }
};

TEST(synchronized_multipool_threads, late_destructors_of_thread_locals_leak_no_blocks) {
    std::size_t held = 0;
    for (int i = 0; i < 50; ++i) {
        in_a_thread([] {
            static thread_local goes_late late;
            late.blocks.resize(500);
            for (void*& block : late.blocks) std::memset(block = static_pool.allocate(32, 8), 1, 32);
        });
        if (i == 5) held = static_pool.held_bytes();
    }
    EXPECT_LE(static_pool.held_bytes(), held + 5000);
}

// Plays two threads, one after the other so that the source's calls have an order, and then this one.
void live_on(pool_under_test& pool, int& refused) {
    struct held_block {
        void* start;
        std::size_t bytes;
        std::size_t alignment;
    };
    std::vector<held_block> blocks;
    const auto allocate = [&](std::uint64_t salt) {
        auto numbers = test::random_numbers(salt);
        for (int i = 0; i < 400; ++i) {
            const std::size_t bytes = i % 50 == 0 ? 60000 : test::uniform<std::size_t>(numbers, 0, 300);
            const std::size_t alignment = i % 40 == 1 ? 256 : 8;
            void* const block = pool.try_allocate(bytes, alignment);
            if (block == nullptr) {
                ++refused;
            } else {
                std::memset(block, 1, bytes);
                blocks.push_back({block, bytes, alignment});
            }
        }
    };
    const auto deallocate = [&](std::size_t down_to) {
        while (blocks.size() > down_to) {
            pool.deallocate(blocks.back().start, blocks.back().bytes, blocks.back().alignment);
            blocks.pop_back();
        }
    };
    in_a_thread([&] { allocate(1); });
    in_a_thread([&] {
        deallocate(200);
        allocate(2);
    });
    deallocate(100);
    allocate(3);
    deallocate(0);
}

TEST(synchronized_multipool_threads, one_failure_of_the_source_costs_at_most_one_block) {
    std::size_t calls = 0;
    {
        accounting_source source;
        pool_under_test pool(source);
        int refused = 0;
        live_on(pool, refused);
        EXPECT_EQ(refused, 0);
        calls = source.calls();
    }
    ASSERT_GT(calls, 20u);
    for (std::size_t n = 0; n < calls && !HasFailure(); ++n) {
        SCOPED_TRACE(n);
        accounting_source source;
        pool_under_test pool(source);
        source.fail_once_at(n);
        int refused = 0;
        live_on(pool, refused);
        EXPECT_LE(refused, 1);
        EXPECT_EQ(source.live_bytes(), pool.held_bytes());
        pool.release();
        EXPECT_EQ(source.live_blocks(), 0u);
    }
}

TEST(synchronized_multipool_threads, works_again_when_an_exhausted_source_recovers) {
    for (std::size_t n = 0; n < 60 && !HasFailure(); ++n) {
        SCOPED_TRACE(n);
        accounting_source source;
        pool_under_test pool(source);
        source.fail_from(n);
        int refused = 0;
        live_on(pool, refused);
        if (n == 0) {
            EXPECT_EQ(source.live_blocks(), 0u);
        }
        source.never_fail();
        refused = 0;
        live_on(pool, refused);
        EXPECT_EQ(refused, 0);
    }
}

TEST(synchronized_multipool_threads, a_block_freed_before_the_failure_serves_any_thread_after_it) {
    accounting_source source;
    pool_under_test pool(source);
    std::vector<void*> blocks(1000);
    for (void*& block : blocks) block = pool.allocate(100, 8);
    source.fail_from(0);
    in_a_thread([&] {  // has no magazine, and cannot have one
        for (void* block : blocks) pool.deallocate(block, 100, 8);
        for (void*& block : blocks) ASSERT_NE(block = pool.try_allocate(100, 8), nullptr);
        for (void* block : blocks) pool.deallocate(block, 100, 8);
    });
    for (int i = 0; i < 1000; ++i) ASSERT_NE(pool.try_allocate(100, 8), nullptr);
}

}  // namespace
}  // namespace millpond
