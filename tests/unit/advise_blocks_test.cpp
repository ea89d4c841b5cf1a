// SPDX-License-Identifier: BSL-1.0
// advise_blocks_test: blocks of the places: they do not overlap, are aligned, and go back to where they came from.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory_resource>
#include <millpond/millpond.hpp>
#include <set>
#include <type_traits>
#include <vector>

#include "support/in_a_thread.hpp"
#include "support/places.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

using test::aligned_line;
using test::expect_objects_are_made_and_destroyed;
using test::in_a_thread;
using test::is_aligned;

using pool = advise::process_pool<struct blocks_tag>;
using slabs = advise::slab_pool<struct blocks_tag>;
using phase = advise::phase_arena<struct blocks_tag>;

// A block with its size. Every byte holds the lowest bits of the size.
struct filled_block {
    unsigned char* bytes = nullptr;
    std::size_t held = 0;

    void fill() const { std::memset(bytes, static_cast<int>(held % 251), held); }
    [[nodiscard]] bool is_whole(std::size_t count) const {
        return std::all_of(bytes, bytes + std::min(count, held), [this](unsigned char b) { return b == held % 251; });
    }
};

template <class Place>
class advised_blocks : public testing::Test {
  protected:
    static constexpr bool finds_sizes = std::is_same_v<Place, slabs>;

    static void free(filled_block block) {
        if constexpr (finds_sizes) {
            Place::free_bytes(block.bytes);
        } else {
            Place::deallocate_bytes(block.bytes, block.held);
        }
    }
    static void* resize(filled_block block, std::size_t bytes) {
        if (block.bytes == nullptr) return Place::allocate_bytes(bytes);  // a slab_pool leaves null to realloc
        if constexpr (finds_sizes) {
            return Place::resize_bytes(block.bytes, bytes);
        } else {
            return Place::resize_bytes(block.bytes, block.held, bytes);
        }
    }
    // Returns: a number that grows if blocks are lost.
    static std::size_t memory_in_use() {
        if constexpr (std::is_same_v<Place, phase>) {
            return phase::pool().live_blocks();
        } else {
            return Place::pool().held_bytes();
        }
    }
};
using places = testing::Types<pool, slabs, phase>;
TYPED_TEST_SUITE(advised_blocks, places);

TYPED_TEST(advised_blocks, never_overlap) {
    std::mt19937_64 numbers = test::random_numbers();
    std::vector<filled_block> live(1000);
    for (int i = 0; i < 10000; ++i) {
        filled_block& block = live[test::uniform<std::size_t>(numbers, 0, live.size() - 1)];
        ASSERT_TRUE(block.is_whole(block.held));
        const std::size_t bytes = test::uniform<std::size_t>(numbers, 1, i % 16 == 0 ? 40000 : 600);
        if (block.bytes != nullptr && i % 2 == 0) {
            this->free(block);
            block = {};
            continue;
        }
        const filled_block old = block;
        block.bytes = static_cast<unsigned char*>(this->resize(old, bytes));
        ASSERT_NE(block.bytes, nullptr);
        ASSERT_TRUE(block.is_whole(bytes)) << "it keeps its contents";
        block.held = bytes;
        block.fill();
    }
    for (const filled_block& block : live) {
        EXPECT_TRUE(block.is_whole(block.held));
        this->free(block);
    }
}

TYPED_TEST(advised_blocks, serve_again_when_freed) {
    if (is_checked_mode) GTEST_SKIP() << "freed blocks stay in a quarantine";
    const auto use = [this] {
        for (std::size_t bytes = 0; bytes <= 100; ++bytes) {
            TypeParam::deallocate_bytes(TypeParam::allocate_bytes(bytes), bytes);
            const typename TypeParam::template vector<int> numbers(bytes);
            this->free(
                {static_cast<unsigned char*>(TypeParam::resize_bytes(TypeParam::allocate_bytes(3), 3, bytes)), bytes});
        }
        expect_objects_are_made_and_destroyed<TypeParam>();
    };
    for (int i = 0; i < 5; ++i) use();
    const std::size_t held = this->memory_in_use();
    for (int i = 0; i < 1000; ++i) use();
    EXPECT_EQ(this->memory_in_use(), held);
}

