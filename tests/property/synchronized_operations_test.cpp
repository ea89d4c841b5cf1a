// SPDX-License-Identifier: BSL-1.0
// synchronized_operations_test: threads that start and end at random allocate, pass on and free blocks of one pool. No
// two threads ever own the same bytes, and after release the source has everything back.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <millpond/local.hpp>
#include <thread>
#include <vector>

#include "../unit/support/accounting_source.hpp"
#include "../unit/support/seed.hpp"

namespace millpond {
namespace {

using test::uniform;

// A stamp at the start of a block that fills the block as far as it fits.
struct stamp {
    std::uint64_t number;
    std::uint32_t bytes;
    std::uint32_t alignment;
};

std::size_t random_bytes(std::mt19937_64& numbers) {
    switch (uniform(numbers, 0, 19)) {
        case 0:
            return uniform<std::size_t>(numbers, sizeof(stamp), 70000);
        case 1:
            return uniform<std::size_t>(numbers, sizeof(stamp), 3000);
        default:
            return uniform<std::size_t>(numbers, sizeof(stamp), 200);
    }
}

template <class Pool>
class neighbourhood {
  public:
    explicit neighbourhood(Pool& pool) : pool_(pool) {}

    // One thread's life: blocks of its own, and blocks that lie in the open for whoever takes them.
    void live(std::uint64_t salt, int steps) {
        auto numbers = test::random_numbers(salt);
        std::vector<stamp*> mine;
        for (int step = 0; step < steps; ++step) {
            const int choice = uniform(numbers, 0, 9);
            if (choice < 4 && mine.size() < 400) {
                mine.push_back(make(numbers));
            } else if (choice < 8) {
                if (mine.empty()) continue;
                std::swap(mine[uniform<std::size_t>(numbers, 0, mine.size() - 1)], mine.back());
                auto& place = places_[uniform<std::size_t>(numbers, 0, places_.size() - 1)];
                if (stamp* const found = choice < 6 ? place.exchange(mine.back()) : mine.back()) remove(found);
                mine.pop_back();
            } else if (stamp* const found =
                           places_[uniform<std::size_t>(numbers, 0, places_.size() - 1)].exchange(nullptr)) {
                mine.push_back(found);
            }
        }
        for (stamp* block : mine) remove(block);
    }

    void clear() {
        for (auto& place : places_) {
            if (stamp* const found = place.exchange(nullptr)) remove(found);
        }
    }

    [[nodiscard]] int clashes() const { return clashes_; }

  private:
    [[nodiscard]] stamp* make(std::mt19937_64& numbers) {
        const std::size_t bytes = random_bytes(numbers);
        const std::size_t alignment = std::size_t{8} << (uniform(numbers, 0, 9) == 0 ? uniform(numbers, 0, 6) : 0);
        void* const memory = pool_.allocate(bytes, alignment);
        if (!detail::is_aligned(memory, alignment)) ++clashes_;
        const std::uint64_t number = numbers();
        std::memset(memory, static_cast<int>(number % 256), bytes);
        return ::new (memory) stamp{number, static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(alignment)};
    }

    void remove(stamp* block) {
        const stamp was = *block;
        const auto* const contents = reinterpret_cast<const unsigned char*>(block);
        for (std::size_t i = sizeof(stamp); i < was.bytes; ++i) {
            if (contents[i] != was.number % 256) {
                ++clashes_;
                return;
            }
        }
        pool_.deallocate(block, was.bytes, was.alignment);
    }

    Pool& pool_;
    std::array<std::atomic<stamp*>, 64> places_{};
    std::atomic<int> clashes_{0};
};

template <class Classes>
void live_together() {
    test::accounting_source source;
    synchronized_multipool<test::accounting_ref, Classes> pool(source);
    for (unsigned round = 0; round < 3; ++round) {
        neighbourhood neighbours(pool);
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < 4; ++i) {
            threads.emplace_back([&neighbours, i, round] {
                for (unsigned child = 0; child < 5; ++child) {
                    const std::uint64_t salt = 1000 * i + 20 * child + round;
                    std::thread([&neighbours, salt] { neighbours.live(salt, 600); }).join();
                    neighbours.live(salt + 10, 600);
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        neighbours.clear();
        EXPECT_EQ(neighbours.clashes(), 0);
        EXPECT_EQ(pool.held_bytes(), source.live_bytes());
        if (round == 0) pool.reset();
    }
    pool.release();
    EXPECT_EQ(source.live_blocks(), 0u);
}

TEST(synchronized_operations_threads, no_block_has_two_owners_and_all_memory_returns) {
    live_together<four_an_octave<>>();
}
TEST(synchronized_operations_threads, no_block_has_two_owners_with_few_classes) {
    live_together<powers_of_two<4096>>();
}
TEST(synchronized_operations_threads, no_block_has_two_owners_with_many_classes) { live_together<exact_spacing<>>(); }
TEST(synchronized_operations_threads, no_block_has_two_owners_with_given_classes) {
    live_together<class_map<8, 40, 88, 504, 4096>>();
}

}  // namespace
}  // namespace millpond
