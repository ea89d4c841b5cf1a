// SPDX-License-Identifier: BSL-1.0
// medium_blocks_test: blocks of a pool's heap and of its source against a model, with a source that fails at times; the
// heap itself in every order of frees; the holes of a region.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <millpond/millpond.hpp>
#include <type_traits>
#include <vector>

#include "../unit/support/accounting_source.hpp"
#include "../unit/support/block_model.hpp"
#include "../unit/support/scale.hpp"
#include "../unit/support/seed.hpp"

namespace millpond {
namespace {

constexpr std::size_t mebi = std::size_t{1} << 20;

// Compares the heap of a pool with the model, over a source that sometimes fails: nothing is lost, all memory returns.
template <class Pool>
class medium_and_large_blocks : public testing::Test {};
using accounted =
    testing::Types<multipool<test::accounting_ref>, multipool<test::accounting_ref, powers_of_two<>>,
                   multipool<monotonic<test::accounting_ref>>,
                   multipool<test::accounting_ref, class_map<24, 5000, 33'000, 100'000>>,
                   multipool<limited<test::accounting_ref>>, synchronized_multipool<test::accounting_ref>>;
TYPED_TEST_SUITE(medium_and_large_blocks, accounted);

TYPED_TEST(medium_and_large_blocks, are_aligned_disjoint_and_kept) {
    test::accounting_source source;
    {
        const auto pool = [&] {
            if constexpr (std::is_same_v<TypeParam, multipool<limited<test::accounting_ref>>>) {
                return std::make_unique<TypeParam>(byte_limit{8 * mebi}, source);
            } else {
                return std::make_unique<TypeParam>(source);
            }
        }();
        test::block_model model;
        auto numbers = test::random_numbers();
        for (int step = 0; step < test::scaled(3000, 500) && !testing::Test::HasFatalFailure(); ++step) {
            const int choice = test::uniform(numbers, 0, 999);
            if (choice == 0) {
                model.check_all();
                step % 2 == 0 ? pool->reset() : pool->release();
                model.clear();
            } else if (choice < 20) {
                source.fail_once_at(test::uniform<std::size_t>(numbers, 0, 3));
            } else if (model.empty() || (choice < 560 && model.size() < 300)) {
                const std::size_t edge = std::size_t{4096} << test::uniform(numbers, 0, 5);
                const std::size_t bytes = choice % 2 == 0 ? edge + test::uniform<std::size_t>(numbers, 0, 4) - 2
                                                          : test::uniform<std::size_t>(numbers, 1, edge);
                const std::size_t alignment = std::size_t{1} << test::uniform(numbers, 0, 7);
                if (void* const block = pool->try_allocate(bytes, alignment); block != nullptr)
                    model.add(block, bytes, alignment);
            } else {
                const auto block = model.any(numbers);
                model.remove(block.start);
                pool->deallocate(block.start, block.bytes, block.alignment);
            }
        }
        model.check_all();
        EXPECT_LE(pool->held_bytes(), source.live_bytes() + mebi);
    }
    EXPECT_EQ(source.live_blocks(), 0u);
}

TEST(medium_and_large_blocks, blocks_of_joined_pools_serve_either) {
    test::accounting_source source;
    auto numbers = test::random_numbers();
    for (int round = 0; round < test::scaled(5, 2) && !testing::Test::HasFatalFailure(); ++round) {
        multipool<test::accounting_ref> to(source), from(source);
        test::block_model model;
        std::vector<multipool<test::accounting_ref>*> pools{&to, &from};
        for (int step = 0; step < 400; ++step) {
            if (step == 200) to.absorb(from);
            // Before they are one, blocks stay with their pool; that one only allocates is enough here.
            auto& pool = *pools[test::uniform<std::size_t>(numbers, 0, 1)];
            if (step < 200 || model.empty() || test::uniform(numbers, 0, 1) == 0) {
                const auto bytes = test::uniform<std::size_t>(numbers, 1, 120'000);
                model.add(pool.allocate(bytes, 8), bytes, 8);
            } else {
                const auto block = model.any(numbers);
                model.remove(block.start);
                pool.deallocate(block.start, block.bytes, block.alignment);
            }
        }
        model.check_all();
    }
    EXPECT_EQ(source.live_blocks(), 0u);
}

// Four blocks that fill the heap are freed in every order: afterwards the heap is one block again.
TEST(block_heap, is_whole_again_after_frees_in_any_order) {
    alignas(64) static char memory[40'000];
    int order[] = {0, 1, 2, 3};
    do {
        detail::block_heap heap;
        detail::poison(memory, sizeof memory);
        heap.add(memory, memory + sizeof memory);
        void* blocks[4];
        for (void*& each : blocks) {
            each = heap.try_allocate(9'000);
            ASSERT_NE(each, nullptr);
            ASSERT_TRUE(detail::is_aligned(each, 64));
        }
        ASSERT_EQ(heap.try_allocate(4'097), nullptr);
        for (const int next : order) heap.deallocate(blocks[next]);
        EXPECT_NE(heap.try_allocate(39'000), nullptr);
    } while (std::next_permutation(std::begin(order), std::end(order)));
    detail::unpoison(memory, sizeof memory);
}

// Sizes and remainders are next to the smallest that the heap tells apart.
TEST(block_heap, serves_every_size_near_what_is_free) {
    alignas(64) static char memory[188 * 64];
    for (std::size_t bytes = 4'097; bytes < sizeof memory; bytes += 7) {
        detail::block_heap heap;
        detail::poison(memory, sizeof memory);
        heap.add(memory, memory + sizeof memory);
        void* const block = heap.try_allocate(bytes);
        ASSERT_EQ(block != nullptr,
                  detail::block_heap::spacing(bytes) + detail::block_heap::line_bytes <= sizeof memory)
            << bytes;
        if (block == nullptr) continue;
        ASSERT_LE(static_cast<char*>(block) + bytes, memory + sizeof memory);
        heap.deallocate(block);
        ASSERT_EQ(heap.try_allocate(bytes), block);
    }
    detail::unpoison(memory, sizeof memory);
}

TEST(region_holes, holes_of_one_size_are_used_again) {
    region source;
    auto numbers = test::random_numbers();
    test::block_model model;
    const std::size_t sizes[] = {40'000, 50'000, 65'536, 300'000, 2'000'000};
    char* lowest = nullptr;
    char* highest = nullptr;
    for (int step = 0; step < test::scaled(500, 150) && !testing::Test::HasFatalFailure(); ++step) {
        if (model.size() < 40) {
            const std::size_t bytes = sizes[test::uniform<std::size_t>(numbers, 0, 4)];
            auto* const start = static_cast<char*>(source.allocate(bytes, 64));
            if (lowest == nullptr || start < lowest) lowest = start;
            if (start + bytes > highest) highest = start + bytes;
            model.add(start, bytes, 64);
        } else {
            const auto block = model.any(numbers);
            model.remove(block.start);
            source.deallocate(block.start, block.bytes, block.alignment);
        }
    }
    model.check_all();
    // No more than 40 blocks of each size were ever out at once.
    EXPECT_LE(static_cast<std::size_t>(highest - lowest), 40 * (40'000 + 50'000 + 65'536 + 300'000 + 2'000'000u));
    for (const auto& [start, promised] : model.live()) source.deallocate(start, promised.bytes, promised.alignment);
}

}  // namespace
}  // namespace millpond
