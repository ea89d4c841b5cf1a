// SPDX-License-Identifier: BSL-1.0
// chunk_cache_test: released chunks are kept up to the budget; and the process's own cache after fork.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <millpond/block.hpp>
#include <new>
#include <thread>
#include <vector>

#include "support/accounting_source.hpp"
#include "support/in_a_child.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_source;
using cache_under_test = detail::basic_chunk_cache<accounting_ref>;

TEST(chunk_cache, a_released_chunk_serves_the_next_request_of_its_size) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    for (const std::size_t bytes : {1024u, 4096u, 5000u, 65536u, 1u << 20}) {
        void* const first = cache.allocate(bytes, 16);
        cache.deallocate(first, bytes, 16);
        const std::size_t calls = upstream.calls();
        EXPECT_EQ(cache.allocate(bytes, 16), first);
        EXPECT_EQ(upstream.calls(), calls);
        cache.deallocate(first, bytes, 16);
    }
}

TEST(chunk_cache, the_chunk_released_last_serves_first) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    void* const a = cache.allocate(4096, 8);
    void* const b = cache.allocate(4096, 8);
    cache.deallocate(a, 4096, 8);
    cache.deallocate(b, 4096, 8);
    EXPECT_EQ(cache.allocate(4096, 8), b);
    EXPECT_EQ(cache.allocate(4096, 8), a);
    cache.deallocate(a, 4096, 8);
    cache.deallocate(b, 4096, 8);
}

TEST(chunk_cache, chunks_hold_what_good_bytes_says_and_are_aligned) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    for (std::size_t bytes = 1; bytes < 300000; bytes = bytes * 5 / 4 + 1) {
        for (std::size_t alignment = 1; alignment <= 4096; alignment *= 4) {
            auto* const chunk = static_cast<char*>(cache.allocate(bytes, alignment));
            EXPECT_TRUE(detail::is_aligned(chunk, alignment));
            const std::size_t good = cache_under_test::good_bytes(bytes);
            EXPECT_GE(good, bytes);
            EXPECT_EQ(cache_under_test::good_bytes(good), good);
            std::memset(chunk, 1, alignment <= detail::chunk_sizes::alignment_of(bytes) ? good : bytes);
            cache.deallocate(chunk, bytes, alignment);
        }
    }
}

TEST(chunk_cache, never_holds_more_than_its_budget) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    cache.set_budget_bytes(100000);
    auto numbers = test::random_numbers();
    std::vector<std::pair<void*, std::size_t>> chunks;
    for (int step = 0; step < 5000; ++step) {
        if (chunks.empty() || test::uniform(numbers, 0, 1) == 0) {
            const auto bytes = test::uniform<std::size_t>(numbers, 1, 40000);
            chunks.emplace_back(cache.allocate(bytes, 8), bytes);
        } else {
            std::swap(chunks[test::uniform<std::size_t>(numbers, 0, chunks.size() - 1)], chunks.back());
            cache.deallocate(chunks.back().first, chunks.back().second, 8);
            chunks.pop_back();
        }
        ASSERT_LE(cache.held_bytes(), 100000u);
    }
    for (const auto& [chunk, bytes] : chunks) cache.deallocate(chunk, bytes, 8);
    EXPECT_EQ(cache.held_bytes(), upstream.live_bytes());
}

TEST(chunk_cache, a_smaller_budget_applies_at_once_and_zero_disables_it) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    std::vector<void*> chunks(10);
    for (void*& chunk : chunks) chunk = cache.allocate(8192, 8);
    for (void* chunk : chunks) cache.deallocate(chunk, 8192, 8);
    EXPECT_EQ(cache.held_bytes(), 81920u);
    cache.set_budget_bytes(30000);
    EXPECT_EQ(cache.held_bytes(), 24576u);
    cache.set_budget_bytes(0);
    EXPECT_EQ(upstream.live_blocks(), 0u);
    cache.deallocate(cache.allocate(8192, 8), 8192, 8);
    EXPECT_EQ(upstream.live_blocks(), 0u);
}

TEST(chunk_cache, trim_keeps_as_much_as_it_is_told_and_gives_the_largest_first) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    void* const small = cache.allocate(4096, 8);
    void* const middle = cache.allocate(32768, 8);
    void* const large = cache.allocate(1 << 20, 8);
    cache.deallocate(small, 4096, 8);
    cache.deallocate(middle, 32768, 8);
    cache.deallocate(large, 1 << 20, 8);
    cache.trim(70000);
    EXPECT_EQ(cache.held_bytes(), 4096u + 32768u);
    cache.trim();
    EXPECT_EQ(cache.held_bytes(), 0u);
    EXPECT_EQ(upstream.live_blocks(), 0u);
}

