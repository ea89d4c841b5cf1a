// SPDX-License-Identifier: BSL-1.0
// synchronized_multipool_fork_test: a pool in a child of fork, and a pool whose lock is not available.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <millpond/local.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "support/in_a_child.hpp"
#include "support/in_a_thread.hpp"

namespace millpond {
namespace {

using test::in_a_thread;
using test::status_of_child;

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

// Most of the forks happen while the threads are in the pool's shared part: blocks above 16 KiB lock it each time.
TEST(synchronized_multipool_threads, a_child_forked_while_threads_use_the_pool_is_served) {
    synchronized_multipool<> pool;
    // In some C++ libraries the first destructor of a thread makes a list under a lock that a child would inherit.
    ASSERT_TRUE(works(pool));
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

// A source whose call never ends; it stands for a thread that does not exist in the child.
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

TEST(synchronized_multipool_threads, a_thread_safe_source_serves_while_the_lock_is_held) {
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

TEST(synchronized_multipool_threads, freed_blocks_serve_while_the_source_is_locked) {
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
    detail::patient_lock lock;
    ASSERT_TRUE(lock.lock(1));
    EXPECT_FALSE(lock.try_lock());
    EXPECT_FALSE(lock.lock(2));
    EXPECT_FALSE(lock.lock(1000000)) << "known by now: no thread waits for this holder again";
    lock.unlock();
    EXPECT_TRUE(lock.try_lock());
    EXPECT_FALSE(lock.lock(1)) << "another holder";
    lock.break_open();
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
    lock.break_open();
    EXPECT_TRUE(lock.try_lock());
}

}  // namespace
}  // namespace millpond
