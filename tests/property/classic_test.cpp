// SPDX-License-Identifier: BSL-1.0
// classic_test: every classic allocator, with machine words and with the words of 1993. Blocks are aligned, disjoint
// and keep their contents; a walk over the heap adds up; a request without memory gives null, and the allocator goes on
// as soon as there is memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <millpond/classic.hpp>
#include <millpond/core.hpp>
#include <utility>
#include <vector>

#include "../unit/support/block_model.hpp"
#include "../unit/support/fake_pages.hpp"
#include "../unit/support/scale.hpp"
#include "../unit/support/seed.hpp"

namespace millpond::classic {
namespace {

using test::fake_pages;
using test::uniform;
using fake_region = basic_region<fake_pages>;
using counts = operation_counts;

template <class Heap>
class classic_heap : public testing::Test {
  protected:
    void SetUp() override { fake_pages::start(); }
    void TearDown() override { EXPECT_EQ(fake_pages::reservations(), 0U) << "the destructor gives everything back"; }
};

template <class Words>
using first_fit_never = first_fit<Words, counts, coalescing::never, fake_region>;
template <class Words>
using first_fit_deferred = first_fit<Words, counts, coalescing::deferred, fake_region>;

template <class Words, class Scheme>
using size_map_of = size_map<Scheme, Words, counts, fake_region>;
using measured = class_map<24, 40, 64, 1000, 1008, 9000>;

// A prediction that calls two of three blocks of some sizes short-lived and is mostly wrong.
struct wrong_guess {
    static constexpr unsigned chunks = 3;
    static constexpr bool asks(std::size_t bytes) { return bytes % 32 == 0; }
    static bool is_short(std::size_t, unsigned turn) noexcept { return turn % 3 != 0; }
};
class size_map_that_guesses : public size_map<measured, pointer_words, counts, fake_region, wrong_guess> {
    using base = size_map<measured, pointer_words, counts, fake_region, wrong_guess>;

  public:
    using base::base;
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        return base::try_allocate(bytes, alignment, ++turn_);
    }

