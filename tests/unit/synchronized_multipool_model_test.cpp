// SPDX-License-Identifier: BSL-1.0
// synchronized_multipool_model_test: threads that run one after the other or in turns, so that their calls have an
// order that a model can follow. No block has two owners, and no thread keeps more than the header says.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <millpond/local.hpp>
#include <set>
#include <thread>
#include <vector>

#include "support/accounting_source.hpp"
#include "support/block_model.hpp"
#include "support/in_a_thread.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_source;
using test::in_a_thread;
using test::uniform;

// Plays one thread's part of a long life: many blocks of few sizes, so that stacks and batches fill and run out.
template <class Pool>
void live_on(Pool& pool, test::block_model& model, std::uint64_t salt, int steps) {
    constexpr std::size_t sizes[] = {1, 16, 24, 100, 512, 3000, 17000, 40000};
    auto numbers = test::random_numbers(salt);
    int direction = 1;
    for (int step = 0; step < steps; ++step) {
        if (uniform(numbers, 0, 200) == 0) direction = -direction;
        const bool takes = uniform(numbers, 0, 9) < (direction > 0 ? 8 : 2);
        if (model.empty() || takes) {
            const auto rare = uniform(numbers, 0, 30) == 0;
            const std::size_t bytes = sizes[uniform(numbers, rare ? 5 : 0, rare ? 7 : 4)];
            model.add(pool.try_allocate(bytes, 8), bytes, 8);
        } else {
            const auto block = model.any(numbers);
            model.remove(block.start);
            pool.deallocate(block.start, block.bytes, block.alignment);
        }
        if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(synchronized_multipool_model, no_block_has_two_owners_after_frees_of_any_thread) {
    accounting_source source;
    synchronized_multipool<accounting_ref> pool(source);
    test::block_model model;
    for (std::uint64_t round = 0; round < 12 && !HasFatalFailure(); ++round) {
        live_on(pool, model, 2 * round, 1500);
        in_a_thread([&] { live_on(pool, model, 2 * round + 1, 1500); });
        model.check_all();
        EXPECT_EQ(pool.held_bytes(), source.live_bytes());
        if (round == 7) {
            pool.reset();
            model.clear();
        }
    }
    model.check_all();
}

TEST(synchronized_multipool_model, no_block_has_two_owners_with_few_small_classes) {
    accounting_source source;
    synchronized_multipool<accounting_ref, powers_of_two<64>> pool(source);
    test::block_model model;
    for (std::uint64_t round = 0; round < 6 && !HasFatalFailure(); ++round) {
        in_a_thread([&] { live_on(pool, model, 2 * round, 1000); });
        live_on(pool, model, 2 * round + 1, 1000);
    }
    model.check_all();
}

// A thread that stays alive and runs given functions.
class assistant {
  public:
    assistant()
        : thread_([this] {
              for (;;) {
                  while (!is_due_) std::this_thread::yield();
                  if (work_ == nullptr) return;
                  work_(context_);
                  is_due_ = false;
              }
          }) {}
    assistant(const assistant&) = delete;
    assistant& operator=(const assistant&) = delete;
    ~assistant() {
        work_ = nullptr;
        is_due_ = true;
        thread_.join();
    }

    template <class Work>
    void run(Work work) {
        context_ = &work;
        work_ = [](void* context) { (*static_cast<Work*>(context))(); };
        is_due_ = true;
        while (is_due_) std::this_thread::yield();
    }

  private:
    std::atomic<bool> is_due_{false};
    void (*work_)(void*) = nullptr;
    void* context_ = nullptr;
    std::thread thread_;
};

TEST(synchronized_multipool_model, a_living_threads_cached_blocks_are_its_own) {
    synchronized_multipool<> pool;
    assistant other;
    void* const mine = pool.allocate(24, 8);
    pool.deallocate(mine, 24, 8);
    void* others = nullptr;
    other.run([&] { others = pool.allocate(24, 8); });
    EXPECT_NE(others, mine);
    EXPECT_EQ(pool.allocate(24, 8), mine);
}

synchronized_multipool<> static_pool;

// An object made before the pool is first used in its thread, so that it ends after the thread's magazine.
struct takes_one_late {
    bool is_due = false;
    ~takes_one_late() {
        if (is_due) static_cast<void>(static_pool.allocate(32, 8));
    }
};

TEST(synchronized_multipool_model, a_thread_without_a_magazine_takes_one_block_of_a_batch) {
    assistant other;
    std::set<void*> blocks;
    for (int i = 0; i < 2000; ++i) blocks.insert(static_pool.allocate(32, 8));
    other.run([&] {
        for (void* block : blocks) static_pool.deallocate(block, 32, 8);
    });
    for (int i = 0; i < 40; ++i) {
        in_a_thread([] {
            static thread_local takes_one_late late;
            late.is_due = true;
            static_pool.deallocate(static_pool.allocate(500, 8), 500, 8);
        });
    }
    int again = 0;
    for (int i = 0; i < 1700; ++i) again += blocks.contains(static_pool.allocate(32, 8));
    EXPECT_GT(again, 1500);
}

template <class Pool>
void come_and_go(Pool& pool, std::size_t count, std::size_t bytes) {
    std::vector<void*> blocks(count);
    for (void*& block : blocks) block = pool.allocate(bytes, 8);
    for (void* block : blocks) pool.deallocate(block, bytes, 8);
}

TEST(synchronized_multipool_model, a_living_thread_keeps_no_more_than_a_mebibyte_and_its_stacks) {
    for (const std::size_t bytes : {64u, 512u, 4096u, 20000u}) {
        accounting_source source;
        synchronized_multipool<accounting_ref> pool(source);
        assistant other;
        const std::size_t count = (std::size_t{16} << 20) / bytes;
        for (int i = 0; i < 3; ++i) other.run([&] { come_and_go(pool, count, bytes); });
        const std::size_t held = pool.held_bytes();
        come_and_go(pool, count, bytes);
        EXPECT_LE(pool.held_bytes(), held + (std::size_t{2} << 20)) << bytes;
    }
}

TEST(synchronized_multipool_model, cached_blocks_of_an_ended_thread_serve_the_others) {
    accounting_source source;
    synchronized_multipool<accounting_ref> pool(source);
    static_cast<void>(pool.allocate(200, 8));  // this thread has a magazine, and needs none of an ended one
    for (const std::size_t bytes : {8u, 24u, 40u, 100u, 1000u, 10000u, 16000u}) {
        std::set<void*> blocks;
        in_a_thread([&] {
            for (int i = 0; i < 40; ++i) blocks.insert(pool.allocate(bytes, 8));
            for (void* block : blocks) pool.deallocate(block, bytes, 8);
        });
        int again = 0;
        for (int i = 0; i < 40; ++i) again += blocks.contains(pool.allocate(bytes, 8));
        EXPECT_GT(again, 0) << bytes << ": fresh ones may lie among them";
    }
}

// A source that counts its live bytes and can be held inside a call, and with it the pool's lock.
struct gate {
    static inline std::atomic<bool> is_shut{false};
    static inline std::atomic<bool> is_inside{false};
    static inline std::atomic<std::size_t> live{0};
    static inline thread_local bool may_wait = false;

    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if (may_wait) {
            is_inside = true;
            while (is_shut) std::this_thread::yield();
        }
        void* const block = new_delete().try_allocate(bytes, alignment);
        if (block != nullptr) live += bytes;
        return block;
    }
    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        live -= bytes;
        new_delete().deallocate(block, bytes, alignment);
    }
};
struct open_gate : gate {};  // may be passed by several threads at once

}  // namespace
template <>
inline constexpr bool is_thread_safe_source<open_gate> = true;
namespace {

// The holder waits in the source. It must ask for bytes that need the source under the lock: any size if the source is
// not thread-safe, else one of a class for which the pool has no memory.
template <class Source, class Work>
void while_the_lock_is_held(synchronized_multipool<Source>& pool, Work work) {
    constexpr std::size_t bytes = is_thread_safe_source<Source> ? 24 : 900000;
    gate::is_shut = true;
    gate::is_inside = false;
    std::thread holder([&] {
        gate::may_wait = true;
        static_cast<void>(pool.allocate(bytes, 8));
    });
    while (!gate::is_inside) std::this_thread::yield();
    work();
    gate::is_shut = false;
    holder.join();
}

TEST(synchronized_multipool_model_threads, memory_taken_without_the_lock_is_counted_and_returned) {
    {
        synchronized_multipool<open_gate> pool;
        while_the_lock_is_held(pool, [&] {
            const std::size_t before = pool.held_bytes();
            for (int i = 0; i < 100; ++i) std::memset(pool.allocate(5000, 8), 1, 5000);
            EXPECT_GE(pool.held_bytes(), before + 500000);
        });
        EXPECT_EQ(pool.held_bytes(), gate::live.load());
        pool.release();
        EXPECT_EQ(gate::live.load(), 0u);
        while_the_lock_is_held(pool, [&] { std::memset(pool.allocate(5000, 8), 1, 5000); });
    }
    EXPECT_EQ(gate::live.load(), 0u);
}

TEST(synchronized_multipool_model_threads, a_source_for_one_thread_is_asked_only_under_the_lock) {
    synchronized_multipool<gate> pool;
    while_the_lock_is_held(pool, [&] { EXPECT_EQ(pool.try_allocate(64, 8), nullptr); });
    EXPECT_NE(pool.try_allocate(64, 8), nullptr);
}

// It does so after any number of earlier rounds.
TEST(synchronized_multipool_model_threads, a_threads_cached_blocks_serve_it_without_the_lock) {
    synchronized_multipool<gate> pool;
    for (int round = 0; round < 300; ++round) come_and_go(pool, 1000, 64);
    while_the_lock_is_held(pool, [&] {
        for (int i = 0; i < 800; ++i) ASSERT_NE(pool.try_allocate(64, 8), nullptr) << i;
    });
}

}  // namespace
}  // namespace millpond
