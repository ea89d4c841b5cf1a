// SPDX-License-Identifier: BSL-1.0
// slab_map against a model: random runs are taken, assigned and given back, and every address has the model's owner.
#include "preload/slab_map.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using millpond::preload::slab_map;
using millpond::preload::slab_owner;

std::uint64_t seed = 0;

constexpr std::size_t range = std::size_t{1} << 30;

class slab_map_test : public testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(map.place(range)); }
    void TearDown() override { map.unmap(); }

    char* take(std::uint32_t slabs, bool huge = false) { return static_cast<char*>(map.take(slabs, huge)); }

    slab_map map;
};

bool is_zero(const char* first, std::size_t bytes) {
    return std::all_of(first, first + bytes, [](char c) { return c == 0; });
}

TEST_F(slab_map_test, an_address_outside_has_no_owner) {
    int on_stack = 0;
    EXPECT_EQ(map.owner_of(&on_stack).block_bytes, 0u);
    EXPECT_EQ(map.owner_of(nullptr).block_bytes, 0u);
    EXPECT_EQ(map.owner_of(reinterpret_cast<void*>(~std::uintptr_t{0})).block_bytes, 0u);
    char* const run = take(1);
    EXPECT_EQ(map.owner_of(run).block_bytes, 0u) << "taken but not assigned";
    EXPECT_FALSE(map.contains(run - 1));
}

TEST_F(slab_map_test, exactly_the_bytes_of_an_assigned_run_have_its_owner) {
    char* const before = take(4);
    char* const run = take(4);
    char* const behind = take(4);
    map.assign(run, 4, {48, 7});
    for (const std::size_t at : {std::size_t{0}, std::size_t{1}, slab_map::slab_bytes, 4 * slab_map::slab_bytes - 1}) {
        EXPECT_EQ(map.owner_of(run + at).block_bytes, 48u);
        EXPECT_EQ(map.owner_of(run + at).pool, 7u);
    }
    EXPECT_EQ(map.owner_of(before + 4 * slab_map::slab_bytes - 1).block_bytes, 0u);
    EXPECT_EQ(map.owner_of(behind).block_bytes, 0u);
}