TEST(chunk_cache, small_huge_and_over_aligned_requests_pass_through) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    cache.deallocate(cache.allocate(1023, 8), 1023, 8);
    cache.deallocate(cache.allocate(5000, 128), 5000, 128);
    cache.deallocate(cache.allocate(detail::chunk_sizes::largest + 1, 8), detail::chunk_sizes::largest + 1, 8);
    EXPECT_EQ(upstream.live_blocks(), 0u);
}

TEST(chunk_cache, gives_up_what_it_holds_when_the_upstream_has_no_more) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    cache.deallocate(cache.allocate(65536, 8), 65536, 8);
    upstream.fail_once_at(0);
    void* const chunk = cache.try_allocate(4096, 8);
    EXPECT_NE(chunk, nullptr);
    EXPECT_EQ(cache.held_bytes(), 0u);
    cache.deallocate(chunk, 4096, 8);
    upstream.fail_from(0);
    EXPECT_EQ(cache.try_allocate(65536, 8), nullptr);
    EXPECT_THROW(static_cast<void>(cache.allocate(65536, 8)), std::bad_alloc);
    EXPECT_EQ(cache.try_allocate(static_cast<std::size_t>(-1), 8), nullptr);
}

// Allocates and frees a container of `chunks` chunks.
template <class Cache>
void use(Cache& cache, std::size_t chunks, std::size_t bytes) {
    std::vector<void*> held(chunks);
    for (void*& chunk : held) chunk = cache.allocate(bytes, 8);
    for (void* chunk : held) cache.deallocate(chunk, bytes, 8);
}

TEST(chunk_cache, chunks_in_repeated_use_stay_at_any_size) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    for (const std::size_t chunks : {1u, 10u, 300u}) {
        for (int i = 0; i < 3; ++i) use(cache, chunks, 16384);
        const std::size_t calls = upstream.calls();
        for (int i = 0; i < 300; ++i) use(cache, chunks, 16384);
        EXPECT_EQ(upstream.calls(), calls) << chunks;
        EXPECT_GE(cache.held_bytes(), chunks * 16384);
    }
}

TEST(chunk_cache, a_peak_is_given_up_while_smaller_work_goes_on) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    use(cache, 1000, 65536);
    use(cache, 500, 2048);
    const std::size_t peak = cache.held_bytes();
    EXPECT_GE(peak, 900u * 65536) << "only what goes beyond the most that was out is given up at once";
    // Two epochs, of twice what is held each, and four chunks a release.
    for (std::size_t released = 0; released < 6 * peak; released += 10 * 8192) use(cache, 10, 8192);
    EXPECT_LE(cache.held_bytes(), 10u * 8192);
    EXPECT_EQ(cache.held_bytes(), upstream.live_bytes());
}

// Blocks of random sizes come and go, with a fixed number of bytes alive at a time.
TEST(chunk_cache, holds_no_chunk_of_each_random_size) {
    auto numbers = test::random_numbers();
    for (const std::size_t largest : {60'000u, 1'000'000u, 3'000'000u}) {
        accounting_source upstream;
        cache_under_test cache(upstream);
        std::vector<std::pair<void*, std::size_t>> out;
        std::size_t out_bytes = 0, most_out = 0;
        for (int i = 0; i < 6000; ++i) {
            if (out_bytes < (std::size_t{16} << 20)) {
                const std::size_t bytes = test::uniform(numbers, std::size_t{1}, largest);
                out.emplace_back(cache.allocate(bytes, 8), bytes);
                out_bytes += cache.good_bytes(bytes);
                most_out = std::max(most_out, out_bytes);
            } else {
                std::swap(out[test::uniform(numbers, std::size_t{0}, out.size() - 1)], out.back());
                cache.deallocate(out.back().first, out.back().second, 8);
                out_bytes -= cache.good_bytes(out.back().second);
                out.pop_back();
            }
            ASSERT_EQ(upstream.live_bytes(), out_bytes + cache.held_bytes()) << i;
            ASSERT_LE(upstream.live_bytes(), most_out + 2 * cache.good_bytes(largest) + (256u << 10)) << i;
        }
        for (const auto& [chunk, bytes] : out) cache.deallocate(chunk, bytes, 8);
    }
}

TEST(chunk_cache, releases_that_are_only_noted_make_epochs_pass) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    use(cache, 100, 65536);
    for (int i = 0; i < 200; ++i) cache.note_released(std::size_t{1} << 20);
    EXPECT_EQ(cache.held_bytes(), 0u);
}

