// SPDX-License-Identifier: BSL-1.0
// synchronized_test: several threads use one allocator, and every function of its interface takes the lock.
#include <gtest/gtest.h>

#include <atomic>
#include <millpond/local.hpp>
#include <millpond/wrap.hpp>
#include <thread>
#include <vector>

#include "support/accounting_source.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

static_assert(managed_allocator<synchronized<multipool<>>> && rewindable_allocator<synchronized<monotonic<>>>);
static_assert(!managed_allocator<synchronized<chunk_cache>> && !rewindable_allocator<synchronized<multipool<>>>);

// A mutex that counts its locks and checks that it is unlocked as often.
struct counting_mutex {
    static inline int locks = 0;
    static inline int held = 0;
    void lock() { ++locks, ++held; }
    void unlock() { --held; }
};

TEST(synchronized, every_call_takes_the_lock_once) {
    counting_mutex::locks = 0;
    synchronized<monotonic<>, counting_mutex> pool;
    void* const a = pool.try_allocate(8, 8);
    void* const b = pool.allocate(8, 8);
    pool.deallocate(a, 8, 8);
    pool.deallocate(b, 8, 8);
    pool.rewind(pool.checkpoint());
    pool.reset();
    pool.release();
    EXPECT_EQ(counting_mutex::locks, 8);
    EXPECT_EQ(counting_mutex::held, 0);
    EXPECT_THROW(static_cast<void>(pool.allocate(static_cast<std::size_t>(-1), 1)), std::bad_alloc);
    EXPECT_EQ(counting_mutex::held, 0) << "a throw unlocks, too";
    EXPECT_EQ(pool.unlocked().held_bytes(), 0u);
}

TEST(synchronized_threads, no_two_threads_ever_hold_the_same_block) {
    test::accounting_source source;
    synchronized<multipool<test::accounting_ref>> pool(source);
    std::atomic<int> clashes{0};
    std::vector<std::thread> users;
    for (std::size_t number = 1; number <= 4; ++number) {
        users.emplace_back([&pool, &clashes, number] {
            auto numbers = test::random_numbers(number);
            std::vector<std::pair<std::size_t*, std::size_t>> mine;
            for (int step = 0; step < 20000; ++step) {
                if (mine.size() < 100 && test::uniform(numbers, 0, 1) == 0) {
                    const auto bytes = test::uniform<std::size_t>(numbers, 8, step % 64 == 0 ? 40000 : 128);
                    auto* const block = static_cast<std::size_t*>(pool.allocate(bytes, 8));
                    *block = number;
                    mine.emplace_back(block, bytes);
                } else if (!mine.empty()) {
                    if (*mine.back().first != number) ++clashes;
                    pool.deallocate(mine.back().first, mine.back().second, 8);
                    mine.pop_back();
                }
            }
        });
    }
    for (std::thread& user : users) user.join();
    EXPECT_EQ(clashes, 0);
    pool.release();
    EXPECT_EQ(source.live_blocks(), 0u);
}

// A thread may free another thread's block: the block belongs to the allocator, not to the thread.
TEST(synchronized_threads, blocks_are_freed_by_other_threads) {
    synchronized<multipool<>> pool;
    std::vector<void*> blocks;
    std::thread([&] {
        for (int i = 0; i < 1000; ++i) blocks.push_back(pool.allocate(40, 8));
    }).join();
    std::thread([&] {
        for (void* block : blocks) pool.deallocate(block, 40, 8);
    }).join();
    const std::size_t held = pool.unlocked().held_bytes();
    for (int i = 0; i < 1000; ++i) static_cast<void>(pool.allocate(40, 8));
    EXPECT_EQ(pool.unlocked().held_bytes(), held);
}

}  // namespace
}  // namespace millpond
