// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/address_cache.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>

namespace millpond::trial {
namespace {

TEST(address_cache, answers_only_with_the_number_last_kept_for_an_address) {
    std::mt19937_64 numbers(1);
    address_cache<8> cache;
    std::map<std::uintptr_t, std::uint64_t> truth;
    std::size_t answered = 0;
    for (int i = 0; i < 100000; ++i) {
        // 8000 sites for 2048 places, some of them one byte apart.
        const std::uintptr_t address = 0x7f0000001000u + numbers() % 8000 + (numbers() % 2 << 46);
        if (const std::uint64_t found = cache.match(address); found < cache.no_match) {
            ASSERT_TRUE(truth.count(address));
            ASSERT_EQ(found, truth[address]);
            ++answered;
        }
        if (numbers() % 3 == 0) {
            const std::uint64_t number = numbers() % 256;
            cache.keep(address, number);
            truth[address] = number;
            if (address >> 47 == 0) {
                ASSERT_EQ(cache.match(address), number);
            }
        }
    }
    EXPECT_GT(answered, 1000u);
}

TEST(address_cache, knows_nothing_when_new_or_cleared) {
    address_cache<8> cache;
    for (const std::uintptr_t address : {std::uintptr_t{200}, std::uintptr_t{0x401000}}) {
        EXPECT_GE(cache.match(address), cache.no_match);
        cache.keep(address, 0);
        EXPECT_EQ(cache.match(address), 0u);
    }
    cache.clear();
    EXPECT_GE(cache.match(0x401000), cache.no_match);
}

TEST(address_cache, keeps_no_address_beyond_user_space_and_no_number_too_large) {
    address_cache<8> cache;
    const std::uintptr_t beyond = (std::uintptr_t{1} << 56) + 0x401000;
    cache.keep(beyond, 7);
    cache.keep(0x402000, 256);
    for (const std::uintptr_t address : {beyond, std::uintptr_t{0x401000}, std::uintptr_t{0x402000}})
        EXPECT_GE(cache.match(address), cache.no_match);
}

TEST(address_cache, keeps_numbers_of_many_bits) {
    address_cache<17> cache;
    const std::uintptr_t address = 0x7fffffffffff;
    cache.keep(address, cache.no_match - 1);
    EXPECT_EQ(cache.match(address), cache.no_match - 1);
    EXPECT_GE(cache.match(address - 1), cache.no_match);
}

}  // namespace
}  // namespace millpond::trial