TEST(chunk_cache, reservations_count_against_half_of_the_budget) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    cache.set_budget_bytes(100000);
    EXPECT_TRUE(cache.try_reserve(30000));
    EXPECT_FALSE(cache.try_reserve(30000));
    use(cache, 50, 4096);
    EXPECT_LE(cache.held_bytes(), 70000u);
    cache.unreserve(30000);
    EXPECT_TRUE(cache.try_reserve(50000));
}

TEST(chunk_cache, the_destructor_returns_all_chunks) {
    accounting_source upstream;  // checks
    cache_under_test cache(upstream);
    cache.deallocate(cache.allocate(4096, 8), 4096, 8);
}

TEST(chunk_cache, the_process_has_one_whichever_handle_asks) {
    chunk_cache::trim();
    chunk_cache a, b;
    EXPECT_EQ(a, b);
    void* const chunk = a.allocate(10000, 8);
    b.deallocate(chunk, 10000, 8);
    EXPECT_EQ(chunk_cache::held_bytes(), chunk_cache::good_bytes(10000));
    EXPECT_EQ(a.allocate(10000, 8), chunk);
    a.deallocate(chunk, 10000, 8);
    chunk_cache::trim();
    EXPECT_EQ(chunk_cache::held_bytes(), 0u);
}

TEST(chunk_cache, a_budget_of_nothing_switches_magazines_off_as_well) {
    chunk_cache cache;
    use(cache, 3, 4096);
    EXPECT_GT(chunk_cache::held_bytes(), 0u);
    chunk_cache::set_budget_bytes(0);
    EXPECT_EQ(chunk_cache::held_bytes(), 0u);
    use(cache, 3, 4096);
    EXPECT_EQ(chunk_cache::held_bytes(), 0u);
    chunk_cache::set_budget_bytes(chunk_cache::default_budget_bytes);
    use(cache, 3, 4096);
    EXPECT_EQ(chunk_cache::held_bytes(), 3u * 4096);
    chunk_cache::trim();
}

TEST(chunk_cache, never_holds_more_than_a_budget_that_magazines_share) {
    chunk_cache cache;
    chunk_cache::trim();
    chunk_cache::set_budget_bytes(600000);
    for (int i = 0; i < 100; ++i) {
        use(cache, 100, 4096);
        use(cache, 10, 100000);
        ASSERT_LE(chunk_cache::held_bytes(), 600000u);
    }
    chunk_cache::trim();
    chunk_cache::set_budget_bytes(chunk_cache::default_budget_bytes);
}

#if !defined(_WIN32)
TEST(chunk_cache, a_forked_child_goes_on_with_what_was_cached) {
    chunk_cache::trim();
    chunk_cache cache;
    void* const chunk = cache.allocate(50000, 8);
    cache.deallocate(chunk, 50000, 8);
    EXPECT_EQ(test::status_of_child([&] {
                  if (cache.try_allocate(50000, 8) != chunk) return false;
                  cache.deallocate(chunk, 50000, 8);
                  chunk_cache::trim();
                  return chunk_cache::held_bytes() == 0;
              }),
              0);
    EXPECT_EQ(chunk_cache::held_bytes(), chunk_cache::good_bytes(50000));
    chunk_cache::trim();
}

// Most of the forks happen while threads are inside the cache; a child that inherits a held lock must work all the
// same.
TEST(chunk_cache_threads, a_child_forked_while_threads_use_the_cache_never_hangs) {
    // In some C++ libraries the first destructor of a thread makes a list under a lock that a child would inherit.
    chunk_cache first;
    first.deallocate(first.allocate(4096, 8), 4096, 8);
    std::atomic<bool> stop{false};
    std::vector<std::thread> users(2);
    for (std::thread& user : users) {
        user = std::thread([&stop] {
            chunk_cache cache;
            while (!stop.load(std::memory_order_relaxed)) cache.deallocate(cache.allocate(4096, 8), 4096, 8);
        });
    }
    for (int round = 0; round < 30; ++round) {
        EXPECT_EQ(test::status_of_child([] {
                      chunk_cache cache;
                      for (int i = 0; i < 100; ++i) {
                          void* const chunk = cache.try_allocate(4096, 8);
                          if (chunk == nullptr) return false;
                          std::memset(chunk, 1, 4096);
                          cache.deallocate(chunk, 4096, 8);
                      }
                      return true;
                  }),
                  0);
    }
    stop = true;
    for (std::thread& user : users) user.join();
    chunk_cache::trim();
}
#endif

