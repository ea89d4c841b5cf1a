// SPDX-License-Identifier: BSL-1.0
// synchronized_multipool_test: blocks pass between threads, threads end, pools go, locks are lost in fork, sources
// fail.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <millpond/bind.hpp>
#include <millpond/local.hpp>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "support/accounting_source.hpp"
#include "support/block_model.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_source;
using pool_under_test = synchronized_multipool<accounting_ref>;

static_assert(managed_allocator<synchronized_multipool<>> && managed_allocator<pool_under_test>);
static_assert(sizeof(synchronized_multipool<>) < 2048);

// Runs `work` in a thread of its own, and waits for its end.
template <class Work>
void in_a_thread(Work work) {
    std::thread(work).join();
}

TEST(synchronized_multipool, an_empty_one_has_allocated_nothing) {
    accounting_source source;
    pool_under_test pool(source);
    EXPECT_EQ(source.calls(), 0u);
    EXPECT_EQ(pool.held_bytes(), 0u);
}

TEST(synchronized_multipool, the_block_freed_last_goes_out_first) {
    synchronized_multipool<> pool;
    void* const a = pool.allocate(24, 8);
    void* const b = pool.allocate(24, 8);
    EXPECT_NE(a, b);
    pool.deallocate(a, 24, 8);
    pool.deallocate(b, 24, 8);
    EXPECT_EQ(pool.allocate(24, 8), b);
    EXPECT_EQ(pool.allocate(24, 8), a);
}

TEST(synchronized_multipool, neighbours_are_neighbours_in_memory) {
    synchronized_multipool<> pool;
    std::vector<char*> nodes(1000);
    for (char*& node : nodes) node = static_cast<char*>(pool.allocate(24, 8));
    int neighbours = 0;
    for (std::size_t i = 1; i < nodes.size(); ++i) neighbours += nodes[i] - nodes[i - 1] == 24;
    EXPECT_GT(neighbours, 950);
}

TEST(synchronized_multipool, serves_every_size_and_alignment) {
    accounting_source source;
    pool_under_test pool(source);
    test::block_model model;
    for (std::size_t bytes = 0; bytes < 300000; bytes = bytes * 5 / 4 + 1) {
        for (std::size_t alignment = 1; alignment <= 8192; alignment *= 2)
            model.add(pool.try_allocate(bytes, alignment), bytes, alignment);
    }
    while (!model.empty() && !HasFailure()) {
        const auto& [start, promised] = *model.live().begin();
        const auto [bytes, alignment, pattern] = promised;
        char* const block = start;
        model.remove(block);
        pool.deallocate(block, bytes, alignment);
    }
    pool.release();
    EXPECT_EQ(source.live_blocks(), 0u);
    EXPECT_EQ(pool.try_allocate(static_cast<std::size_t>(-1), 8), nullptr);
    EXPECT_THROW(static_cast<void>(pool.allocate(static_cast<std::size_t>(-1), 8)), std::bad_alloc);
}

TEST(synchronized_multipool, blocks_are_as_large_as_block_bytes_says) {
    using classes = class_map<8, 16, 24, 1000>;
    synchronized_multipool<new_delete, classes> pool;
    for (const std::size_t bytes : {1u, 8u, 9u, 16u, 20u, 24u, 500u, 1000u}) {
        const std::size_t good = pool.block_bytes(bytes, 8);
        EXPECT_GE(good, bytes);
        std::vector<void*> blocks(500);
        for (void*& block : blocks) std::memset(block = pool.allocate(good, 8), 0x55, good);
        for (void* block : blocks) pool.deallocate(block, bytes, 8);
    }
    EXPECT_EQ(pool.block_bytes(1001, 8), 0u);
}

