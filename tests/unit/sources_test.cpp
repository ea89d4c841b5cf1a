// SPDX-License-Identifier: BSL-1.0
// sources_test: new_delete, upstream_resource and source_ref: the memory that they give, and null instead of
// exceptions.
#include <gtest/gtest.h>

#include <cstring>
#include <memory_resource>
#include <millpond/block.hpp>
#include <millpond/local.hpp>
#include <new>
#include <vector>

#include "support/accounting_source.hpp"
#include "support/highest_bit.hpp"

namespace millpond {
namespace {

// A resource that throws something other than std::bad_alloc.
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
            EXPECT_TRUE(detail::is_aligned(block, alignment));
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
    gives_every_alignment(std_source<std::allocator<int>>{});
    gives_every_alignment(std_source<std::pmr::polymorphic_allocator<char>>{});
    std::vector<char> memory(100000);
    fixed_buffer buffer(memory.data(), memory.size());
    gives_every_alignment(source_ref(buffer));
    chunk_cache::trim();
}

TEST(fixed_buffer, has_what_it_was_given_and_never_more) {
    alignas(16) char memory[1000];
    fixed_buffer source(memory, sizeof memory);
    void* const a = source.try_allocate(400, 16);
    void* const b = source.try_allocate(400, 16);
    EXPECT_EQ(a, memory);
    EXPECT_EQ(b, memory + 400);
    EXPECT_EQ(source.try_allocate(400, 16), nullptr);
    EXPECT_EQ(source.try_allocate(static_cast<std::size_t>(-1), 16), nullptr);
    EXPECT_THROW(static_cast<void>(source.allocate(201, 1)), std::bad_alloc);
    EXPECT_EQ(source.room_bytes(), 200u);
    void* const none = source.try_allocate(0, 1);
    EXPECT_NE(none, nullptr);
    source.deallocate(none, 0, 1);
    source.deallocate(b, 400, 16);
    EXPECT_EQ(source.try_allocate(600, 8), b);
    source.deallocate(a, 400, 16);
    EXPECT_EQ(source.room_bytes(), 0u) << "not the last one";
    source.deallocate(b, 600, 8);
    EXPECT_EQ(source.room_bytes(), 1000u) << "none is out any more";
}

TEST(fixed_buffer, ends_at_the_last_byte_for_every_alignment) {
    alignas(64) char memory[128];
    for (std::size_t before = 0; before <= 128; ++before) {
        for (std::size_t alignment = 1; alignment <= 64; alignment *= 2) {
            for (std::size_t bytes = 1; bytes <= 129; bytes += 3) {
                fixed_buffer source(memory, sizeof memory);
                if (before > 0) {
                    ASSERT_EQ(source.try_allocate(before, 1), memory);
                }
                const std::size_t start = detail::align_up(before, alignment);
                void* const expected = start + bytes <= sizeof memory ? memory + start : nullptr;
                ASSERT_EQ(source.try_allocate(bytes, alignment), expected) << before << ' ' << bytes;
            }
        }
    }
    EXPECT_EQ(fixed_buffer(nullptr, 0).try_allocate(1, 1), nullptr);
}

TEST(fixed_buffer, keeps_a_pool_off_the_heap) {
    alignas(64) static char memory[1 << 16];
    fixed_buffer source(memory, sizeof memory);
    multipool<source_ref<fixed_buffer>> pool(source);
    std::size_t count = 0;
    while (auto* block = static_cast<char*>(pool.try_allocate(100, 8))) {
        EXPECT_TRUE(memory <= block && block + 100 <= memory + sizeof memory);
        std::memset(block, 1, 100);
        ++count;
    }
    EXPECT_GT(count, 400u);
    pool.release();
    EXPECT_EQ(source.room_bytes(), sizeof memory);
}

// A standard allocator that throws when told to, and counts units.
template <class T>
struct fickle_allocator {
    using value_type = T;
    explicit fickle_allocator(std::size_t* live) : live_(live) {}
    template <class U>
    fickle_allocator(const fickle_allocator<U>& other) : live_(other.live_) {}
    T* allocate(std::size_t n) {
        if (n * sizeof(T) > 10000) throw 42;
        *live_ += n * sizeof(T);
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T* block, std::size_t n) noexcept {
        *live_ -= n * sizeof(T);
        std::allocator<T>().deallocate(block, n);
    }
    template <class U>
    bool operator==(const fickle_allocator<U>& other) const {
        return live_ == other.live_;
    }
    std::size_t* live_;
};

TEST(std_source, gives_back_what_it_took_and_turns_every_exception_into_null) {
    std::size_t live = 0;
    {
        multipool<std_source<fickle_allocator<int>>> pool{fickle_allocator<int>(&live)};
        for (std::size_t alignment = 1; alignment <= 1024; alignment *= 2) {
            EXPECT_NE(pool.try_allocate(100, alignment), nullptr);
        }
        EXPECT_GT(live, 0u);
        EXPECT_EQ(pool.try_allocate(20000, 8), nullptr);
        EXPECT_EQ(pool.try_allocate(20000, 4096), nullptr);
        EXPECT_EQ(pool.try_allocate(static_cast<std::size_t>(-1), 8), nullptr);
        EXPECT_NE(pool.try_allocate(2000, 8), nullptr);
    }
    EXPECT_EQ(live, 0u);
    std::size_t other = 0;
    using source = std_source<fickle_allocator<char>>;
    EXPECT_TRUE(source(fickle_allocator<char>(&live)) == source(fickle_allocator<char>(&live)));
    EXPECT_FALSE(source(fickle_allocator<char>(&live)) == source(fickle_allocator<char>(&other)));
}

TEST(std_source, takes_enough_for_every_block_and_little_more) {
    std::size_t live = 0;
    std_source<fickle_allocator<char>> source{fickle_allocator<char>(&live)};
    for (std::size_t alignment = 1; alignment <= 1024; alignment *= 2) {
        for (std::size_t bytes = 0; bytes <= 300; ++bytes) {
            auto* const block = static_cast<char*>(source.allocate(bytes, alignment));
            ASSERT_TRUE(detail::is_aligned(block, alignment));
            ASSERT_GE(live, bytes);
            ASSERT_LT(live, bytes + 32 + (alignment > detail::default_alignment ? alignment + sizeof(void*) : 0));
            std::memset(block, 1, bytes);
            source.deallocate(block, bytes, alignment);
            ASSERT_EQ(live, 0u);
        }
    }
}

// A resource that counts its calls and is equal to any other of its kind.
class sociable_resource : public std::pmr::memory_resource {
  public:
    int calls = 0;