TEST(chunk_cache_threads, a_thread_that_ends_leaves_its_chunks_to_the_others) {
    chunk_cache::trim();
    void* chunk = nullptr;
    std::thread user([&chunk] {
        chunk_cache cache;
        chunk = cache.allocate(5000, 8);
        cache.deallocate(chunk, 5000, 8);
    });
    user.join();
    EXPECT_EQ(chunk_cache::held_bytes(), chunk_cache::good_bytes(5000));
    chunk_cache cache;
    EXPECT_EQ(cache.allocate(5000, 8), chunk);
    cache.deallocate(chunk, 5000, 8);
    chunk_cache::trim();
}

// The first few chunks go to the other threads at once; a thread that frees more gets a magazine.
TEST(chunk_cache_threads, a_thread_that_only_frees_leaves_all_to_the_others) {
    chunk_cache::trim();
    chunk_cache cache;
    void* chunks[20];
    for (void*& chunk : chunks) chunk = cache.allocate(5000, 8);
    std::thread([&chunks, &cache] {
        for (void* chunk : chunks) cache.deallocate(chunk, 5000, 8);
    }).join();
    EXPECT_EQ(chunk_cache::held_bytes(), 20 * chunk_cache::good_bytes(5000));
    chunk_cache::trim();
    EXPECT_EQ(chunk_cache::held_bytes(), 0u);
}

// An object whose destructor runs after the magazine of its thread was closed.
struct late {
    ~late() {
        chunk_cache cache;
        cache.deallocate(cache.allocate(5000, 8), 5000, 8);
    }
};

TEST(chunk_cache_threads, destructors_that_run_last_in_a_thread_may_use_it) {
    chunk_cache::trim();
    for (int i = 0; i < 10; ++i) {
        std::thread user([] {
            static thread_local const late object;
            static_cast<void>(object);
            chunk_cache cache;
            use(cache, 5, 5000);
        });
        user.join();
    }
    EXPECT_EQ(chunk_cache::held_bytes(), 5 * chunk_cache::good_bytes(5000));
    chunk_cache::trim();
    EXPECT_EQ(chunk_cache::held_bytes(), 0u);
}

TEST(chunk_cache_threads, a_trim_reaches_the_magazines_of_busy_threads) {
    chunk_cache::trim();
    std::atomic<int> step{0};
    std::thread user([&step] {
        chunk_cache cache;
        use(cache, 20, 8192);
        step = 1;
        while (step != 2) std::this_thread::yield();
        // The thread releases one chunk again and again.
        for (int i = 0; i < 600; ++i) use(cache, 1, 2048);
        EXPECT_LE(chunk_cache::held_bytes(), 4096u);
        step = 3;
    });
    while (step != 1) std::this_thread::yield();
    chunk_cache::trim();
    step = 2;
    user.join();
    chunk_cache::trim();
}

TEST(chunk_cache_threads, no_two_threads_ever_hold_the_same_chunk) {
    detail::basic_chunk_cache<new_delete> cache;
    cache.set_budget_bytes(std::size_t{1} << 20);
    std::atomic<int> clashes{0};
    std::vector<std::thread> users;
    for (unsigned number = 1; number <= 4; ++number) {
        users.emplace_back([&cache, &clashes, number] {
            auto numbers = test::random_numbers(number);
            std::vector<std::pair<unsigned*, std::size_t>> mine;
            for (int step = 0; step < 20000; ++step) {
                if (mine.size() < 8 && test::uniform(numbers, 0, 1) == 0) {
                    const auto bytes = test::uniform<std::size_t>(numbers, 1000, 20000);
                    auto* const chunk = static_cast<unsigned*>(cache.allocate(bytes, 8));
                    *chunk = number;
                    mine.emplace_back(chunk, bytes);
                } else if (!mine.empty()) {
                    if (*mine.back().first != number) ++clashes;
                    cache.deallocate(mine.back().first, mine.back().second, 8);
                    mine.pop_back();
                }
                if (step % 4096 == 0) cache.trim();
            }
            for (const auto& [chunk, bytes] : mine) cache.deallocate(chunk, bytes, 8);
        });
    }
    for (std::thread& user : users) user.join();
    EXPECT_EQ(clashes, 0);
    EXPECT_LE(cache.held_bytes(), cache.budget_bytes());
}

}  // namespace
}  // namespace millpond
