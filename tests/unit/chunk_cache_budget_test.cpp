// SPDX-License-Identifier: BSL-1.0
// chunk_cache_budget_test: the contents of a cache, to the byte: budgets and reservations, epochs and idle chunks.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <millpond/block.hpp>
#include <thread>
#include <vector>

#include "support/accounting_source.hpp"
#include "support/in_a_thread.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_source;
using test::in_a_thread;
using cache_under_test = detail::basic_chunk_cache<accounting_ref>;

constexpr std::size_t epoch = std::size_t{64} << 20;  // ends one, whatever is held in these tests
constexpr std::size_t size = 65536 + detail::chunk_sizes::line_bytes;

// Allocates and frees a container of `chunks` chunks.
template <class Cache>
void use(Cache& cache, std::size_t chunks, std::size_t bytes = size) {
    std::vector<void*> held(chunks);
    for (void*& chunk : held) chunk = cache.allocate(bytes, 8);
    for (void* chunk : held) cache.deallocate(chunk, bytes, 8);
}

TEST(chunk_cache_budget, is_used_to_its_last_byte) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    cache.set_budget_bytes(3 * 4096);
    use(cache, 3, 4096);
    EXPECT_EQ(cache.held_bytes(), 3u * 4096);
    use(cache, 4, 4096);
    EXPECT_EQ(cache.held_bytes(), 3u * 4096);
    EXPECT_EQ(upstream.live_bytes(), 3u * 4096);
    EXPECT_EQ(cache.budget_bytes(), 3u * 4096);
}

TEST(chunk_cache_budget, at_most_half_can_be_reserved_and_reserved_again) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    cache.set_budget_bytes(100000);
    for (int round = 0; round < 100; ++round) {
        ASSERT_FALSE(cache.try_reserve(50001)) << "and a refused reservation does not stay";
        ASSERT_TRUE(cache.try_reserve(20000));
        ASSERT_TRUE(cache.try_reserve(30000));
        ASSERT_FALSE(cache.try_reserve(1));
        cache.unreserve(50000);
    }
}

TEST(chunk_cache_budget, chunks_tell_their_real_size) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    for (const std::size_t bytes : {1u, 1023u, 1024u, 1025u, 5000u, 66000u, 1000001u, (32u << 20) + 1}) {
        const allocation chunk = cache.try_allocate_at_least(bytes, 16);
        ASSERT_NE(chunk.start, nullptr);
        EXPECT_EQ(chunk.bytes, cache_under_test::good_bytes(bytes));
        EXPECT_EQ(chunk.bytes, upstream.given().at(chunk.start).bytes);
        cache.deallocate(chunk.start, chunk.bytes, 16);
        const allocation again = chunk_cache().try_allocate_at_least(bytes, 16);
        EXPECT_EQ(again.bytes, chunk_cache::good_bytes(bytes));
        std::memset(again.start, 1, again.bytes);
        chunk_cache().deallocate(again.start, bytes, 16);
    }
    chunk_cache::trim();
    const allocation none;
    EXPECT_EQ(none.start, nullptr);
    upstream.fail_from(0);
    EXPECT_EQ(cache.try_allocate_at_least(5u << 20, 16).start, nullptr);
}

TEST(chunk_cache_budget, an_impossible_request_does_not_empty_the_cache) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    use(cache, 5);
    upstream.fail_from(0);
    EXPECT_EQ(cache.try_allocate(detail::max_bytes + 1, 8), nullptr);
    EXPECT_EQ(cache.held_bytes(), 5 * size);
    EXPECT_EQ(cache.try_allocate(detail::max_bytes, 8), nullptr);
    EXPECT_EQ(cache.held_bytes(), 0u) << "a possible one does, for it might then be served";
}

TEST(chunk_cache_epochs, chunks_of_the_epoch_before_stay) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    use(cache, 100);
    cache.note_released(epoch);
    cache.note_released(epoch);
    EXPECT_EQ(cache.held_bytes(), 100 * size) << "they were in use when the epoch before began";
    for (int i = 0; i < 100; ++i) cache.note_released(1);
    EXPECT_EQ(cache.held_bytes(), 100 * size) << "and no other epoch has ended";
    cache.note_released(epoch);
    EXPECT_EQ(cache.held_bytes(), 96 * size) << "four go with each release";
    for (int i = 0; i < 30; ++i) cache.note_released(1);
    EXPECT_EQ(cache.held_bytes(), 0u);
}

