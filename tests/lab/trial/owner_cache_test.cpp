// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/owner_cache.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>

namespace millpond::trial {
namespace {

TEST(owner_cache, answers_only_with_the_pool_last_kept_for_an_address) {
    std::mt19937_64 numbers(1);
    owner_cache cache;
    std::map<std::uintptr_t, std::uint8_t> truth;
    std::size_t answered = 0;
    for (int i = 0; i < 100000; ++i) {
        // 4000 sites for 1024 places, some of them one byte apart.
        const std::uintptr_t address = 0x7f0000001000u + numbers() % 4000 + (numbers() % 2 << 46);
        if (const std::uint32_t found = cache.find(address); found != owner_cache::unknown) {
            ASSERT_TRUE(truth.count(address));
            ASSERT_EQ(found, truth[address]);
            ++answered;
        }
        if (numbers() % 3 == 0) {
            const auto pool = static_cast<std::uint8_t>(numbers());
            cache.keep(address, pool);
            truth[address] = pool;
            if (address >> 47 == 0) {
                ASSERT_EQ(cache.find(address), pool);
            }
        }
    }
    EXPECT_GT(answered, 1000u);
}

TEST(owner_cache, knows_nothing_when_new_or_cleared) {
    owner_cache cache;
    for (const std::uintptr_t address : {std::uintptr_t{0}, std::uintptr_t{200}, std::uintptr_t{0x401000}}) {
        EXPECT_EQ(cache.find(address), owner_cache::unknown);
        cache.keep(address, 0);
    }
    EXPECT_EQ(cache.find(0), owner_cache::unknown);
    EXPECT_EQ(cache.find(0x401000), 0u);
    cache.clear();
    EXPECT_EQ(cache.find(0x401000), owner_cache::unknown);
}

TEST(owner_cache, keeps_no_address_beyond_user_space) {
    owner_cache cache;
    const std::uintptr_t beyond = (std::uintptr_t{1} << 56) + 0x401000;
    cache.keep(beyond, 7);
    EXPECT_EQ(cache.find(beyond), owner_cache::unknown);
    EXPECT_EQ(cache.find(0x401000), owner_cache::unknown);
}

}  // namespace
}  // namespace millpond::trial
