// SPDX-License-Identifier: BSL-1.0
// instance_blocks against a model: blocks do not overlap, owners do not share a KiB, and empty owners return memory.
#include "lab/trial/instance_blocks.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace millpond::trial {
namespace {

struct block {
    std::size_t bytes;
    std::uintptr_t owner;
    unsigned char filled;
};

class instances : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(space.map.place(std::size_t{1} << 32));
        pool.emplace(preload::pool_slabs(space, 7, false));
    }
    void TearDown() override {
        pool.reset();
        space.map.unmap();
    }
    void allocate(std::size_t bytes, std::uintptr_t owner, unsigned char fill) {
        void* const p = pool->try_allocate(bytes, bytes <= 8 ? 8 : 16, owner);
        if (p == nullptr) {
            ASSERT_GT(pool->capped_bytes(), 0u) << "only the bound refuses here";
            return;
        }
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(p) % 16, 0u);
        ASSERT_GE(instance_blocks::usable_bytes(p), bytes);
        ASSERT_LE(instance_blocks::usable_bytes(p), bytes + 15);
        const auto next = live.lower_bound(static_cast<char*>(p));
        if (next != live.end()) {
            ASSERT_LE(static_cast<char*>(p) + bytes, next->first);
        }
        if (next != live.begin()) {
            ASSERT_LE(std::prev(next)->first + std::prev(next)->second.bytes, static_cast<char*>(p));
        }
        std::memset(p, fill, bytes);
        live[static_cast<char*>(p)] = {bytes, owner, fill};
    }
    void free(std::map<char*, block>::iterator which) {
        for (std::size_t i = 0; i < which->second.bytes; ++i)
            ASSERT_EQ(static_cast<unsigned char>(which->first[i]), which->second.filled);
        pool->deallocate_block(which->first, instance_blocks::block_bytes_mark);
        live.erase(which);
    }
    // Objects of two owners never lie in the same KiB.
    void expect_apart() const {
        std::map<std::uintptr_t, std::uintptr_t> owner_of_unit;
        for (const auto& [at, its] : live) {
            const auto first = reinterpret_cast<std::uintptr_t>(at);
            for (std::uintptr_t unit = first / 1024; unit <= (first + its.bytes - 1) / 1024; ++unit)
                ASSERT_EQ(owner_of_unit.try_emplace(unit, its.owner).first->second, its.owner);
        }
    }

    preload::slab_space space;
    std::optional<instance_blocks> pool;
    std::map<char*, block> live;
};

TEST_F(instances, behave_as_a_model_of_them) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (int step = 0; step < 60000; ++step) {
        const bool grows = step / 10000 % 2 == 0;
        if (live.empty() || random() % 100 < (grows ? 60 : 40)) {
            const std::size_t bytes = random() % 10 == 0 ? 1 + random() % 1024 : 1 + random() % 100;
            allocate(bytes, random() % 50 * 64, static_cast<unsigned char>(random()));
        } else {
            auto which = live.lower_bound(std::next(live.begin(), 0)->first + random() % (1 << 20));
            free(which == live.end() ? live.begin() : which);
        }
        if (HasFatalFailure()) return;
        if (step % 5000 == 0) expect_apart();
    }
    while (!live.empty()) free(live.begin());
    EXPECT_EQ(pool->live_bytes(), 0u);
}

TEST_F(instances, empty_instances_give_their_memory_to_others) {
    for (int turn = 0; turn < 50; ++turn) {
        for (int i = 0; i < 4000; ++i) allocate(64, static_cast<std::uintptr_t>(turn) * 8, 1);
        while (!live.empty()) free(live.begin());
    }
    EXPECT_LT(pool->source().used_bytes(), std::size_t{1} << 20) << "one turn needs 256 KiB, fifty 12 MiB";
    EXPECT_EQ(pool->capped_bytes(), 0u);
}

TEST_F(instances, are_bounded_in_number_and_empty_ones_make_room) {
    for (std::uintptr_t owner = 1; owner <= instance_blocks::instances_max; ++owner) allocate(900, owner * 16, 1);
    EXPECT_EQ(pool->try_allocate(900, 16, 8), nullptr);
    free(live.begin());
    allocate(900, 8, 2);
}

TEST_F(instances, stop_where_far_more_is_held_than_alive) {
    for (std::uintptr_t owner = 1; owner <= instance_blocks::instances_max; ++owner)
        if (pool->try_allocate(16, 16, owner * 16) == nullptr) break;
    EXPECT_GE(pool->capped_bytes(), std::size_t{1} << 20);
    EXPECT_LT(pool->capped_live_bytes() * 4, pool->capped_bytes());
}

TEST_F(instances, refuse_large_blocks) {
    EXPECT_EQ(pool->try_allocate(1025, 16, 16), nullptr);
    EXPECT_EQ(pool->try_allocate(64, 32, 16), nullptr);
    EXPECT_EQ(pool->try_allocate(0, 16, 16), nullptr);
}

}  // namespace
}  // namespace millpond::trial
