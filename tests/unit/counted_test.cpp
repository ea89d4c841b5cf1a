// SPDX-License-Identifier: BSL-1.0
// counted_test: the counts agree with those of a model, and V and U with those of the laboratory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <list>
#include <map>
#include <millpond/millpond.hpp>
#include <string>

#include "../../lab/characterise/size_class.hpp"
#include "support/accounting_source.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_source;
using test::uniform;

static_assert(rewindable_allocator<counted<monotonic<>>> && managed_allocator<counted<multipool<>>>);
static_assert(!rewindable_allocator<counted<multipool<>>> && !managed_allocator<counted<new_delete>>);
static_assert(slab_source<counted<test::accounting_slab_ref>> &&
              fixed_chunk_source<counted<test::accounting_slab_ref>>);
static_assert(!slab_source<counted<new_delete>> && !fixed_chunk_source<counted<new_delete>>);

TEST(size_histogram, has_the_classes_of_the_laboratory) {
    const auto check = [](std::size_t bytes) {
        ASSERT_EQ(size_histogram::class_of(bytes), characterise::size_class_of(bytes)) << bytes;
        ASSERT_LE(bytes, size_histogram::largest_of(size_histogram::class_of(bytes)));
    };
    for (std::size_t bytes = 0; bytes < 5000; ++bytes) check(bytes);
    for (int bit = 12; bit < std::numeric_limits<std::size_t>::digits; ++bit) {
        for (const std::size_t step : {0u, 1u, 2u}) check((std::size_t{1} << bit) - 1 + step);
    }
    check(static_cast<std::size_t>(-1));
    for (unsigned i = 0; i < size_histogram::classes; ++i)
        EXPECT_EQ(size_histogram::largest_of(i),
                  std::min<std::uint64_t>(characterise::size_class_bytes(i), std::numeric_limits<std::size_t>::max()))
            << i;
}

TEST(size_histogram, variation_and_effective_sizes_of_equally_common_sizes) {
    size_histogram sizes;
    EXPECT_EQ(sizes.variation(), 0);
    EXPECT_EQ(sizes.effective_sizes(), 0);
    for (int i = 0; i < 1000; ++i) sizes.add(24);
    EXPECT_EQ(sizes.variation(), 0);
    EXPECT_EQ(sizes.effective_sizes(), 1);
    for (const std::size_t bytes : {64u, 1000u, 100000u}) {
        for (int i = 0; i < 1000; ++i) sizes.add(bytes);
    }
    EXPECT_NEAR(sizes.effective_sizes(), 4, 1e-9);
    EXPECT_NEAR(sizes.variation(), 0.75, 1e-9);
    EXPECT_EQ(sizes.total(), 4000u);
    EXPECT_EQ(sizes.count_of(999), 1000u) << "sizes near one another count as one";
}

TEST(counted, counts_are_those_of_a_model) {
    accounting_source source;
    counted<multipool<accounting_ref>> pool(source);
    std::map<void*, std::size_t> live;
    allocation_counts truth;
    std::map<unsigned, std::uint64_t> sizes;
    auto numbers = test::random_numbers();
    for (int step = 0; step < 20000; ++step) {
        const int choice = uniform(numbers, 0, 999);
        if (choice < 2) {
            choice == 0 ? pool.reset() : pool.release();
            live.clear();
            truth.live_blocks = truth.live_bytes = 0;
            ++truth.drops;
        } else if (choice < 10) {
            source.fail_from(0);
            EXPECT_EQ(pool.try_allocate(10 << 20, 8), nullptr);
            source.never_fail();
            ++truth.failures;
        } else if (live.empty() || choice < 520) {
            const auto bytes = uniform<std::size_t>(numbers, 0, 3000);
            live.emplace(pool.allocate(bytes, 8), bytes);
            ++truth.allocations;
            truth.bytes_allocated += bytes;
            truth.live_bytes += bytes;
            truth.live_blocks = live.size();
            truth.peak_live_blocks = std::max<std::uint64_t>(truth.peak_live_blocks, live.size());
            truth.peak_live_bytes = std::max(truth.peak_live_bytes, truth.live_bytes);
            ++sizes[size_histogram::class_of(bytes)];
        } else {
            pool.deallocate(live.begin()->first, live.begin()->second, 8);
            truth.live_bytes -= live.begin()->second;
            live.erase(live.begin());
            truth.live_blocks = live.size();
            ++truth.deallocations;
        }
        const allocation_counts& seen = pool.counts();
        ASSERT_EQ(seen.live_bytes, truth.live_bytes);
        ASSERT_EQ(seen.peak_live_bytes, truth.peak_live_bytes);
    }
    const allocation_counts& seen = pool.counts();
    EXPECT_EQ(seen.allocations, truth.allocations);
    EXPECT_EQ(seen.failures, truth.failures);
    EXPECT_EQ(seen.deallocations, truth.deallocations);
    EXPECT_EQ(seen.drops, truth.drops);
    EXPECT_EQ(seen.bytes_allocated, truth.bytes_allocated);
    EXPECT_EQ(seen.live_blocks, truth.live_blocks);
    EXPECT_EQ(seen.peak_live_blocks, truth.peak_live_blocks);
    for (unsigned i = 0; i < size_histogram::classes; ++i) EXPECT_EQ(pool.sizes().count_in(i), sizes[i]);
    EXPECT_DOUBLE_EQ(pool.utilization(),
                     static_cast<double>(truth.peak_live_bytes) / static_cast<double>(truth.bytes_allocated));
    EXPECT_EQ(pool.held_bytes(), source.live_bytes());
}