TEST(synchronized_multipool, reset_keeps_the_chunks_and_release_returns_them) {
    accounting_source source;
    pool_under_test pool(source);
    std::size_t held = 0;
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 5000; ++i) std::memset(pool.allocate(100, 8), round, 100);
        static_cast<void>(pool.allocate(5000000, 8));
        EXPECT_EQ(pool.held_bytes(), source.live_bytes());
        if (round == 0) held = source.live_bytes();
        EXPECT_LE(source.live_bytes(), held + held / 10);
        pool.reset();
        EXPECT_EQ(pool.held_bytes(), source.live_bytes());
    }
    pool.release();
    EXPECT_EQ(source.live_blocks(), 0u);
    EXPECT_EQ(pool.held_bytes(), 0u);
    EXPECT_NE(pool.allocate(100, 8), nullptr);
}

TEST(synchronized_multipool, a_managed_source_is_reset_and_released_along) {
    accounting_source source;
    synchronized_multipool<monotonic<accounting_ref>> pool(source);
    for (int round = 0; round < 3; ++round) {
        for (std::size_t i = 0; i < 2000; ++i) static_cast<void>(pool.allocate(i * 50, 8));
        pool.reset();
    }
    EXPECT_GT(source.live_blocks(), 0u);
    pool.release();
    EXPECT_EQ(source.live_blocks(), 0u);
}

TEST(synchronized_multipool, hundreds_of_large_blocks_come_and_go_and_release_returns_the_rest) {
    accounting_source source;
    pool_under_test pool(source);
    test::block_model model;
    auto numbers = test::random_numbers();
    for (int step = 0; step < 3000 && !HasFailure(); ++step) {
        if (model.size() < 300 && (model.empty() || test::uniform(numbers, 0, 1) == 0)) {
            const auto bytes = test::uniform<std::size_t>(numbers, 1, 3000);
            model.add(pool.try_allocate(bytes, 128), bytes, 128);
        } else {
            const auto block = model.any(numbers);
            model.remove(block.start);
            pool.deallocate(block.start, block.bytes, block.alignment);
        }
        ASSERT_EQ(pool.held_bytes(), source.live_bytes());
    }
    pool.release();
    EXPECT_EQ(source.live_blocks(), 0u);
}

// More than a thread's table has room for; and every pool is used again after the others have displaced it.
TEST(synchronized_multipool, a_thread_uses_any_number_of_pools_at_once) {
    constexpr std::size_t count = 50;
    std::vector<std::unique_ptr<synchronized_multipool<>>> pools;
    std::vector<std::vector<unsigned char*>> blocks(count);
    for (std::size_t i = 0; i < count; ++i) pools.push_back(std::make_unique<synchronized_multipool<>>());
    for (int round = 0; round < 100; ++round) {
        for (std::size_t i = 0; i < count; ++i) {
            auto* const block = static_cast<unsigned char*>(pools[i]->allocate(40, 8));
            std::memset(block, static_cast<int>(i), 40);
            blocks[i].push_back(block);
        }
    }
    std::set<void*> all;
    for (std::size_t i = 0; i < count; ++i) {
        EXPECT_LT(pools[i]->held_bytes(), 40000u) << "one magazine for each pool, found again each time";
        for (unsigned char* block : blocks[i]) {
            EXPECT_TRUE(all.insert(block).second);
            for (int byte = 0; byte < 40; ++byte) ASSERT_EQ(block[byte], i);
            pools[i]->deallocate(block, 40, 8);
        }
    }
}

// What a thread's table says of a pool that is gone must not hold for the next one, at the same address or not.
TEST(synchronized_multipool, a_pool_at_the_address_of_another_one_starts_empty) {
    alignas(synchronized_multipool<>) char place[sizeof(synchronized_multipool<>)];
    for (int round = 0; round < 100; ++round) {
        auto* const pool = ::new (place) synchronized_multipool<>;
        EXPECT_EQ(pool->held_bytes(), 0u);
        for (int i = 0; i < 100; ++i) std::memset(pool->allocate(64, 8), 1, 64);
        pool->~synchronized_multipool();
    }
}