TYPED_TEST(advised_blocks, are_aligned_whatever_lies_before_them) {
    std::vector<filled_block> before;
    for (std::size_t bytes = 1; bytes <= 100; ++bytes) {
        before.push_back({static_cast<unsigned char*>(TypeParam::allocate_bytes(bytes)), bytes});
        EXPECT_TRUE(is_aligned(before.back().bytes, bytes <= 8 ? 8 : 16));
        const typename TypeParam::template vector<aligned_line> lines(bytes);
        EXPECT_TRUE(is_aligned(lines.data()));
        auto* const line = TypeParam::template make<aligned_line>();
        EXPECT_TRUE(is_aligned(line));
        TypeParam::destroy(line);
    }
    for (const filled_block& block : before) this->free(block);
}

TYPED_TEST(advised_blocks, come_from_one_pool_in_every_thread) {
    auto* const here = &TypeParam::pool();
    in_a_thread([here] { EXPECT_EQ(&TypeParam::pool(), here); });
}

TEST(advised_objects, come_from_the_pool_however_they_are_made) {
    ASSERT_EQ(phase::pool().live_blocks(), 0u);
    auto* const made = phase::make<int>(1);
    const auto shared = phase::make_shared<int>(2);
    const auto unique = phase::make_unique<int>(3);
    const std::pmr::vector<int> numbers(4, 4, phase::resource());
    EXPECT_EQ(phase::pool().live_blocks(), 4u);
    phase::destroy(made);
    EXPECT_EQ(phase::pool().live_blocks(), 3u);
}

TEST(process_pool, takes_the_first_chunk_that_it_names) {
    using fresh = advise::process_pool<struct fresh_tag, four_an_octave<>, 20000>;
    fresh::destroy(fresh::make<int>(1));
    EXPECT_GE(fresh::pool().held_bytes(), 20000u);
}

TEST(phase_arena, is_reset_with_the_last_block_and_not_before) {
    filled_block first{static_cast<unsigned char*>(phase::allocate_bytes(100)), 100};
    first.fill();
    for (std::size_t i = 1; i < 10; ++i) {
        const filled_block other{static_cast<unsigned char*>(phase::allocate_bytes(100 + i)), 100 + i};
        other.fill();
        phase::deallocate_bytes(other.bytes, other.held);
    }
    EXPECT_TRUE(first.is_whole(100));
    EXPECT_EQ(phase::pool().live_blocks(), 1u);
    phase::deallocate_bytes(first.bytes, 100);
    void* const next = phase::allocate_bytes(100);
    EXPECT_TRUE(is_checked_mode || next == first.bytes);
    phase::deallocate_bytes(next, 100);
}

TEST(phase_arena, does_not_count_a_request_that_fails) {
    if (!test::malloc_refuses) GTEST_SKIP() << "the sanitizer ends the program";
    EXPECT_EQ(phase::allocate_bytes(std::numeric_limits<std::size_t>::max() / 2 + 1), nullptr);
    if (!test::half_of_the_addresses_may_be_had) {
        EXPECT_THROW(static_cast<void>(phase::vector<char>(std::numeric_limits<std::size_t>::max() / 4)),
                     std::bad_alloc);
    }
    EXPECT_EQ(phase::pool().live_blocks(), 0u);
}

TEST(slab_pool, owns_its_blocks_of_every_size_and_none_of_malloc) {
    std::vector<void*> ours, theirs;
    for (std::size_t bytes = 1; bytes <= slabs::pooled_bytes_max; bytes *= 2) {
        for (int i = 0; i < 100; ++i) {
            ours.push_back(slabs::allocate_bytes(bytes));
            theirs.push_back(std::malloc(bytes));
        }
    }
    EXPECT_TRUE(std::all_of(ours.begin(), ours.end(), [](void* block) { return slabs::owns(block); }));
    EXPECT_TRUE(std::none_of(theirs.begin(), theirs.end(), [](void* block) { return slabs::owns(block); }));
    for (void* block : ours) slabs::free_bytes(block);
    for (void* block : theirs) slabs::free_bytes(block);
    void* const large = slabs::allocate_bytes(slabs::pooled_bytes_max + 1);
    EXPECT_FALSE(slabs::owns(large));
    slabs::deallocate_bytes(large, slabs::pooled_bytes_max + 1);
}