TEST(counted, a_rewind_restores_the_live_counts) {
    counted<monotonic<>> pool;
    void* const older = pool.allocate(100, 8);
    const auto place = pool.checkpoint();
    static_cast<void>(pool.allocate(50, 8));
    static_cast<void>(pool.allocate(50, 8));
    pool.rewind(place);
    EXPECT_EQ(pool.counts().live_bytes, 100u);
    EXPECT_EQ(pool.counts().live_blocks, 1u);
    EXPECT_EQ(pool.counts().peak_live_bytes, 200u);
    pool.deallocate(older, 100, 8);
    pool.rewind(place);
    EXPECT_EQ(pool.counts().live_bytes, 0u);
    EXPECT_EQ(pool.counts().drops, 2u);
}

TEST(counted, clear_restarts_the_counts) {
    counted<multipool<>> pool;
    EXPECT_EQ(pool.utilization(), 0);
    void* const kept = pool.allocate(100, 8);
    pool.deallocate(pool.allocate(1000, 8), 1000, 8);
    pool.clear();
    EXPECT_EQ(pool.counts().live_bytes, 100u);
    EXPECT_EQ(pool.counts().peak_live_bytes, 100u);
    EXPECT_EQ(pool.counts().allocations, 0u);
    EXPECT_EQ(pool.sizes().total(), 0u);
    EXPECT_EQ(pool.utilization(), 1);
    pool.deallocate(kept, 100, 8);
    EXPECT_EQ(pool.counts().live_bytes, 0u);
}

TEST(counted, counts_chunks_as_a_source) {
    multipool<counted<new_delete>> pool;
    for (int i = 0; i < 1000; ++i) static_cast<void>(pool.allocate(100, 8));
    EXPECT_EQ(pool.source().counts().live_bytes, pool.held_bytes());
    EXPECT_LT(pool.source().counts().allocations, 100u);
    pool.release();
    EXPECT_EQ(pool.source().counts().live_blocks, 0u);
}

TEST(counted, print_shows_the_counts) {
    counted<multipool<>> pool;
    pool.deallocate(pool.allocate(24, 8), 24, 8);
    pool.deallocate(pool.allocate(24, 8), 24, 8);
    std::FILE* const file = std::tmpfile();
    ASSERT_NE(file, nullptr);
    pool.print("nodes", file);
    std::rewind(file);
    std::string text(2000, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fclose(file);
    EXPECT_EQ(text,
              "nodes: 2 allocations, 2 deallocations, 0 failures, 48 bytes; live 0 blocks, 0 bytes; peak 1 blocks, "
              "24 bytes\nnodes: V 0.000 (effective sizes 1.0), U 0.500\nnodes:            2 × up to 24 bytes\n");
}

TEST(counted, containers_go_through_both_bindings) {
    counted<multipool<>> pool;
    {
        std::list<int, allocator<int, counted<multipool<>>>> by_type({1, 2, 3}, &pool);
        resource<counted<multipool<>>&> base(pool);
        std::pmr::list<int> by_base({4, 5}, &base);
        EXPECT_EQ(pool.counts().live_blocks, 5u);
    }
    EXPECT_EQ(pool.counts().live_blocks, 0u);
    EXPECT_THROW(static_cast<void>(pool.allocate(static_cast<std::size_t>(-1), 8)), std::bad_alloc);
    EXPECT_EQ(pool.counts().failures, 1u);
}

}  // namespace
}  // namespace millpond
