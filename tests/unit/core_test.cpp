// SPDX-License-Identifier: BSL-1.0
// core_test: the foundations of the other headers, one by one: locks that are tried, classes of large requests, chunk
// sizes and stacks, and the tables by which a pool finds its classes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <millpond/block.hpp>
#include <millpond/core.hpp>
#include <millpond/local.hpp>
#include <thread>
#include <vector>

#include "support/highest_bit.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

static_assert(detail::default_alignment == 16 && max_class_alignment == 64);
static_assert(detail::max_bytes == static_cast<std::size_t>(-1) / 2, "what a pointer difference can say");

TEST(brief_lock, is_held_by_one_at_a_time_and_free_again_afterwards) {
    detail::brief_lock lock;
    for (int round = 0; round < 3; ++round) {
        ASSERT_TRUE(lock.try_lock());
        ASSERT_FALSE(lock.try_lock());
        ASSERT_FALSE(lock.try_lock()) << "a failed attempt does not open it";
        lock.unlock();
    }
    int sum = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            for (int n = 0; n < 20000; ++n) {
                while (!lock.try_lock()) std::this_thread::yield();
                ++sum;
                lock.unlock();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(sum, 60000);
}

template <class Classes>
class large_classes : public testing::Test {};
using schemes = testing::Types<four_an_octave<>, four_an_octave<(1 << 25), 1024>, powers_of_two<>,
                               exact_spacing<64, 1 << 16>, class_map<64, 4096, 5000, 8192, 100000>>;
TYPED_TEST_SUITE(large_classes, schemes);

TYPED_TEST(large_classes, every_request_gets_the_smallest_aligned_block_that_fits) {
    auto numbers = test::random_numbers();
    for (int i = 0; i < 50000; ++i) {
        const std::size_t alignment = std::size_t{1} << test::uniform(numbers, 0, 6);
        auto bytes = test::uniform<std::size_t>(numbers, 1, TypeParam::largest);
        if (i % 2 == 0) {  // at the edge of a class
            const unsigned edge = test::uniform(numbers, 0u, unsigned{TypeParam::count} - 1);
            bytes = TypeParam::bytes_of(edge) + test::uniform<std::size_t>(numbers, 0, 2) - 1;
        }
        const unsigned index = TypeParam::class_of(bytes, alignment);
        const auto serves = [&](unsigned other) {
            return TypeParam::bytes_of(other) >= bytes && TypeParam::bytes_of(other) % alignment == 0;
        };
        if (index < TypeParam::count) {
            ASSERT_TRUE(serves(index)) << bytes << " aligned to " << alignment;
        }
        unsigned smaller = std::min<unsigned>(index, TypeParam::count);
        for (int back = 0; back < 5 && smaller-- > 0; ++back)
            ASSERT_FALSE(serves(smaller)) << bytes << " aligned to " << alignment;
    }
}

// Checks that the tables agree with the scheme at every request that a table answers.
template <class Classes>
void tables_agree() {
    using places = detail::class_places<Classes>;
    const auto same = [](detail::class_place found, std::size_t bytes, std::size_t alignment) {
        const detail::class_place expected = detail::class_place::of(Classes::class_of(bytes, alignment));
        return found.group == expected.group && found.offset == expected.offset;
    };
    for (std::size_t bytes = 0; bytes <= Classes::largest + 2; bytes += bytes < 70000 ? 1 : 61) {
        for (std::size_t alignment = 1; alignment <= 64; alignment *= 2) {
            if (places::is_small(bytes, alignment)) {
                ASSERT_TRUE(same(places::of_small(bytes), bytes, alignment)) << bytes << ' ' << alignment;
            } else if (places::is_paired_small(bytes, alignment)) {
                ASSERT_TRUE(same(places::of_paired_small(bytes), bytes, alignment)) << bytes << ' ' << alignment;
            } else if (places::is_rounded_small(bytes, alignment)) {
                const detail::class_place found = places::of_small(places::rounded(bytes, alignment));
                ASSERT_TRUE(same(found, bytes, alignment)) << bytes << ' ' << alignment;
            } else if (places::is_middle(bytes, alignment)) {
                ASSERT_TRUE(same(places::of_middle(bytes), bytes, alignment)) << bytes << ' ' << alignment;
            } else if (places::is_wide(bytes, alignment)) {
                ASSERT_TRUE(same(places::of_wide(bytes), bytes, alignment)) << bytes << ' ' << alignment;
            }
        }
        for (const std::size_t wider : {std::size_t{128}, test::highest_bit}) {
            ASSERT_FALSE(places::is_small(bytes, wider) || places::is_paired_small(bytes, wider) ||
                         places::is_rounded_small(bytes, wider) || places::is_middle(bytes, wider) ||
                         places::is_wide(bytes, wider));
        }
    }
    for (std::size_t step = 256; step <= Classes::largest; step += 256) {
        for (const std::size_t bytes : {step - 1, step, step + 1}) {
            if (!places::is_small(bytes, 8) && !places::is_middle(bytes, 8) && places::is_wide(bytes, 8)) {
                ASSERT_TRUE(same(places::of_wide(bytes), bytes, 8)) << bytes;
            }
        }
    }
    constexpr std::size_t top = static_cast<std::size_t>(-1);
    for (const std::size_t bytes : {top, detail::max_bytes, Classes::largest + 1}) {
        EXPECT_FALSE(places::is_small(bytes, 8) || places::is_paired_small(bytes, 16) ||
                     places::is_rounded_small(bytes, 8) || places::is_middle(bytes, 8) || places::is_wide(bytes, 8));
    }
}

TEST(class_places, agree_with_the_scheme) {
    tables_agree<four_an_octave<>>();
    tables_agree<four_an_octave<8192>>();
    tables_agree<powers_of_two<>>();
    tables_agree<exact_spacing<>>();
    tables_agree<exact_spacing<64, 1 << 16>>();
    tables_agree<class_map<24, 40, 64, 104, 1000>>();
}

TEST(chunk_sizes, every_chunk_fits_and_only_what_is_worth_keeping_has_a_bin) {
    for (std::size_t bytes = 1; bytes <= detail::chunk_sizes::largest + 5000; bytes += bytes < 70000 ? 1 : 4093) {
        for (const std::size_t alignment : {1u, 16u, 64u, 128u, 4096u}) {
            const unsigned bin = detail::chunk_sizes::bin_of(bytes, alignment);
            const bool is_kept = bytes >= detail::chunk_sizes::smallest && bytes <= detail::chunk_sizes::largest &&
                                 alignment <= (bytes < 4096 ? 16u : 64u);
            ASSERT_EQ(bin < detail::chunk_sizes::count, is_kept) << bytes << " aligned to " << alignment;
            if (detail::chunk_sizes::is_common(bytes, alignment)) {
                ASSERT_EQ(detail::chunk_sizes::common_bin_of(bytes), bin) << bytes << " aligned to " << alignment;
            }
            if (!is_kept) continue;
            ASSERT_GE(detail::chunk_sizes::bytes_of(bin), bytes);
            ASSERT_GE(detail::chunk_sizes::alignment_of(detail::chunk_sizes::bytes_of(bin)), alignment);
            if (bin > 0) {
                ASSERT_LT(detail::chunk_sizes::bytes_of(bin - 1), bytes);
            }
        }
    }
    EXPECT_EQ(detail::chunk_sizes::bytes_of(0), 1024u);
    EXPECT_EQ(detail::chunk_sizes::bytes_of(detail::chunk_sizes::count - 1), detail::chunk_sizes::largest);
}

TEST(free_chunks, the_last_comes_first_and_each_once) {
    alignas(16) static char chunks[5][64];
    detail::free_chunks stack;
    EXPECT_TRUE(stack.empty());
    for (auto& chunk : chunks) stack.push(chunk, sizeof chunk);
    for (int i = 4; i >= 0; --i) {
        EXPECT_FALSE(stack.empty());
        EXPECT_EQ(stack.pop(64), chunks[i]);
    }
    EXPECT_TRUE(stack.empty());
    EXPECT_EQ(stack.pop(64), nullptr);
}

class magazine : public testing::Test {
  protected:
    void TearDown() override {
        under_test.close([this](unsigned bin, void* chunk) { give(bin, chunk); });
    }
    void give(unsigned bin, void* chunk) { upstream.deallocate(chunk, detail::chunk_sizes::bytes_of(bin), 64); }
    [[nodiscard]] void* chunk_of(unsigned bin) { return upstream.allocate(detail::chunk_sizes::bytes_of(bin), 64); }

    new_delete upstream;
    detail::chunk_magazine under_test;
};

TEST_F(magazine, holds_what_fits_and_never_more_than_its_capacity) {
    under_test.open(0);
    auto numbers = test::random_numbers();
    std::vector<std::vector<void*>> model(detail::chunk_magazine::bins);
    std::size_t held = 0;
    for (int step = 0; step < 20000; ++step) {
        const unsigned bin = test::uniform(numbers, 0u, detail::chunk_magazine::bins - 1);
        const std::size_t bytes = detail::chunk_sizes::bytes_of(bin);
        if (under_test.is_report_due()) under_test.report();
        if (test::uniform(numbers, 0, 2) != 0) {
            void* const chunk = chunk_of(bin);
            const bool is_taken = under_test.push(bin, chunk);
            ASSERT_EQ(is_taken, held + bytes <= detail::chunk_magazine::capacity_bytes) << held << " and " << bytes;
            is_taken ? model[bin].push_back(chunk) : give(bin, chunk);
            held += is_taken ? bytes : 0;
        } else {
            void* const chunk = under_test.pop(bin);
            ASSERT_EQ(chunk, model[bin].empty() ? nullptr : model[bin].back());
            if (chunk == nullptr) continue;
            model[bin].pop_back();
            give(bin, chunk);
            held -= bytes;
        }
        ASSERT_EQ(under_test.held_bytes(), held);
    }
}

TEST_F(magazine, a_report_is_due_after_so_many_chunks_and_no_sooner) {
    under_test.open(3);
    EXPECT_EQ(under_test.trims_seen(), 3u);
    for (int round = 0; round < 3; ++round) {
        for (std::uint32_t i = 0; i < detail::chunk_magazine::report_pushes; ++i) {
            ASSERT_FALSE(under_test.is_report_due()) << i;
            ASSERT_TRUE(under_test.push(0, chunk_of(0))) << i;
            give(0, under_test.pop(0));
        }
        ASSERT_TRUE(under_test.is_report_due());
        void* const refused = chunk_of(0);
        EXPECT_FALSE(under_test.push(0, refused));
        give(0, refused);
        under_test.report();
    }
}

TEST_F(magazine, closed_it_takes_nothing_and_ended_it_stays_closed) {
    void* const chunk = chunk_of(2);
    EXPECT_FALSE(under_test.push(2, chunk));
    EXPECT_EQ(under_test.held_bytes(), 0u);
    under_test.open(0);
    EXPECT_TRUE(under_test.is_open() && under_test.push(2, chunk));
    std::vector<void*> given;
    under_test.close([&](unsigned bin, void* each) {
        EXPECT_EQ(bin, 2u);
        given.push_back(each);
    });
    EXPECT_EQ(given, std::vector<void*>{chunk});
    EXPECT_FALSE(under_test.is_open() || under_test.has_ended());
    EXPECT_FALSE(under_test.push(2, chunk));
    EXPECT_EQ(under_test.pop(2), nullptr);
    EXPECT_EQ(under_test.held_bytes(), 0u);
    under_test.end([](unsigned, void*) { FAIL(); });
    EXPECT_TRUE(under_test.has_ended());
    give(2, chunk);
}

TEST(thread_life, ends_with_its_thread_and_goes_with_its_last_reference) {
    const std::uint64_t before = detail::thread_life::ended_so_far();
    detail::thread_life* other = nullptr;
    bool is_the_same = false;
    std::thread([&] {
        other = detail::thread_life::of_this_thread();
        is_the_same = other == detail::thread_life::of_this_thread();
        other->keep();
        EXPECT_FALSE(other->has_ended());
        EXPECT_EQ(detail::thread_life::ended_so_far(), before);
    }).join();
    EXPECT_TRUE(is_the_same);
    EXPECT_TRUE(other->has_ended());
    EXPECT_EQ(detail::thread_life::ended_so_far(), before + 1);
    EXPECT_NE(detail::thread_life::of_this_thread(), other);
    EXPECT_FALSE(detail::thread_life::of_this_thread()->has_ended());
    other->drop();
    std::thread([] {}).join();
    EXPECT_EQ(detail::thread_life::ended_so_far(), before + 1) << "a thread that was never asked for leaves nothing";
}

TEST(thread_table, numbers_are_new_and_neighbours_do_not_share_an_entry) {
    const std::uint64_t first = detail::thread_table::new_number(), second = detail::thread_table::new_number();
    EXPECT_LT(first, second);
    EXPECT_EQ(first % detail::thread_table::number_step, 0u);
    EXPECT_NE(&detail::table_of_this_thread.of(first), &detail::table_of_this_thread.of(second));
}

}  // namespace
}  // namespace millpond