TEST(synchronized_multipool, containers_reach_it_by_both_bindings) {
    synchronized_multipool<> pool;
    resource<synchronized_multipool<>&> base(pool);
    std::pmr::vector<std::pmr::string> texts(&base);
    std::set<int, std::less<>, allocator<int, synchronized_multipool<>>> numbers(&pool);
    for (int i = 0; i < 1000; ++i) {
        texts.emplace_back(100u, 'x');
        numbers.insert(i);
    }
    EXPECT_EQ(texts.back(), std::pmr::string(100u, 'x'));
    EXPECT_EQ(numbers.size(), 1000u);
}

TEST(synchronized_multipool_threads, what_one_thread_frees_another_one_gets) {
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

// The consumer only frees: what it has must come back to the producer while both live.
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

// Made before the pool is first used in its thread, so that it goes when the thread's magazine is gone.
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

TEST(synchronized_multipool_threads, destructors_of_thread_locals_use_it_when_its_magazine_is_gone) {
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

// Runs `work` in a child process. Returns: its exit status, or -1 if a signal ended it.
template <class Work>
int status_of_child(Work work) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);  // a child that hangs ends by this signal
        _exit(work() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

template <class Pool>
bool works(Pool& pool) {
    std::vector<std::pair<void*, std::size_t>> blocks;
    for (std::size_t i = 0; i < 3000; ++i) {
        const std::size_t bytes = i % 300 == 0 ? 1100000 : i % 300;
        void* const block = pool.try_allocate(bytes, 8);
        if (block == nullptr) return false;
        std::memset(block, 1, bytes);
        blocks.emplace_back(block, bytes);
    }
    for (const auto& [block, bytes] : blocks) pool.deallocate(block, bytes, 8);
    return true;
}

TEST(synchronized_multipool, a_forked_child_goes_on_with_a_half_used_pool) {
    synchronized_multipool<> pool;
    std::vector<char*> blocks(2000);
    for (char*& block : blocks) std::memset(block = static_cast<char*>(pool.allocate(50, 8)), 7, 50);
    for (std::size_t i = 0; i < blocks.size(); i += 2) pool.deallocate(blocks[i], 50, 8);
    EXPECT_EQ(status_of_child([&] {
                  if (!works(pool)) return false;
                  for (std::size_t i = 1; i < blocks.size(); i += 2) {
                      if (blocks[i][49] != 7) return false;
                      pool.deallocate(blocks[i], 50, 8);
                  }
                  bool is_well = true;
                  in_a_thread([&] { is_well = works(pool); });
                  pool.release();
                  return is_well && pool.held_bytes() == 0 && works(pool);
              }),
              0);
    EXPECT_EQ(blocks[1][49], 7);
}

// The threads are in the pool's common part at many of the forks: blocks above 16 KiB lock it each time.
TEST(synchronized_multipool_threads, a_child_forked_while_threads_use_the_pool_never_hangs_and_is_served) {
    synchronized_multipool<> pool;
    std::atomic<bool> stop{false};
    std::vector<std::thread> users(2);
    for (std::thread& user : users) {
        user = std::thread([&] {
            void* blocks[8];
            while (!stop.load(std::memory_order_relaxed)) {
                for (void*& block : blocks) block = pool.allocate(40000, 8);
                for (void* block : blocks) pool.deallocate(block, 40000, 8);
                in_a_thread([&] { pool.deallocate(pool.allocate(3000000, 8), 3000000, 8); });
            }
        });
    }
    for (int round = 0; round < 20; ++round) {
        EXPECT_EQ(status_of_child([&] {
                      if (!works(pool)) return false;
                      pool.release();
                      return pool.held_bytes() == 0 && works(pool);
                  }),
                  0);
    }
    stop = true;
    for (std::thread& user : users) user.join();
}

// A source whose call never ends stands for a thread that a child does not have.
template <class Upstream>
struct stopping_source : Upstream {
    static inline std::atomic<bool> is_stopped{false};
    static inline std::atomic<bool> is_inside{false};
    static inline thread_local bool may_stop = false;

    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if (may_stop) {
            is_inside = true;
            while (is_stopped) std::this_thread::yield();
        }
        return Upstream::try_allocate(bytes, alignment);
    }
};
struct unsafe_source : stopping_source<new_delete> {};
struct safe_source : stopping_source<new_delete> {};

}  // namespace
template <>
inline constexpr bool is_thread_safe_source<safe_source> = true;
namespace {

// Runs `work` while another thread is inside the source and holds the pool's lock.
template <class Source, class Work>
void while_the_lock_is_held(synchronized_multipool<Source>& pool, Work work) {
    Source::is_stopped = true;
    Source::is_inside = false;
    std::thread holder([&] {
        Source::may_stop = true;
        static_cast<void>(pool.allocate(900000, 8));
    });
    while (!Source::is_inside) std::this_thread::yield();
    work();
    Source::is_stopped = false;
    holder.join();
}

TEST(synchronized_multipool_threads, while_the_lock_does_not_come_a_thread_safe_source_gives_the_memory) {
    synchronized_multipool<safe_source> pool;
    void* const before = pool.allocate(64, 8);
    while_the_lock_is_held(pool, [&] {
        EXPECT_TRUE(works(pool));
        in_a_thread([&] { EXPECT_TRUE(works(pool)); });
        pool.deallocate(before, 64, 8);
    });
    EXPECT_TRUE(works(pool)) << "and with the lock everything is as before";
    const std::size_t held = pool.held_bytes();
    EXPECT_TRUE(works(pool));
    EXPECT_EQ(pool.held_bytes(), held);
    pool.reset();
    EXPECT_TRUE(works(pool));
}

TEST(synchronized_multipool_threads, while_another_source_is_out_of_reach_freed_blocks_still_serve) {
    synchronized_multipool<unsafe_source> pool;
    std::vector<void*> blocks(1000);
    for (void*& block : blocks) block = pool.allocate(64, 8);
    while_the_lock_is_held(pool, [&] {
        EXPECT_EQ(pool.try_allocate(1000000, 8), nullptr);
        for (void* block : blocks) pool.deallocate(block, 64, 8);
        for (void*& block : blocks) ASSERT_NE(block = pool.try_allocate(64, 8), nullptr);
    });
    EXPECT_TRUE(works(pool));
}

TEST(patient_lock, gives_up_on_a_holder_once_and_not_on_the_next_one) {
    patient_lock lock;
    ASSERT_TRUE(lock.lock(1));
    EXPECT_FALSE(lock.try_lock());
    EXPECT_FALSE(lock.lock(2));
    EXPECT_FALSE(lock.lock(1000000)) << "known by now: nobody waits for it again";
    lock.unlock();
    EXPECT_TRUE(lock.try_lock());
    EXPECT_FALSE(lock.lock(1)) << "another holder";
    lock.break_open();
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
    lock.break_open();
    EXPECT_TRUE(lock.try_lock());
}

TEST(block_batch, every_number_of_blocks_of_every_size_comes_out_in_the_order_it_went_in) {
    alignas(16) static char memory[128 * 1200];
    for (std::size_t bytes = align_up(block_batch::smallest_block_bytes, 8); bytes <= 1200; bytes += 8) {
        for (std::size_t count = 1; count <= 128; count = count * 5 / 4 + 1) {
            void* blocks[128];
            for (std::size_t i = 0; i < count; ++i) {
                blocks[i] = memory + (i * 77 % 128) * bytes;
                mark_fresh(blocks[i], bytes);
            }
            block_batch list;
            block_batch::pack(blocks, count, bytes).push_to(list);
            block_batch batch = list.pop();
            EXPECT_FALSE(list);
            void* again[128];
            ASSERT_EQ(batch.unpack(again, bytes), count);
            for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(again[i], blocks[i]);
        }
    }
    unpoison(memory, sizeof memory);
}

// Two threads, one after the other so that the source's calls have an order, and then this one.
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

TEST(synchronized_multipool_threads, when_the_source_has_no_more_the_pool_does_without_and_works_again_after) {
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
