// SPDX-License-Identifier: BSL-1.0
// long_slabs_test: multipool over a source of slabs of one size that can lie side by side.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <millpond/local/multipool.hpp>
#include <vector>

#include "support/aligned_memory.hpp"

namespace millpond {
namespace {

constexpr std::size_t slab_bytes = std::size_t{64} << 10;

// A source that records the slabs it gave for each block size; `most`: the longest chunk that it has.
struct slabs {
    static constexpr std::size_t preferred_chunk_bytes = slab_bytes;
    static constexpr bool has_long_slabs = true;

    [[nodiscard]] void* try_allocate_slab(std::size_t bytes, std::size_t, std::size_t block_bytes) noexcept {
        if (bytes > most) return nullptr;
        given[block_bytes].push_back(bytes);
        return test::aligned_memory(detail::align_up(bytes, slab_bytes), slab_bytes);
    }
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t) noexcept { return try_allocate_slab(bytes, 0, 0); }
    void deallocate(void* chunk, std::size_t, std::size_t) noexcept { test::free_aligned(chunk); }

    std::size_t most = static_cast<std::size_t>(-1);
    std::map<std::size_t, std::vector<std::size_t>> given;
};
using pool_type = multipool<slabs, four_an_octave<32768>>;

void use(pool_type& pool, std::size_t bytes, int count) {
    for (int i = 0; i < count; ++i) {
        void* const block = pool.allocate(bytes, 8);
        ASSERT_NE(block, nullptr);
        std::memset(block, 1, bytes);
    }
}

std::size_t longest(pool_type& pool, std::size_t bytes) {
    const std::vector<std::size_t>& given = pool.source().given[pool_type::block_bytes(bytes, 8)];
    return given.empty() ? 0 : *std::max_element(given.begin(), given.end());
}

TEST(long_slabs, a_class_of_small_blocks_has_slabs_of_one_size) {
    pool_type pool;
    use(pool, 24, 50000);
    EXPECT_EQ(longest(pool, 24), slab_bytes);
}

TEST(long_slabs, a_busy_class_of_large_blocks_gets_longer_slabs) {
    pool_type pool;
    use(pool, 20000, 3);
    EXPECT_LE(longest(pool, 20000), 2 * slab_bytes);
    use(pool, 20000, 500);
    const std::size_t bytes = longest(pool, 20000);
    EXPECT_GE(bytes, 8 * slab_bytes);
    EXPECT_LE(bytes, 32 * 20480 * 2) << "up to 32 blocks, in slabs that double";
    EXPECT_EQ(bytes % slab_bytes, 0u);
}

TEST(long_slabs, shorter_slabs_serve_if_no_long_one_is_available) {
    pool_type pool;
    pool.source().most = slab_bytes;
    use(pool, 20000, 500);
    EXPECT_EQ(longest(pool, 20000), slab_bytes);
    pool.source().most = 0;
    EXPECT_EQ(pool.try_allocate(8000, 8), nullptr);
}

}  // namespace
}  // namespace millpond
