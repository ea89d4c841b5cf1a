// SPDX-License-Identifier: BSL-1.0
// advise_threads_test: the synchronized places, used by several threads at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <latch>
#include <millpond/millpond.hpp>
#include <mutex>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/seed.hpp"

namespace millpond {
namespace {

using pool = advise::synchronized_process_pool<struct threads_tag>;
using slabs = advise::synchronized_slab_pool<struct threads_tag>;
using phase = advise::synchronized_phase_arena<struct threads_tag, 2000>;

// On a busy machine the threads below meet too rarely to notice in every run that this lock is missing.
static_assert(std::is_same_v<phase::pool_type, synchronized<detail::resetting_arena>>);

// Blocks that any thread may take over.
template <class Block>
class exchange {
  public:
    Block swap(std::size_t place, Block block) {
        const std::lock_guard lock(mutex_);
        std::swap(blocks_[place % blocks_.size()], block);
        return block;
    }

  private:
    std::mutex mutex_;
    std::vector<Block> blocks_ = std::vector<Block>(16);
};

template <class Work>
void in_four_threads(Work work) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; ++i) threads.emplace_back([i, work] { work(test::random_numbers(i)); });
    for (std::thread& thread : threads) thread.join();
}

template <class Place>
class advise_threads : public testing::Test {};
using synchronized_places = testing::Types<pool, slabs, phase>;
TYPED_TEST_SUITE(advise_threads, synchronized_places);

TYPED_TEST(advise_threads, bytes_pass_between_threads) {
    struct block {
        void* bytes = nullptr;
        std::size_t held = 0;
    };
    exchange<block> places;
    in_four_threads([&](std::mt19937_64 numbers) {
        for (int i = 0; i < 3000; ++i) {
            const std::size_t bytes = test::uniform<std::size_t>(numbers, 1, 600);
            block one{TypeParam::allocate_bytes(bytes), bytes};
            std::memset(one.bytes, static_cast<int>(bytes % 251), bytes);
            one = places.swap(numbers(), one);
            for (std::size_t k = 0; k < one.held; ++k)
                ASSERT_EQ(static_cast<unsigned char*>(one.bytes)[k], one.held % 251);
            if (i % 3 == 0) one = {TypeParam::resize_bytes(one.bytes, one.held, bytes), bytes};
            TypeParam::deallocate_bytes(one.bytes, one.held);
        }
    });
    for (std::size_t i = 0; i < 16; ++i) {
        const block last = places.swap(i, {});
        TypeParam::deallocate_bytes(last.bytes, last.held);
    }
}

TYPED_TEST(advise_threads, no_block_goes_to_two_threads) {
    std::mutex mutex;
    std::latch start(4);
    std::vector<void*> all;
    in_four_threads([&](const std::mt19937_64&) {
        std::vector<void*> own(100000);
        start.arrive_and_wait();
        for (void*& block : own) block = TypeParam::allocate_bytes(16);
        const std::lock_guard lock(mutex);
        all.insert(all.end(), own.begin(), own.end());
    });
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
    for (void* block : all) TypeParam::deallocate_bytes(block, 16);
}

TYPED_TEST(advise_threads, containers_and_pointers_pass_between_threads) {
    using map = typename TypeParam::template map<int, typename TypeParam::string>;
    exchange<map> places;
    exchange<std::shared_ptr<map>> pointers;
    in_four_threads([&](std::mt19937_64 numbers) {
        for (int i = 0; i < 300; ++i) {
            map one;
            for (int k = 0; k < 10; ++k) one.emplace(k, typename TypeParam::string(50, 'x'));
            one = places.swap(numbers(), std::move(one));
            for (const auto& [key, text] : one) ASSERT_EQ(text.size(), 50u);
            pointers.swap(numbers(), TypeParam::template make_shared<map>(std::move(one)));
        }
    });
}

TEST(slab_pool_threads, any_thread_may_ask_and_free_by_address) {
    exchange<void*> places;
    in_four_threads([&](std::mt19937_64 numbers) {
        for (int i = 0; i < 3000; ++i) {
            void* const one = places.swap(numbers(), slabs::allocate_bytes(numbers() % 3000));
            ASSERT_TRUE(one == nullptr || slabs::owns(one));
            slabs::free_bytes(one);
        }
    });
    for (std::size_t i = 0; i < 16; ++i) slabs::free_bytes(places.swap(i, nullptr));
}

}  // namespace
}  // namespace millpond