  private:
    unsigned turn_ = 0;
};

using heaps =
    testing::Types<first_fit<pointer_words, counts, coalescing::at_once, fake_region>,
                   first_fit<offset_words, counts, coalescing::at_once, fake_region>, first_fit_never<pointer_words>,
                   first_fit_never<offset_words>, first_fit_deferred<pointer_words>, first_fit_deferred<offset_words>,
                   best_fit<pointer_words, counts, coalescing::at_once, fake_region>,
                   best_fit<offset_words, counts, coalescing::deferred, fake_region>,
                   gnu_gxx<pointer_words, counts, coalescing::at_once, look_at::all, fake_region>,
                   gnu_gxx<offset_words, counts, coalescing::at_once, look_at::all, fake_region>,
                   gnu_gxx<pointer_words, counts, coalescing::at_once, look_at::heads, fake_region>,
                   gnu_gxx<offset_words, counts, coalescing::deferred, look_at::all, fake_region>,
                   gnu_gxx<pointer_words, counts, coalescing::never, look_at::heads, fake_region>,
                   bsd<pointer_words, counts, fake_region>, bsd<offset_words, counts, fake_region>,
                   gnu_local<pointer_words, counts, 0, fake_region>, gnu_local<offset_words, counts, 0, fake_region>,
                   gnu_local<offset_words, counts, 8, fake_region>, quick_fit<pointer_words, counts, fake_region>,
                   quick_fit<offset_words, counts, fake_region>, binary_buddy<pointer_words, counts, fake_region>,
                   binary_buddy<offset_words, counts, fake_region>, fibonacci_buddy<pointer_words, counts, fake_region>,
                   fibonacci_buddy<offset_words, counts, fake_region>, size_map_of<pointer_words, measured>,
                   size_map_of<offset_words, measured>, size_map_of<pointer_words, four_an_octave<>>,
                   size_map_of<offset_words, four_an_octave<4096>>, size_map_of<offset_words, powers_of_two<4096>>,
                   size_map_that_guesses>;
TYPED_TEST_SUITE(classic_heap, heaps);

// Returns mostly small, sometimes large sizes; the sizes at which something changes are frequent.
std::size_t random_bytes(std::mt19937_64& numbers) {
    switch (uniform(numbers, 0, 9)) {
        case 0:
            return uniform<std::size_t>(numbers, 0, 40);
        case 1:
            return uniform<std::size_t>(numbers, 0, 20000);
        case 2:
            return (std::size_t{1} << uniform(numbers, 0, 16)) + uniform<std::size_t>(numbers, 0, 2) - 1;
        default:
            return uniform<std::size_t>(numbers, 1, 200);
    }
}

std::size_t random_alignment(std::mt19937_64& numbers) {
    return std::size_t{1} << (uniform(numbers, 0, 9) == 0 ? uniform(numbers, 0, 14) : uniform(numbers, 0, 4));
}

// Checks the properties of a heap that are visible from outside.
template <class Heap>
void expect_sound(const Heap& heap, const test::block_model& model) {
    const heap_use use = heap.use();
    ASSERT_EQ(use.blocks, model.size());
    ASSERT_LE(use.block_bytes + use.free_bytes, use.used_bytes);
    ASSERT_LE(use.used_bytes, use.held_bytes);
    std::size_t wanted = 0;
    for (const auto& [start, promised] : model.live()) {
        wanted += promised.bytes;
        ASSERT_GE(heap.usable_bytes(start), promised.bytes);
        ASSERT_TRUE(heap.contains(start));
    }
    ASSERT_LE(wanted, use.block_bytes);
    ASSERT_LE(use.largest_free_bytes, use.free_bytes);
    ASSERT_LE(use.held_bytes, use.mapped_bytes);
    const heap_record record = heap.record();
    ASSERT_EQ(record.use.free_bytes, use.free_bytes);
    if (record.requested_bytes()) {
        ASSERT_EQ(record.requested_bytes(), wanted);
    }
    std::size_t in_lists = 0;
    heap.for_each_list([&](std::size_t, std::size_t length) { in_lists += length; });
    ASSERT_EQ(in_lists, use.free_blocks);
    ASSERT_EQ(record.lists == 0, use.free_blocks == 0);
    ASSERT_LE(record.longest_list, use.free_blocks);
}

template <class Heap>
void live(Heap& heap, test::block_model& model, std::mt19937_64& numbers, int steps, bool may_fail) {
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
        const int choice = uniform(numbers, 0, 999);
        if (choice < 2 && !may_fail) {
            model.check_all();
            choice == 0 ? heap.reset() : heap.release();
            model.clear();
        } else if (model.empty() || choice < (step / 2000 % 2 == 0 ? 600 : 400)) {
            const std::size_t bytes = random_bytes(numbers);
            const std::size_t alignment = random_alignment(numbers);
            void* const block = heap.try_allocate(bytes, alignment);
            if (block == nullptr && may_fail) continue;
            model.add(block, bytes, alignment);
            if (block == nullptr) return;
            ASSERT_GE(heap.usable_bytes(block), bytes);
        } else {
            const auto block = model.any(numbers);
            model.remove(block.start);
            heap.deallocate(block.start, block.bytes, block.alignment);
        }
        if (choice % 100 == 99) expect_sound(heap, model);
    }
    model.check_all();
    expect_sound(heap, model);
    ASSERT_TRUE(heap.record().requested_bytes()) << "all frees were sized";
}

TYPED_TEST(classic_heap, blocks_are_aligned_disjoint_and_kept) {
    TypeParam heap;
    test::block_model model;
    auto numbers = test::random_numbers();
    live(heap, model, numbers, test::scaled(20000, 3000), false);
    int elsewhere = 0;
    EXPECT_FALSE(heap.contains(&elsewhere) || heap.contains(&heap) || heap.contains(nullptr));
    heap.release();
    EXPECT_FALSE(heap.contains(nullptr));
    EXPECT_EQ(fake_pages::charged_bytes, 0U);
}