TEST(chunk_cache_epochs, keeps_as_many_chunks_as_are_in_use_at_once) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    use(cache, 100);
    for (int i = 0; i < 20; ++i) {
        use(cache, 60);
        cache.note_released(epoch);
    }
    EXPECT_EQ(cache.held_bytes(), 60 * size);
    const std::size_t calls = upstream.calls();
    for (int i = 0; i < 20; ++i) {
        use(cache, i % 2 == 0 ? 60 : 10);
        cache.note_released(epoch);
    }
    EXPECT_EQ(cache.held_bytes(), 60 * size) << "every second epoch needs them";
    EXPECT_EQ(upstream.calls(), calls);
}

TEST(chunk_cache_epochs, an_idle_chunk_that_is_taken_after_all_is_idle_no_more) {
    accounting_source upstream;  // finds it, if a chunk is given that is not there
    cache_under_test cache(upstream);
    use(cache, 50);
    for (int i = 0; i < 3; ++i) cache.note_released(epoch);
    EXPECT_EQ(cache.held_bytes(), 46 * size);
    std::vector<void*> taken(46);
    for (void*& chunk : taken) chunk = cache.allocate(size, 8);
    for (int i = 0; i < 20; ++i) cache.note_released(1);
    for (void* chunk : taken) cache.deallocate(chunk, size, 8);
    for (int i = 0; i < 20; ++i) cache.note_released(1);
    EXPECT_EQ(cache.held_bytes(), 46 * size);
    EXPECT_EQ(upstream.live_bytes(), 46 * size);
}

TEST(chunk_cache_epochs, the_largest_idle_chunks_go_first) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    use(cache, 3, 4096);
    use(cache, 3, 1 << 20);
    for (int i = 0; i < 3; ++i) cache.note_released(epoch);
    EXPECT_EQ(cache.held_bytes(), 2u * 4096);
}

TEST(chunk_cache_epochs, a_small_cache_keeps_few_bytes) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    use(cache, 10, 4096);
    for (int i = 0; i < 40; ++i) use(cache, 1, 8192);
    EXPECT_EQ(cache.held_bytes(), 10u * 4096 + 8192) << "less than a mebibyte has come back";
}

TEST(chunk_cache_epochs, releases_into_magazines_make_epochs_pass) {
    chunk_cache cache;
    chunk_cache::trim();
    use(cache, 20, 1 << 20);
    EXPECT_EQ(chunk_cache::held_bytes(), 20 * chunk_cache::good_bytes(1 << 20));
    // Each is reported as a kibibyte: 240 MiB of them.
    for (int i = 0; i < 300000; ++i) cache.deallocate(cache.allocate(2048, 8), 2048, 8);
    EXPECT_LE(chunk_cache::held_bytes(), std::size_t{4} << 20);
    chunk_cache::trim();
}

// Returns the rest of the budget after the magazines of all other threads are gone.
std::size_t most_that_is_held() {
    chunk_cache cache;
    chunk_cache::trim();
    use(cache, 300, 8192);
    const std::size_t held = chunk_cache::held_bytes();
    chunk_cache::trim();
    return held;
}

TEST(chunk_cache_budget_threads, a_thread_that_ends_gives_its_reservation_up) {
    chunk_cache::set_budget_bytes(std::size_t{1} << 20);
    EXPECT_EQ(most_that_is_held(), std::size_t{1} << 20);
    for (int i = 0; i < 10; ++i) {
        in_a_thread([] {
            chunk_cache cache;
            use(cache, 5, 5000);
        });
    }
    EXPECT_EQ(most_that_is_held(), std::size_t{1} << 20);
    chunk_cache::set_budget_bytes(chunk_cache::default_budget_bytes);
}

TEST(chunk_cache_budget_threads, a_trim_gives_the_reservation_up) {
    chunk_cache::set_budget_bytes(std::size_t{1} << 20);
    chunk_cache cache;
    for (int i = 0; i < 10; ++i) {
        use(cache, 5, 5000);
        chunk_cache::trim();
        EXPECT_EQ(chunk_cache::held_bytes(), 0u);
    }
    EXPECT_EQ(most_that_is_held(), std::size_t{1} << 20);
    chunk_cache::set_budget_bytes(chunk_cache::default_budget_bytes);
}

TEST(chunk_cache_budget_threads, a_smaller_budget_reaches_the_magazines_of_busy_threads) {
    chunk_cache::trim();
    std::atomic<int> step{0};
    std::thread user([&step] {
        chunk_cache cache;
        use(cache, 20, 8192);
        step = 1;
        while (step != 2) std::this_thread::yield();
        for (int i = 0; i < 600; ++i) use(cache, 1, 2048);
        EXPECT_LE(chunk_cache::held_bytes(), 100000u);
        step = 3;
    });
    while (step != 1) std::this_thread::yield();
    chunk_cache::set_budget_bytes(100000);
    step = 2;
    user.join();
    chunk_cache::set_budget_bytes(chunk_cache::default_budget_bytes);
    chunk_cache::trim();
}

}  // namespace
}  // namespace millpond