TEST_F(slab_map_test, the_largest_owner_is_kept_whole) {
    char* const run = take(1);
    map.assign(run, 1, {0xffff'ffffu, 0xffff});
    EXPECT_EQ(map.owner_of(run).block_bytes, 0xffff'ffffu);
    EXPECT_EQ(map.owner_of(run).pool, 0xffffu);
}

TEST_F(slab_map_test, runs_are_aligned_to_their_size) {
    for (std::uint32_t slabs = 1; slabs <= slab_map::extent_slabs_max; slabs *= 2) {
        take(1);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(take(slabs)) % (slabs * slab_map::slab_bytes), 0u) << slabs;
    }
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(take(1, true)) % slab_map::extent_bytes_max, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(take(40)) % slab_map::extent_bytes_max, 0u);
}

TEST_F(slab_map_test, neighbours_that_were_given_back_become_one_extent_again) {
    std::vector<char*> slabs(slab_map::extent_slabs_max);
    for (char*& slab : slabs) slab = take(1);
    char* const lowest = *std::min_element(slabs.begin(), slabs.end());
    std::shuffle(slabs.begin(), slabs.end(), std::mt19937_64(seed));
    for (char* slab : slabs) map.give_back(slab, 1);
    EXPECT_EQ(take(slab_map::extent_slabs_max), lowest);
    EXPECT_EQ(map.accessible_bytes(), slab_map::extent_bytes_max);
}

TEST_F(slab_map_test, returned_slabs_are_zero_again) {
    for (const bool huge : {false, true}) {
        char* const run = take(slab_map::extent_slabs_max, huge);
        std::memset(run, 0xa5, slab_map::extent_bytes_max);
        map.give_back(run, slab_map::extent_slabs_max);
        char* const again = take(slab_map::extent_slabs_max, huge);
        EXPECT_EQ(again, run);
        EXPECT_TRUE(is_zero(again, slab_map::extent_bytes_max));
    }
}

TEST_F(slab_map_test, unmapped_slabs_come_back_zeroed_and_whole) {
    char* const first = take(4);
    char* const second = take(4);
    memset(first, 1, 4 * slab_map::slab_bytes);
    map.give_back(first, 4);
    const std::size_t unmapped = map.unmap_free();
    EXPECT_GE(unmapped, 4 * slab_map::slab_bytes);
    EXPECT_EQ(map.mapped_bytes(), map.accessible_bytes() - unmapped);
    EXPECT_EQ(map.unmap_free(), 0U);
    char* const part = take(1);
    char* const rest = take(2);
    EXPECT_EQ(part[0], 0);
    EXPECT_EQ(rest[2 * slab_map::slab_bytes - 1], 0);
    map.give_back(part, 1);
    map.give_back(rest, 2);
    map.give_back(second, 4);
    EXPECT_NE(take(slab_map::extent_slabs_max), nullptr);
}

TEST_F(slab_map_test, extents_for_huge_pages_and_others_are_never_exchanged) {
    char* const huge = take(1, true);
    map.give_back(huge, slab_map::extent_slabs_max);
    EXPECT_NE(take(slab_map::extent_slabs_max), huge);
    EXPECT_EQ(take(1, true), huge);
}

TEST(slab_map_limits, a_used_up_range_is_null_and_stays_usable) {
    slab_map map;
    ASSERT_TRUE(map.place(2 * slab_map::extent_bytes_max));
    void* const first = map.take(slab_map::extent_slabs_max);
    void* const second = map.take(slab_map::extent_slabs_max);
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(map.take(1), nullptr);
    EXPECT_EQ(map.take(1, true), nullptr);
    EXPECT_EQ(map.take(1000), nullptr);
    EXPECT_EQ(map.take(0xffff'ffffu), nullptr);
    map.give_back(second, slab_map::extent_slabs_max);
    EXPECT_NE(map.take(1), nullptr);
    map.unmap();
}

TEST(slab_map_limits, without_a_place_nothing_is_taken_and_nothing_has_an_owner) {
    slab_map map;
    EXPECT_EQ(map.take(1), nullptr);
    EXPECT_EQ(map.owner_of(&map).block_bytes, 0u);
    EXPECT_FALSE(map.place(slab_map::extent_bytes_max / 2)) << "less than one extent";
}

// Returns the bytes of addresses that this process holds.
std::size_t held_addresses() {
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    const bool read = file != nullptr && std::fscanf(file, "%lu", &pages) == 1;
    if (file != nullptr) std::fclose(file);
    EXPECT_TRUE(read);
    return pages * 4096;
}

TEST(slab_map_limits, addresses_are_held_for_what_was_taken_only) {
    slab_map map;
    const std::size_t before = held_addresses();
    ASSERT_TRUE(map.place(std::size_t{1} << 40));
    EXPECT_EQ(map.range_bytes(), std::size_t{1} << 40);
    EXPECT_LT(held_addresses(), before + slab_map::slab_bytes);
    for (int i = 0; i < 64; ++i) ASSERT_NE(map.take(1), nullptr);
    EXPECT_LT(held_addresses(), before + 68 * slab_map::slab_bytes) << "64 slabs and two tables";
    map.unmap();
}

TEST(slab_map_limits, a_mapping_in_the_way_is_never_replaced) {
    slab_map map;
    ASSERT_TRUE(map.place(std::size_t{1} << 30));
    char* const first = static_cast<char*>(map.take(1));
    ASSERT_NE(first, nullptr);
    char* const foreign = first + 3 * slab_map::slab_bytes;
    ASSERT_EQ(mmap(foreign, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
              static_cast<void*>(foreign));
    *foreign = 77;
    int taken = 0;
    while (map.take(1) != nullptr) ++taken;
    EXPECT_EQ(taken, 2) << "what lies before it";
    EXPECT_EQ(*foreign, 77);
    EXPECT_FALSE(map.contains(foreign));
    munmap(foreign, 4096);
    EXPECT_NE(map.take(1), nullptr) << "the way is free again";
    map.unmap();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(slab_map_limits, under_an_address_limit_only_the_tables_are_lost_to_slabs) {
    for (const bool before : {false, true}) {
        const pid_t child = fork();
        if (child == 0) {
            const std::size_t room = std::size_t{100} << 20;
            const rlimit limit{held_addresses() + room, RLIM_INFINITY};
            slab_map map;
            if (before && setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
            if (!map.place(std::size_t{1} << 40)) _exit(3);
            if (!before && setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
            std::size_t taken = 0;
            while (map.take(1) != nullptr) taken += slab_map::slab_bytes;
            _exit(taken <= room && taken > room - room / 50 ? 0 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0) << (before ? "limited before the map was placed" : "limited afterwards");
    }
}
#endif

// A run in the model of the map; runs are found by their first byte.
struct model_run {
    std::uint32_t slabs;
    slab_owner owner;
    bool huge;
};

TEST_F(slab_map_test, random_takes_and_returns_agree_with_a_model) {
    std::mt19937_64 random(seed);
    std::map<char*, model_run> model;
    const auto overlaps = [&](char* first, std::uint32_t slabs) {
        auto next = model.lower_bound(first);
        if (next != model.end() && next->first < first + slabs * slab_map::slab_bytes) return true;
        return next != model.begin() && (--next)->first + next->second.slabs * slab_map::slab_bytes > first;
    };
    for (int step = 0; step < 20000; ++step) {
        if (model.empty() || random() % 5 < 3) {
            const auto wanted = static_cast<std::uint32_t>(1 + (random() % 8 == 0 ? random() % 80 : random() % 33));
            const bool huge = random() % 16 == 0;
            char* const run = take(wanted, huge);
            if (run == nullptr) continue;
            const std::uint32_t slabs = slab_map::rounded(wanted, huge);
            ASSERT_FALSE(overlaps(run, slabs)) << "step " << step;
            const slab_owner owner{static_cast<std::uint32_t>(8 + random() % 32768),
                                   static_cast<std::uint16_t>(random())};
            map.assign(run, slabs, owner);
            ASSERT_EQ(*run, 0);
            *run = 1;
            model[run] = {slabs, owner, huge};
        } else {
            auto gone = model.begin();
            std::advance(gone, static_cast<std::ptrdiff_t>(random() % std::min<std::size_t>(model.size(), 40)));
            map.give_back(gone->first, gone->second.slabs);
            EXPECT_EQ(map.owner_of(gone->first).block_bytes, 0u);
            model.erase(gone);
        }
        if (step % 100 != 0) continue;
        for (const auto& [first, run] : model) {
            for (char* at : {first, first + run.slabs * slab_map::slab_bytes - 1}) {
                ASSERT_EQ(map.owner_of(at).block_bytes, run.owner.block_bytes) << "step " << step;
                ASSERT_EQ(map.owner_of(at).pool, run.owner.pool) << "step " << step;
            }
        }
    }
}

TEST_F(slab_map_test, owners_are_read_while_others_are_changed) {
    char* const mine = take(1);
    map.assign(mine, 1, {64, 3});
    bool stop = false;
    std::uint64_t wrong = 0;
    std::thread reader([&] {
        while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) wrong += map.owner_of(mine).block_bytes != 64;
    });
    for (int i = 0; i < 2000; ++i) {
        void* const other = map.take(1);
        map.assign(other, 1, {128, 4});
        if (i % 2 == 0) map.give_back(other, 1);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    reader.join();
    EXPECT_EQ(wrong, 0u);
}

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    seed = std::random_device{}();
    for (int i = 1; i < argc; ++i) {
        std::string_view argument(argv[i]);
        if (argument == "--seed" && i + 1 < argc) argument = argv[++i];
        if (argument.starts_with("--seed=")) argument.remove_prefix(7);
        seed = std::strtoull(argument.data(), nullptr, 10);
    }
    std::printf("seed: --seed=%llu\n", static_cast<unsigned long long>(seed));
    return RUN_ALL_TESTS();
}
