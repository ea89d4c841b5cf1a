// SPDX-License-Identifier: BSL-1.0
// sources_test: new_delete, upstream_resource and source_ref: what they give, and null where others throw.
#include <gtest/gtest.h>

#include <cstring>
#include <memory_resource>
#include <millpond/block.hpp>
#include <new>

#include "support/accounting_source.hpp"

namespace millpond {
namespace {

// A resource that throws what is no std::bad_alloc.
class angry_resource : public std::pmr::memory_resource {
    void* do_allocate(std::size_t, std::size_t) override { throw 42; }
    void do_deallocate(void*, std::size_t, std::size_t) override {}
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};

static_assert(allocator_like<new_delete> && allocator_like<upstream_resource> && allocator_like<chunk_cache>);
static_assert(allocator_like<source_ref<new_delete>> && !managed_allocator<source_ref<new_delete>>);
static_assert(rounding_source<source_ref<chunk_cache>> && !rounding_source<source_ref<new_delete>>);
static_assert(slab_source<test::accounting_slab_ref> && fixed_chunk_source<test::accounting_slab_ref>);
static_assert(!slab_source<test::accounting_ref> && !fixed_chunk_source<test::accounting_ref>);

template <class Source>
void gives_every_alignment(Source source) {
    for (std::size_t alignment = 1; alignment <= 8192; alignment *= 2) {
        for (const std::size_t bytes : {1u, 7u, 24u, 100u, 5000u}) {
            void* const block = source.allocate(bytes, alignment);
            EXPECT_TRUE(is_aligned(block, alignment));
            std::memset(block, 1, bytes);
            source.deallocate(block, bytes, alignment);
        }
    }
}

TEST(sources, give_every_alignment) {
    gives_every_alignment(new_delete{});
    gives_every_alignment(chunk_cache{});
    gives_every_alignment(upstream_resource{});
    new_delete behind;
    gives_every_alignment(source_ref(behind));
    chunk_cache::trim();
}

TEST(sources, impossible_sizes_are_null_or_bad_alloc) {
    for (const std::size_t bytes : {max_bytes + 1, static_cast<std::size_t>(-1)}) {
        EXPECT_EQ(new_delete{}.try_allocate(bytes, 8), nullptr);
        EXPECT_EQ(new_delete{}.try_allocate(bytes, 64), nullptr);
        EXPECT_EQ(chunk_cache{}.try_allocate(bytes, 8), nullptr);
        EXPECT_EQ(upstream_resource{}.try_allocate(bytes, 8), nullptr);
        EXPECT_THROW(static_cast<void>(new_delete{}.allocate(bytes, 8)), std::bad_alloc);
        EXPECT_THROW(static_cast<void>(upstream_resource{}.allocate(bytes, 8)), std::bad_alloc);
    }
    for (const std::size_t alignment : {std::size_t{1} << 63, std::size_t{1} << 62}) {
        EXPECT_EQ(new_delete{}.try_allocate(max_bytes, alignment), nullptr);
        EXPECT_EQ(chunk_cache{}.try_allocate(max_bytes, alignment), nullptr);
        EXPECT_EQ(upstream_resource{}.try_allocate(max_bytes, alignment), nullptr);
    }
    EXPECT_EQ(new_delete{}.try_allocate(1, std::size_t{1} << 63), nullptr);
    EXPECT_EQ(upstream_resource{}.try_allocate(1, std::size_t{1} << 63), nullptr);
}

TEST(sources, whatever_an_upstream_resource_throws_is_null) {
    angry_resource angry;
    EXPECT_EQ(upstream_resource(std::pmr::null_memory_resource()).try_allocate(8, 8), nullptr);
    EXPECT_EQ(upstream_resource(&angry).try_allocate(8, 8), nullptr);
    EXPECT_THROW(static_cast<void>(upstream_resource(&angry).allocate(8, 8)), int);
}

TEST(sources, are_equal_when_memory_may_cross) {
    std::pmr::monotonic_buffer_resource a, b;
    EXPECT_EQ(upstream_resource(&a), upstream_resource(&a));
    EXPECT_FALSE(upstream_resource(&a) == upstream_resource(&b));
    EXPECT_EQ(new_delete{}, new_delete{});
    chunk_cache one;
    new_delete two, three;
    EXPECT_EQ(source_ref(one), source_ref(one));
    EXPECT_FALSE(source_ref(two) == source_ref(three));
}

}  // namespace
}  // namespace millpond
