// SPDX-License-Identifier: BSL-1.0
// held_bytes_test: the bytes that pools hold for blocks of random sizes, against the live bytes, and the part of a
// limit that they use.
//
//   bound: held ≤ 1.35 × live from 16 MiB live on: a class rounds up by a quarter at most and by a tenth on average;
//          the rest is what freed blocks of other sizes and the last chunks leave. A limit of L serves 0.75 × L.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <millpond/millpond.hpp>
#include <type_traits>
#include <vector>

#include "../unit/support/seed.hpp"

namespace millpond {
namespace {

constexpr std::size_t mebi = std::size_t{1} << 20;
constexpr double most_held = 1.35;
constexpr double least_usable = 0.75;

struct distribution {
    const char* name;
    std::size_t largest;
    bool is_logarithmic;

    std::size_t operator()(std::mt19937_64& numbers) const {
        if (!is_logarithmic) return test::uniform<std::size_t>(numbers, 1, largest);
        std::uniform_real_distribution<double> exponent(0, std::log(static_cast<double>(largest)));
        return static_cast<std::size_t>(std::exp(exponent(numbers)));
    }
};

constexpr distribution distributions[] = {
    {"uniform to 60 000", 60'000, false},        {"uniform to 256 KiB", 256 << 10, false},
    {"uniform to 2 MiB", 2 << 20, false},        {"logarithmic to 60 000", 60'000, true},
    {"logarithmic to 256 KiB", 256 << 10, true}, {"logarithmic to 2 MiB", 2 << 20, true},
};

struct block {
    void* start;
    std::size_t bytes;
};

template <class Pool>
class life {
  public:
    explicit life(Pool& pool) : pool_(pool) {}

    // Returns false if the pool had no memory.
    bool add(std::size_t bytes) {
        void* const start = pool_.try_allocate(bytes, 8);
        if (start == nullptr) return false;
        blocks_.push_back({start, bytes});
        live_bytes_ += bytes;
        return true;
    }
    void remove_any(std::mt19937_64& numbers) {
        const auto at = test::uniform<std::size_t>(numbers, 0, blocks_.size() - 1);
        const block gone = blocks_[at];
        blocks_[at] = blocks_.back();
        blocks_.pop_back();
        live_bytes_ -= gone.bytes;
        pool_.deallocate(gone.start, gone.bytes, 8);
    }
    // Allocates or frees a block, towards the wanted level.
    bool step(const distribution& sizes, std::size_t level_bytes, std::mt19937_64& numbers) {
        if (live_bytes_ < level_bytes) return add(sizes(numbers));
        remove_any(numbers);
        return true;
    }
    [[nodiscard]] double held_to_live() const {
        return static_cast<double>(pool_.held_bytes()) / static_cast<double>(live_bytes_);
    }
    [[nodiscard]] std::size_t live_bytes() const { return live_bytes_; }
    [[nodiscard]] std::size_t count() const { return blocks_.size(); }

  private:
    Pool& pool_;
    std::vector<block> blocks_;
    std::size_t live_bytes_ = 0;
};

// Blocks are not touched: pages would cost more time than pools.
template <class Pool>
class held_bytes_of_pools : public testing::Test {};
using reusing_pools = testing::Types<multipool<>, multipool<new_delete>, multipool<multipool<new_delete>>,
                                     multipool<new_delete, powers_of_two<4096>>, multipool<new_delete, exact_spacing<>>,
                                     synchronized_multipool<>>;
TYPED_TEST_SUITE(held_bytes_of_pools, reusing_pools);

TYPED_TEST(held_bytes_of_pools, stay_near_what_is_live_while_sizes_come_and_go) {
    auto numbers = test::random_numbers();
    for (const distribution& sizes : distributions) {
        TypeParam pool;
        life<TypeParam> work(pool);
        while (work.live_bytes() < 16 * mebi) ASSERT_TRUE(work.add(sizes(numbers)));
        EXPECT_LE(work.held_to_live(), most_held) << sizes.name << ", filled";
        double sum = 0;
        int looked = 0;
        for (int i = 0; i < 20'000; ++i) {
            ASSERT_TRUE(work.step(sizes, 16 * mebi, numbers));
            if (i % 100 != 99) continue;
            sum += work.held_to_live();
            ++looked;
        }
        EXPECT_LE(work.held_to_live(), most_held) << sizes.name << ", in the end";
        EXPECT_LE(sum / looked, most_held - 0.05) << sizes.name << ", on average";
    }
}

// Freed memory serves other sizes: after a vector that outgrew its block, sizes that drift, or a phase of other sizes.
TYPED_TEST(held_bytes_of_pools, freed_blocks_of_one_size_serve_another) {
    TypeParam pool;
    for (const auto& [first, second] :
         {std::pair<std::size_t, std::size_t>{33'000, 50'000}, {200'000, 100'000}, {400'000, 900'000}}) {
        std::vector<block> blocks;
        for (std::size_t live = 0; live < 16 * mebi; live += first) blocks.push_back({pool.allocate(first, 8), first});
        const std::size_t before = pool.held_bytes();
        for (const block& gone : blocks) pool.deallocate(gone.start, gone.bytes, 8);
        blocks.clear();
        for (std::size_t live = 0; live < 16 * mebi; live += second)
            blocks.push_back({pool.allocate(second, 8), second});
        EXPECT_LE(pool.held_bytes(), before + before / 4) << first << ", then " << second;
        for (const block& gone : blocks) pool.deallocate(gone.start, gone.bytes, 8);
        pool.release();
    }
}

template <class Pool>
class held_bytes_filled : public testing::Test {};
using all_pools = testing::Types<multipool<>, multipool<new_delete>, multipool<monotonic<new_delete>>,
                                 synchronized_multipool<>, synchronized_multipool<monotonic<new_delete>>, monotonic<>,
                                 monotonic<new_delete>, monotonic<monotonic<>>, compact_pool<64, new_delete>>;
TYPED_TEST_SUITE(held_bytes_filled, all_pools);

TYPED_TEST(held_bytes_filled, are_near_the_blocks_of_random_sizes) {
    auto numbers = test::random_numbers();
    for (const distribution& sizes : distributions) {
        TypeParam pool;
        life<TypeParam> work(pool);
        while (work.live_bytes() < 16 * mebi) ASSERT_TRUE(work.add(sizes(numbers)));
        EXPECT_LE(work.held_to_live(), most_held) << sizes.name;
        pool.release();
    }
}

// The sizes lie around those at which something changes: classes, rows, the heap, an eighth of a chunk, a chunk.
TYPED_TEST(held_bytes_filled, are_near_500_blocks_of_any_one_size) {
    auto numbers = test::random_numbers();
    std::vector<std::size_t> all{33'000, 200'000};
    for (std::size_t power = 8192; power <= mebi; power *= 2) {
        for (const std::size_t edge : {power, power * 5 / 4, power * 3 / 2, power * 7 / 4})
            for (const std::size_t bytes : {edge - 64, edge - 1, edge, edge + 1, edge + 64}) all.push_back(bytes);
    }
    for (int i = 0; i < 30; ++i) all.push_back(test::uniform<std::size_t>(numbers, 4097, 2 * mebi));
    for (const std::size_t bytes : all) {
        TypeParam pool;
        life<TypeParam> work(pool);
        for (int i = 0; i < 500 || work.live_bytes() < 16 * mebi; ++i) ASSERT_TRUE(work.add(bytes));
        EXPECT_LE(work.held_to_live(), most_held) << bytes;
        pool.release();
    }
}

// A region populates its pages ahead of their use, so there are fewer steps.
TEST(held_bytes_over_a_region, stay_near_what_is_live_while_sizes_come_and_go) {
    auto numbers = test::random_numbers();
    for (const distribution& sizes : {distributions[0], distributions[4]}) {
        multipool<region> pool;
        life work(pool);
        while (work.live_bytes() < 16 * mebi) ASSERT_TRUE(work.add(sizes(numbers)));
        for (int i = 0; i < 3'000; ++i) ASSERT_TRUE(work.step(sizes, 16 * mebi, numbers));
        EXPECT_LE(work.held_to_live(), most_held) << sizes.name;
    }
}

// Medium sizes share one heap: memory freed by one size serves another before more is requested.
TEST(held_bytes_of_medium_blocks, freed_blocks_of_one_size_serve_another) {
    multipool<new_delete> pool;
    std::vector<void*> blocks(3'000);
    for (void*& each : blocks) each = pool.allocate(5'000, 8);
    const std::size_t before = pool.held_bytes();
    for (void* each : blocks) pool.deallocate(each, 5'000, 8);
    for (int i = 0; i < 600; ++i) static_cast<void>(pool.allocate(20'000, 8));
    EXPECT_LE(pool.held_bytes(), before);
}

template <class Pool, class Make>
void expect_limit_usable(const char* what, Make make) {
    constexpr double limit = 64 * mebi;
    auto numbers = test::random_numbers();
    for (const std::size_t bytes : {33'000u, 66'000u, 132'000u, 200'000u, 530'000u}) {
        auto pool = make(64 * mebi);
        life<Pool> work(*pool);
        while (work.add(bytes)) {
        }
        EXPECT_GE(static_cast<double>(work.live_bytes()), least_usable * limit) << what << ", " << bytes;
    }
    for (const distribution& sizes : distributions) {
        auto pool = make(64 * mebi);
        life<Pool> work(*pool);
        while (work.add(sizes(numbers))) {
        }
        EXPECT_GE(static_cast<double>(work.live_bytes()), least_usable * limit) << what << ", " << sizes.name;
    }
}

template <class Pool>
auto with_limit(std::size_t bytes) {
    return std::make_unique<Pool>(byte_limit{bytes});
}
template <class Pool>
auto in_range(std::size_t bytes) {
    return std::make_unique<Pool>(bytes);
}

TEST(limits_of_sources, are_used_by_three_quarters) {
    using limit = limited<new_delete>;
    expect_limit_usable<multipool<limit>>("multipool", with_limit<multipool<limit>>);
    expect_limit_usable<multipool<limited<chunk_cache>>>("over the cache", with_limit<multipool<limited<chunk_cache>>>);
    expect_limit_usable<multipool<region>>("multipool over a region", in_range<multipool<region>>);
    expect_limit_usable<synchronized_multipool<limit>>("synchronized", with_limit<synchronized_multipool<limit>>);
    expect_limit_usable<monotonic<limit>>("monotonic", with_limit<monotonic<limit>>);
    expect_limit_usable<arena>("arena", in_range<arena>);
}

TEST(limits_of_sources, a_fixed_buffer_is_used_by_three_quarters) {
    using ref = source_ref<fixed_buffer>;
    const auto memory = std::make_unique_for_overwrite<char[]>(64 * mebi);
    std::unique_ptr<fixed_buffer> buffer;
    const auto over_buffer = [&]<class Pool>(std::type_identity<Pool>) {
        return [&](std::size_t bytes) {
            buffer.reset();
            buffer = std::make_unique<fixed_buffer>(memory.get(), bytes);
            return std::make_unique<Pool>(*buffer);
        };
    };
    expect_limit_usable<multipool<ref>>("multipool", over_buffer(std::type_identity<multipool<ref>>()));
    using shared = synchronized_multipool<ref>;
    expect_limit_usable<shared>("synchronized", over_buffer(std::type_identity<shared>()));
    expect_limit_usable<monotonic<ref>>("monotonic", over_buffer(std::type_identity<monotonic<ref>>()));
}

// Expects a pool at its limit to go on permanently while blocks are allocated and freed below the limit.
template <class Pool, class Make>
void expect_steady_at(const char* what, double part, Make make) {
    auto numbers = test::random_numbers();
    for (const distribution& sizes : distributions) {
        auto pool = make(64 * mebi);
        life<Pool> work(*pool);
        for (int i = 0; i < 20'000; ++i)
            ASSERT_TRUE(work.step(sizes, static_cast<std::size_t>(part * 64 * mebi), numbers)) << what << sizes.name;
    }
}

TEST(limits_of_sources, hold_while_sizes_come_and_go) {
    using limit = limited<new_delete>;
    expect_steady_at<multipool<limit>>("multipool, ", 0.7, with_limit<multipool<limit>>);
    expect_steady_at<synchronized_multipool<limit>>("synchronized, ", 0.7, with_limit<synchronized_multipool<limit>>);
}

}  // namespace
}  // namespace millpond