struct alignas(128) wide {
    char bytes[256] = {};
};
TEST(slab_pool, leaves_objects_of_large_alignment_to_malloc) {
    for (int round = 0; round < 3; ++round) {
        std::vector<wide*> objects;
        for (int i = 0; i < 50; ++i) {
            wide* const object = slabs::make<wide>();
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(object) % alignof(wide), 0u);
            EXPECT_FALSE(slabs::owns(object)) << "no slab has blocks of that alignment";
            objects.push_back(object);
        }
        slabs::vector<char> large(100'000);
        for (wide* object : objects) slabs::destroy(object);
    }
}

TEST(slab_pool, resizes_from_null_and_to_zero) {
    void* const grown = slabs::resize_bytes(nullptr, 100);
    EXPECT_TRUE(slabs::owns(grown));
    void* const emptied = slabs::resize_bytes(grown, 0);
    EXPECT_NE(emptied, nullptr);
    slabs::free_bytes(emptied);
    void* const of_malloc = slabs::resize_bytes(std::malloc(100), 0);
    EXPECT_NE(of_malloc, nullptr) << "null would mean that nothing was freed";
    slabs::free_bytes(of_malloc);
}

struct base {
    virtual ~base() = default;
};
struct other_base {
    virtual ~other_base() = default;
    long second = 2;
};
struct derived : base, other_base {
    long more[20] = {};
};
TEST(slab_pool, frees_the_whole_object_that_a_second_base_destroys) {
    if (is_checked_mode) GTEST_SKIP() << "freed blocks stay in a quarantine";
    const auto make_some = [] {
        std::set<other_base*> objects;
        for (int i = 0; i < 100; ++i) objects.insert(slabs::make<derived>());
        return objects;
    };
    const auto first = make_some();
    for (other_base* object : first) slabs::destroy(object);
    const auto again = make_some();
    for (other_base* object : again) {
        EXPECT_TRUE(first.contains(object)) << "at the address of a block, not inside of one";
        slabs::destroy(object);
    }
}

struct alignas(128) large_line {
    char bytes[40000];
};
TEST(slab_pool, aligns_large_objects_and_large_arrays) {
    std::vector<large_line*> lines;
    std::vector<slabs::vector<large_line>> arrays;
    for (int i = 0; i < 8; ++i) {
        lines.push_back(slabs::make<large_line>());
        arrays.emplace_back(1);
        EXPECT_TRUE(is_aligned(lines.back()) && is_aligned(arrays.back().data()));
    }
    for (large_line* line : lines) slabs::destroy(line);
}

TEST(lasting, is_never_destroyed) {
    struct flagging {
        bool* destroyed;
        ~flagging() { *destroyed = true; }
    };
    bool destroyed = false;
    {
        const detail::lasting<flagging> one(&destroyed);
    }
    EXPECT_FALSE(destroyed);
}

TEST(requested_blocks, knows_a_request_until_it_is_taken) {
    detail::requested_blocks blocks;
    const int block = 0, other = 0;
    EXPECT_EQ(blocks.find(&block).alignment, 0u);
    blocks.add(&block, {50, 16});
    blocks.add(&block, {70, 32});
    EXPECT_TRUE(blocks.find(&block).bytes == 70 && blocks.find(&block).alignment == 32);
    EXPECT_EQ(blocks.take(&other).alignment, 0u);
    const detail::block_request taken = blocks.take(&block);
    EXPECT_TRUE(taken.bytes == 70 && taken.alignment == 32);
    EXPECT_EQ(blocks.find(&block).alignment, 0u);
    EXPECT_EQ(blocks.take(&block).alignment, 0u) << "a second free finds no request";
}

}  // namespace
}  // namespace millpond