TYPED_TEST(classic_heap, pages_that_are_refused_are_null_and_nothing_is_lost) {
    for (std::size_t refused = 0; refused < 12; refused += test::scaled<std::size_t>(1, 4)) {
        fake_pages::start();
        fake_pages::fail_from(refused);
        TypeParam heap;
        test::block_model model;
        auto numbers = test::random_numbers(refused);
        live(heap, model, numbers, test::scaled(2000, 500), true);
        fake_pages::never_fail();
        const auto before = model.size();
        while (model.size() < before + 200) {
            const std::size_t bytes = random_bytes(numbers);
            model.add(heap.try_allocate(bytes, 8), bytes, 8);
            if (testing::Test::HasFailure()) return;
        }
        live(heap, model, numbers, test::scaled(1000, 250), true);
    }
}

TYPED_TEST(classic_heap, a_limit_is_kept_and_freed_memory_is_reused) {
    TypeParam heap(std::size_t{1} << 20);
    std::vector<void*> blocks;
    while (void* const block = heap.try_allocate(1000, 4)) blocks.push_back(block);
    EXPECT_GE(blocks.size(), 250U);
    EXPECT_LE(blocks.size(), 1048U);
    EXPECT_LE(heap.use().used_bytes, std::size_t{1} << 20);
    for (void* const block : blocks) heap.deallocate(block);
    for (std::size_t again = 0; again < blocks.size(); ++again) ASSERT_NE(heap.try_allocate(1000, 4), nullptr) << again;
}

TYPED_TEST(classic_heap, impossible_sizes_are_null) {
    TypeParam heap;
    constexpr auto most = static_cast<std::size_t>(-1);
    for (const std::size_t bytes : {most, most - 1, most / 2 + 1, most / 2, most / 4, most / 8, most - 4096}) {
        for (std::size_t alignment = most / 2 + 1; alignment != 0; alignment /= 2)
            EXPECT_EQ(heap.try_allocate(bytes, alignment), nullptr) << bytes << " aligned to " << alignment;
    }
    EXPECT_EQ(heap.try_allocate(1, most / 2 + 1), nullptr);
    EXPECT_EQ(heap.use().blocks, 0U);
    heap.deallocate(nullptr);
}

TYPED_TEST(classic_heap, every_alignment_to_a_mebibyte_is_served) {
    TypeParam heap;
    test::block_model model;
    for (std::size_t alignment = 1; alignment <= std::size_t{1} << 20; alignment *= 2) {
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{24}, std::size_t{5000}}) {
            model.add(heap.try_allocate(bytes, alignment), bytes, alignment);
        }
    }
    expect_sound(heap, model);
    while (!model.empty()) {
        void* const start = model.live().begin()->first;
        model.remove(start);
        heap.deallocate(start);
    }
    expect_sound(heap, model);
}

TYPED_TEST(classic_heap, counts_match_the_operations) {
    TypeParam heap;
    std::vector<void*> blocks;
    for (int i = 0; i < 100; ++i) blocks.push_back(heap.allocate(20, 4));
    for (void* const block : blocks) heap.deallocate(block);
    const operation_counts& done = heap.operations();
    EXPECT_GE(done.allocations, 100U);
    EXPECT_EQ(done.deallocations, 100U);
    EXPECT_GE(done.requested_bytes, 2000U);
    EXPECT_GT(done.internal_fragmentation(), 0.0);
    EXPECT_GE(done.growths, 1U);
}

static_assert(managed_allocator<first_fit<>> && managed_allocator<best_fit<>> && managed_allocator<gnu_gxx<>> &&
              managed_allocator<bsd<>> && managed_allocator<gnu_local<>> && managed_allocator<quick_fit<>> &&
              managed_allocator<binary_buddy<>> && managed_allocator<fibonacci_buddy<>> &&
              managed_allocator<size_map<>>);

}  // namespace
}  // namespace millpond::classic
