// SPDX-License-Identifier: BSL-1.0
// exhaustive_test: every size up to a MiB with every alignment up to 8192, and every short life of a small allocator.
#include <gtest/gtest.h>

#include <array>
#include <millpond/millpond.hpp>
#include <vector>

#include "../unit/support/accounting_source.hpp"
#include "../unit/support/block_model.hpp"
#include "../unit/support/scale.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_source;

template <class Pool>
class every_request : public testing::Test {};

using everyday_pools =
    testing::Types<monotonic<>, multipool<>, multipool<chunk_cache, powers_of_two<>>,
                   multipool<chunk_cache, exact_spacing<>>, multipool<monotonic<>>, synchronized_multipool<>>;
TYPED_TEST_SUITE(every_request, everyday_pools);

// The step between the tested sizes. Instrumented builds are many times slower, so they test a part of the sizes, a
// different one for each alignment.
const std::size_t stride = detail::address_sanitizer ? 61 : test::scaled<std::size_t>(1, 29);

TYPED_TEST(every_request, is_served_aligned_and_writable_at_both_ends) {
    constexpr std::size_t largest = std::size_t{1} << 20;
    TypeParam pool;
    std::size_t start = 0;
    for (std::size_t alignment = 1; alignment <= 8192; alignment *= 2) {
        std::size_t since_reset = 0;
        for (std::size_t bytes = start++ % stride; bytes <= largest; bytes += stride) {
            auto* const block = static_cast<char*>(pool.try_allocate(bytes, alignment));
            ASSERT_NE(block, nullptr) << bytes << " aligned to " << alignment;
            ASSERT_TRUE(detail::is_aligned(block, alignment)) << bytes << " aligned to " << alignment;
            block[0] = block[bytes == 0 ? 0 : bytes - 1] = 1;
            pool.deallocate(block, bytes, alignment);
            since_reset += bytes + alignment;
            if (since_reset > 4 * largest) {
                pool.reset();
                since_reset = 0;
            }
        }
    }
}

// Operations on an allocator with a few blocks. Not every one is possible at every time.
enum class act { small, node, odd, aligned, large, free_oldest, free_newest, reset, release, last = release };
constexpr auto acts = static_cast<std::size_t>(act::last) + 1;
constexpr int longest_life = detail::address_sanitizer ? 4 : 5;

template <class Pool>
class short_lives : public testing::Test {
  protected:
    // Plays one life. Returns false at the first error.
    static bool live(const std::array<act, longest_life>& life) {
        accounting_source source;
        Pool pool(source);
        test::block_model model;
        std::vector<test::block_model::block> blocks;
        const auto take = [&](std::size_t bytes, std::size_t alignment) {
            void* const block = pool.try_allocate(bytes, alignment);
            model.add(block, bytes, alignment);
            blocks.push_back({block, bytes, alignment});
        };
        const auto give = [&](std::size_t i) {
            if (i >= blocks.size()) return;
            model.remove(blocks[i].start);
            pool.deallocate(blocks[i].start, blocks[i].bytes, blocks[i].alignment);
            blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i));
        };
        for (const act what : life) {
            switch (what) {
                case act::small:
                    take(0, 1);
                    break;
                case act::node:
                    take(24, 8);
                    break;
                case act::odd:
                    take(1001, 1);
                    break;
                case act::aligned:
                    take(24, 128);
                    break;
                case act::large:
                    take(40000, 16);
                    break;
                case act::free_oldest:
                    give(0);
                    break;
                case act::free_newest:
                    give(blocks.size() - 1);
                    break;
                case act::reset:
                    pool.reset();
                    model.clear();
                    blocks.clear();
                    break;
                case act::release:
                    pool.release();
                    model.clear();
                    blocks.clear();
                    EXPECT_EQ(source.live_blocks(), 0u);
                    break;
            }
            EXPECT_EQ(pool.held_bytes(), source.live_bytes());
            if (testing::Test::HasFailure()) return false;
        }
        model.check_all();
        return !testing::Test::HasFailure();
    }
};

using accounted_pools = testing::Types<monotonic<accounting_ref>, multipool<accounting_ref>>;
TYPED_TEST_SUITE(short_lives, accounted_pools);

TYPED_TEST(short_lives, keep_every_promise_in_any_order) {
    std::size_t lives = 1;
    for (int i = 0; i < longest_life; ++i) lives *= acts;
    const std::size_t every = test::scaled<std::size_t>(1, 31);
    for (std::size_t number = test::seed() % every; number < lives; number += every) {
        std::array<act, longest_life> life{};
        for (std::size_t rest = number; act & what : life) {
            what = static_cast<act>(rest % acts);
            rest /= acts;
        }
        ASSERT_TRUE(this->live(life)) << "life number " << number;
    }
}

}  // namespace
}  // namespace millpond