  private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        ++calls;
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
        std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        return dynamic_cast<const sociable_resource*>(&other) != nullptr;
    }
};

TEST(sources, an_upstream_resource_is_its_resource) {
    sociable_resource theirs, others;
    upstream_resource source(&theirs);
    EXPECT_EQ(source.resource(), &theirs);
    EXPECT_EQ(upstream_resource().resource(), std::pmr::get_default_resource());
    source.deallocate(source.allocate(100, 8), 100, 8);
    source.deallocate(source.try_allocate(100, 64), 100, 64);
    EXPECT_EQ(theirs.calls, 2);
    EXPECT_EQ(source.try_allocate(detail::max_bytes + 1, 8), nullptr);
    EXPECT_EQ(source.try_allocate(detail::max_bytes - 100, 128), nullptr);
    EXPECT_THROW(static_cast<void>(source.allocate(detail::max_bytes - 100, 128)), std::bad_alloc);
    EXPECT_EQ(theirs.calls, 2) << "what cannot be is not asked for";
    EXPECT_EQ(source, upstream_resource(&others)) << "the resources say that their memory may cross";
}

TEST(sources, a_reference_passes_everything_on) {
    test::accounting_source behind;
    source_ref<test::accounting_source> source(behind);
    void* const block = source.try_allocate(100, 32);
    EXPECT_EQ(behind.given().at(block).alignment, 32u);
    source.deallocate(block, 100, 32);
    chunk_cache cache;
    source_ref<chunk_cache> rounding(cache);
    const allocation chunk = rounding.try_allocate_at_least(5000, 16);
    EXPECT_EQ(chunk.bytes, 5120u);
    rounding.deallocate(chunk.start, chunk.bytes, 16);
    EXPECT_THROW(static_cast<void>(rounding.allocate(detail::max_bytes, 8)), std::bad_alloc);
    test::accounting_loose_slab_source slabs;
    source_ref<test::accounting_loose_slab_source> announcing(slabs);
    void* const slab = announcing.try_allocate_slab(4096, 64, 24);
    EXPECT_EQ(slabs.given().at(slab).block_bytes, 24u);
    announcing.deallocate(slab, 4096, 64);
    chunk_cache::trim();
}

TEST(sources, impossible_sizes_are_null_or_bad_alloc) {
    for (const std::size_t bytes : {detail::max_bytes + 1, static_cast<std::size_t>(-1)}) {
        EXPECT_EQ(new_delete{}.try_allocate(bytes, 8), nullptr);
        EXPECT_EQ(new_delete{}.try_allocate(bytes, 64), nullptr);
        EXPECT_EQ(chunk_cache{}.try_allocate(bytes, 8), nullptr);
        EXPECT_EQ(upstream_resource{}.try_allocate(bytes, 8), nullptr);
        EXPECT_THROW(static_cast<void>(new_delete{}.allocate(bytes, 8)), std::bad_alloc);
        EXPECT_THROW(static_cast<void>(upstream_resource{}.allocate(bytes, 8)), std::bad_alloc);
    }
    for (const std::size_t alignment : {test::highest_bit, test::highest_bit / 2}) {
        EXPECT_EQ(new_delete{}.try_allocate(detail::max_bytes, alignment), nullptr);
        EXPECT_EQ(chunk_cache{}.try_allocate(detail::max_bytes, alignment), nullptr);
        EXPECT_EQ(upstream_resource{}.try_allocate(detail::max_bytes, alignment), nullptr);
    }
    EXPECT_EQ(new_delete{}.try_allocate(1, test::highest_bit), nullptr);
    EXPECT_EQ(upstream_resource{}.try_allocate(1, test::highest_bit), nullptr);
}

TEST(sources, any_exception_of_an_upstream_resource_gives_null) {
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
