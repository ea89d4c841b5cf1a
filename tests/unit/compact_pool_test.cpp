// SPDX-License-Identifier: BSL-1.0
// compact_pool_test: the origin of a pool's memory, the memory that it returns, and its statistics.
#include "millpond/local/compact_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <list>
#include <memory>
#include <memory_resource>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "millpond/bind/allocator.hpp"
#include "millpond/block/detail/extent_source.hpp"
#include "millpond/block/fixed_buffer.hpp"
#include "millpond/block/new_delete.hpp"
#include "millpond/block/std_source.hpp"
#include "millpond/block/upstream_resource.hpp"
#include "millpond/local/monotonic.hpp"
#include "millpond/wrap/synchronized.hpp"
#include "support/in_a_child.hpp"
#include "support/scattering_source.hpp"
#include "support/seed.hpp"
#include "support/slot_model.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_source;
using test::fake_pages;
using test::page_call;
using test::ranged_source;

template <std::size_t SlotBytes>
using ranged_pool = compact_pool<SlotBytes, source_ref<ranged_source>>;

std::vector<void*> filled(auto& pool, std::size_t count, std::size_t bytes = 8) {
    std::vector<void*> slots(count);
    for (void*& slot : slots) slot = pool.allocate(bytes, 8);
    return slots;
}

// The same, and all further slots that the pool then has: rows may lie below or above the range.
std::vector<void*> wholly_filled(auto& pool, std::size_t count) {
    auto slots = filled(pool, count);
    const auto more = filled(pool, pool.stats().slots - count);
    slots.insert(slots.end(), more.begin(), more.end());
    return slots;
}

class compact_pool_of_pages : public testing::Test {
  protected:
    void SetUp() override { fake_pages::start(); }
    void TearDown() override { EXPECT_EQ(fake_pages::reservations(), 0U); }
    ranged_source source;
};

static_assert(managed_allocator<compact_pool<8>>);
static_assert(compact_pool<40>::block_bytes(33, 8) == 40 && compact_pool<40>::block_bytes(41, 8) == 0);
static_assert(compact_pool<40>::block_bytes(8, 16) == 0, "40 bytes in a row are aligned to 8");

TEST(compact_pool, allocates_nothing_when_made_and_then_one_row) {
    accounting_source source;
    compact_pool<24, accounting_ref> pool(source);
    EXPECT_EQ(source.calls(), 0U);
    EXPECT_EQ(pool.stats().slots, 0U);
    pool.deallocate(pool.allocate(24, 8), 24, 8);
    EXPECT_EQ(source.live_bytes(), 1024U);
    for (void* slot : filled(pool, 41, 24)) EXPECT_NE(slot, nullptr);
    EXPECT_EQ(source.live_bytes(), 1024U) << "a small pool needs no more";
}

TEST(compact_pool, passes_requests_that_fit_no_slot_to_its_source) {
    accounting_source source;
    compact_pool<24, accounting_ref> pool(source);
    void* const large = pool.allocate(25, 8);
    void* const wide = pool.allocate(8, 64);
    EXPECT_TRUE(detail::is_aligned(wide, 64));
    EXPECT_EQ(source.live_blocks(), 2U);
    EXPECT_GE(pool.held_bytes(), 33U);
    pool.deallocate(large, 25, 8);
    EXPECT_EQ(source.live_blocks(), 1U);
    pool.reset();
    EXPECT_EQ(source.live_blocks(), 0U) << "large blocks go back with a reset";
    EXPECT_NE(pool.allocate(0, 1), nullptr) << "0 bytes are 1";
    EXPECT_EQ(pool.try_allocate(detail::max_bytes, 8), nullptr);
}

TEST_F(compact_pool_of_pages, grows_in_one_range_above_the_stated_size) {
    ranged_pool<8> pool(source);
    EXPECT_EQ(ranged_pool<8>::default_promotion.bytes, std::size_t{64} << 10);
    const auto slots = filled(pool, 8000);
    EXPECT_EQ(fake_pages::reservations(), 0U);
    const auto more = filled(pool, 100000);
    EXPECT_EQ(fake_pages::reservations(), 2U) << "slots and books";
    EXPECT_LE(source.live_bytes(), (std::size_t{68} << 10) + 4096);
    EXPECT_EQ(static_cast<char*>(more[90001]) - static_cast<char*>(more[90000]), 8);
    EXPECT_GT(pool.stats().pages * fake_pages::size(), std::size_t{600} << 10);
    EXPECT_EQ(pool.stats().live_slots, 108000U);
    pool.release();
    EXPECT_EQ(source.live_blocks(), 0U);
}

// If a leaf is many pages long, the range may end in committed pages that make no whole leaf.
TEST_F(compact_pool_of_pages, trim_returns_pages_behind_the_last_leaf) {
    for (std::size_t left = 0; left < 1000; left += 100) {
        SCOPED_TRACE(left);
        ranged_pool<5000> pool(promote_above{0}, source);
        auto slots = filled(pool, 4000, 5000);
        while (slots.size() > left) {
            pool.deallocate(slots.back(), 5000, 8);
            slots.pop_back();
        }
        pool.trim();
        for (int i = 0; i < 1500; ++i) {
            slots.push_back(pool.allocate(5000, 8));
            if (i % 16 == 0) pool.trim();
        }
        EXPECT_EQ(std::set<void*>(slots.begin(), slots.end()).size(), slots.size());
        for (void* slot : slots) pool.deallocate(slot, 5000, 8);
        pool.trim();
        EXPECT_EQ(pool.stats().pages, 0U);
    }
}

class scattering_ranged_source : public test::scattering_source {
  public:
    using pages = fake_pages;
};

// The area is mapped first: on Linux the range then lies below it, and above the memory of malloc.
TEST_F(compact_pool_of_pages, takes_the_lowest_slot_of_rows_and_range) {
    scattering_ranged_source scattered;
    compact_pool<8, source_ref<scattering_ranged_source>> pool(promote_above{20000}, scattered);
    auto slots = filled(pool, 10000);
    EXPECT_GT(pool.stats().pages, 0U) << "there is a range";
    std::shuffle(slots.begin(), slots.end(), test::random_numbers());
    for (std::size_t i = 0; i < 3000; ++i) pool.deallocate(slots[i], 8, 8);
    const auto again = filled(pool, 3000);
    EXPECT_TRUE(std::is_sorted(again.begin(), again.end()));
    pool.release();
}

TEST_F(compact_pool_of_pages, goes_on_in_rows_where_there_are_no_addresses) {
    fake_pages::set.address_limit = 0;
    ranged_pool<8> pool(source);
    filled(pool, 100000);
    EXPECT_EQ(fake_pages::reservations(), 0U);
    EXPECT_GE(source.live_bytes(), 800000U);
}

TEST_F(compact_pool_of_pages, makes_do_with_few_addresses) {
    fake_pages::set.address_limit = std::size_t{4} << 20;
    ranged_pool<8> pool(promote_above{0}, source);
    const auto slots = filled(pool, 200000);
    EXPECT_GT(pool.stats().pages, 0U);
    EXPECT_GT(source.live_blocks(), 0U) << "the rest lies in rows";
    EXPECT_EQ(std::set<void*>(slots.begin(), slots.end()).size(), slots.size());
    for (void* slot : slots) pool.deallocate(slot, 8, 8);
}

TEST_F(compact_pool_of_pages, refused_memory_gives_null_and_changes_nothing) {
    fake_pages::set.charge_limit = fake_pages::charged_bytes + (std::size_t{4} << 20);
    ranged_pool<8> pool(promote_above{0}, source);
    source.fail_from(0);
    std::vector<void*> slots;
    while (void* slot = pool.try_allocate(8, 8)) slots.push_back(slot);
    EXPECT_GT(slots.size(), 100000U);
    EXPECT_EQ(pool.try_allocate(8, 8), nullptr);
    EXPECT_EQ(pool.stats().live_slots, slots.size());
    pool.deallocate(slots[5], 8, 8);
    EXPECT_EQ(pool.try_allocate(8, 8), slots[5]);
    fake_pages::set.charge_limit = fake_pages::never;
    EXPECT_NE(pool.try_allocate(8, 8), nullptr);
    EXPECT_THROW(static_cast<void>(pool.allocate(8, 4096)), std::bad_alloc);
}

TEST_F(compact_pool_of_pages, keeps_one_empty_chunk_and_returns_the_others) {
    compact_pool<8, accounting_ref> pool(static_cast<accounting_source&>(source));
    const auto slots = filled(pool, 10000);
    EXPECT_GT(source.live_blocks(), 19U);
    for (void* slot : slots) pool.deallocate(slot, 8, 8);
    EXPECT_LE(source.live_bytes(), 1024 + 2 * 4096 + 2 * sizeof(detail::slot_window) + 128);
}

TEST_F(compact_pool_of_pages, discards_inside_and_decommits_at_the_end) {
    ranged_pool<64> pool(promote_above{0}, source);
    const auto slots = filled(pool, 100000, 64);
    const std::size_t decommits = fake_pages::count(page_call::decommit);
    for (std::size_t i = 0; i < 50000; ++i) pool.deallocate(slots[i], 64, 8);
    EXPECT_GT(fake_pages::count(page_call::discard), 5U);
    EXPECT_EQ(fake_pages::count(page_call::decommit), decommits) << "protection never changes in the middle";
    EXPECT_LT(pool.stats().pages, 850U);
    const std::size_t charged = fake_pages::charged_bytes;
    for (std::size_t i = 100000; i-- > 50000;) pool.deallocate(slots[i], 64, 8);
    EXPECT_LT(pool.stats().pages, 20U);
    EXPECT_LT(fake_pages::charged_bytes + (std::size_t{2} << 20), charged) << "while pages in the middle are in use";
    pool.trim();
    EXPECT_EQ(pool.stats().pages, 0U);
    EXPECT_LT(fake_pages::charged_bytes + (std::size_t{4} << 20), charged);
    EXPECT_EQ(filled(pool, 1, 64)[0], slots[0]) << "and it all can be used again";
    EXPECT_EQ(filled(pool, 99999, 64)[99998], slots[99999]);
}

// The committed part then ends anywhere in a leaf: pages behind the last whole one were populated and hold no slot.
TEST_F(compact_pool_of_pages, pages_behind_the_last_slot_go_back_with_the_others) {
    for (std::size_t kept = 1000; kept < 1100; kept += 7) {
        ranged_pool<1000> pool(promote_above{0}, source);
        const auto slots = filled(pool, 8000, 1000);
        for (std::size_t i = kept; i < slots.size(); ++i) pool.deallocate(slots[i], 1000, 8);
        pool.trim();
        const std::size_t committed = pool.stats().slots;
        ASSERT_LT(committed, 8000u) << "its end moved";
        const auto more = filled(pool, committed - kept, 1000);
        EXPECT_EQ(pool.stats().slots, committed);
        for (std::size_t i = 0; i < kept; ++i) pool.deallocate(slots[i], 1000, 8);
        for (void* slot : more) pool.deallocate(slot, 1000, 8);
        pool.trim();
        EXPECT_EQ(pool.stats().pages, 0u) << kept;
    }
}

TEST_F(compact_pool_of_pages, every_slot_lies_in_a_piece) {
    ranged_pool<8> pool(source);
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> pieces;
    const auto look = [&] {
        pieces.clear();
        pool.for_each_piece([&](std::uintptr_t begin, std::uintptr_t end) { pieces.emplace_back(begin, end); });
    };
    look();
    EXPECT_TRUE(pieces.empty());
    for (const std::size_t count : {std::size_t{10}, std::size_t{50000}}) {
        const auto slots = filled(pool, count);
        look();
        for (void* slot : slots) {
            const auto at = reinterpret_cast<std::uintptr_t>(slot);
            const auto holds = [at](const auto& piece) { return piece.first <= at && at < piece.second; };
            ASSERT_EQ(std::count_if(pieces.begin(), pieces.end(), holds), 1);
        }
    }
}

TEST_F(compact_pool_of_pages, works_with_larger_pages) {
    fake_pages::set.page_bytes = fake_pages::set.granularity_bytes = std::size_t{64} << 10;
    ranged_pool<40> pool(promote_above{0}, source);
    auto slots = filled(pool, 100000, 40);
    std::shuffle(slots.begin(), slots.end(), test::random_numbers());
    while (slots.size() > 100) {
        pool.deallocate(slots.back(), 40, 8);
        slots.pop_back();
    }
    pool.trim();
    EXPECT_LT(pool.stats().pages, 60U);
}

TEST_F(compact_pool_of_pages, a_reset_forgets_the_slots_and_keeps_the_memory) {
    ranged_pool<8> pool(source);
    const auto first = wholly_filled(pool, 50000);
    const std::size_t bytes = source.live_bytes(), pages = pool.stats().pages;
    pool.reset();
    EXPECT_EQ(pool.stats().live_slots, 0U);
    EXPECT_EQ(source.live_bytes(), bytes);
    EXPECT_EQ(pool.stats().pages, pages);
    auto again = filled(pool, first.size());
    EXPECT_EQ(std::set<void*>(again.begin(), again.end()), std::set<void*>(first.begin(), first.end()));
    pool.trim();
    pool.reset();
    pool.trim();
    EXPECT_EQ(pool.stats().pages, 0U);
}

TEST(compact_pool, counts_live_slots_and_runs_of_free_ones_without_counters) {
    accounting_source source;
    compact_pool<16, accounting_ref> pool(source);
    auto slots = filled(pool, 62, 16);
    const std::size_t all = pool.stats().slots;
    EXPECT_EQ(all, (1024U - 8) / 16 - (all < 63));
    EXPECT_EQ(pool.stats().free_runs, all > 62 ? 1U : 0U);
    for (const std::size_t i : {3, 4, 5, 9, 40}) pool.deallocate(slots[i], 16, 8);
    const compact_pool_stats found = pool.stats();
    EXPECT_EQ(found.live_slots, 57U);
    EXPECT_EQ(found.free_runs, 3U + (all > 62));
    EXPECT_EQ(found.held_bytes, source.live_bytes());
    EXPECT_EQ(found.pages, 0U);
    std::set<void*> seen;
    pool.for_each([&](void* slot) { seen.insert(slot); });
    EXPECT_EQ(seen.size(), 57U);
    EXPECT_FALSE(seen.count(slots[4]));
}

TEST_F(compact_pool_of_pages, runs_of_free_slots_reach_across_leaves) {
    ranged_pool<8> pool(promote_above{0}, source);
    const auto slots = filled(pool, 640);
    const std::size_t behind = pool.stats().free_runs;  // those never used
    for (std::size_t i = 60; i < 200; ++i) pool.deallocate(slots[i], 8, 8);
    EXPECT_EQ(pool.stats().free_runs, behind + 1);
    EXPECT_EQ(pool.allocate(8, 8), slots[60]);
    for (std::size_t i = 61; i < 200; ++i) EXPECT_EQ(pool.allocate(8, 8), slots[i]);
}

TEST(compact_pool, stays_in_the_memory_of_sources_that_are_not_the_process_s) {
    alignas(16) static char memory[200000];
    fixed_buffer buffer(memory, sizeof memory);
    compact_pool<8, source_ref<fixed_buffer>> pool(buffer);
    std::size_t count = 0;
    while (void* slot = pool.try_allocate(8, 8)) {
        ++count;
        ASSERT_TRUE(slot >= memory && slot < memory + sizeof memory);
    }
    EXPECT_GT(count, 20000U);
    pool.release();

    std::pmr::monotonic_buffer_resource theirs;
    compact_pool<8, upstream_resource> over_resource(&theirs);
    EXPECT_EQ(filled(over_resource, 10000).size(), 10000U);
    compact_pool<8, std_source<std::allocator<int>>> over_standard;
    EXPECT_EQ(filled(over_standard, 10000).size(), 10000U);
}

// The number of windows is that of a pool of a terabyte; their contents do not matter.
TEST(slot_directory, finds_any_of_many_windows_in_any_order) {
    accounting_source source;
    accounting_ref from(source);
    detail::slot_directory directory;
    std::vector<std::uintptr_t> frames(1500);
    for (std::size_t i = 0; i < frames.size(); ++i) frames[i] = (i * i + 7) * detail::slot_window::frames + i % 1024;
    std::shuffle(frames.begin(), frames.end(), test::random_numbers());
    for (const std::uintptr_t frame : frames) {
        EXPECT_EQ(directory.find(frame), nullptr);
        ASSERT_NE(directory.window_for(from, frame), nullptr);
    }
    EXPECT_EQ(directory.held_bytes(), source.live_bytes());
    for (const std::uintptr_t frame : frames) {
        detail::slot_window* const window = directory.find(frame);
        ASSERT_NE(window, nullptr);
        ASSERT_EQ(window->number(), detail::slot_window::number_of(frame));
        directory.remove(from, window);
        ASSERT_EQ(directory.find(frame), nullptr);
    }
    EXPECT_EQ(source.live_bytes(), 0u);
}

TEST(extent_source, chunks_of_another_alignment_are_those_of_its_source) {
    accounting_source source;
    detail::extent_source<accounting_ref> extents{accounting_ref(source)};
    void* const aligned = extents.try_allocate(4096, 64);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % 64, 0u);
    EXPECT_EQ(source.live_blocks(), 1u);
    extents.deallocate(aligned, 4096, 64);
    EXPECT_EQ(source.live_blocks(), 0u);
}

#if !defined(NDEBUG)
TEST(extent_source, must_not_go_before_its_chunks) {
    EXPECT_DEATH(
        {
            detail::extent_source<new_delete> extents;
            static_cast<void>(extents.try_allocate(4096, 8));
        },
        "lowest_ == nullptr");
}
#endif

// A source of chunks far apart, in any order: each lies in another window than the one before.
class scattered_source {
  public:
    static constexpr std::size_t windows = 12;
    static constexpr std::size_t window_bytes = std::size_t{4} << 20;

    scattered_source() : memory_(std::make_unique_for_overwrite<char[]>((windows + 1) * window_bytes)) {}
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes != 4096) return new_delete().try_allocate(bytes, alignment);
        const std::size_t n = given_++;
        char* const place = memory_.get() + n * 7 % windows * window_bytes + n / windows * 4112;
        return place + detail::padding_to(place, 16);
    }
    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes != 4096) return new_delete().deallocate(block, bytes, alignment);
        ++returned;
    }
    std::size_t returned = 0;

  private:
    std::unique_ptr<char[]> memory_;
    std::size_t given_ = 0;
};

TEST(compact_pool, fills_the_lowest_slot_of_scattered_rows_first) {
    compact_pool<64, scattered_source> pool;
    auto slots = filled(pool, 20000, 64);
    // No slot that was never used is left: it could be the lowest one.
    while (pool.stats().live_slots < pool.stats().slots) slots.push_back(pool.allocate(64, 8));
    EXPECT_EQ(std::set<void*>(slots.begin(), slots.end()).size(), slots.size());
    std::shuffle(slots.begin(), slots.end(), test::random_numbers());
    std::set<void*> free;
    for (std::size_t i = 0; i < 200; ++i) {
        pool.deallocate(slots[i], 64, 8);
        free.insert(slots[i]);
    }
    for (std::size_t i = 0; i < 200; ++i) {
        slots[i] = pool.allocate(64, 8);
        ASSERT_EQ(slots[i], *free.begin());
        free.erase(free.begin());
    }
    for (void* slot : slots) pool.deallocate(slot, 64, 8);
    EXPECT_GT(pool.source().returned, 300U);
    EXPECT_EQ(pool.stats().live_slots, 0U);
    EXPECT_LT(pool.held_bytes(), 20000U);
}

TEST(compact_pool, over_a_managed_source_is_released_and_reset_with_it) {
    compact_pool<8, monotonic<>> pool;
    filled(pool, 5000);
    static_cast<void>(pool.allocate(100, 8));
    pool.reset();
    EXPECT_EQ(pool.stats().live_slots, 0U);
    filled(pool, 5000);
    pool.release();
    EXPECT_EQ(pool.source().held_bytes(), 0U);
    EXPECT_EQ(pool.stats().slots, 0U);
}

TEST(compact_pool, serves_containers_through_a_binding) {
    compact_pool<24> pool;
    std::list<int, allocator<int, compact_pool<24>>> list(&pool);
    for (int i = 0; i < 10000; ++i) list.push_back(i);
    list.remove_if([](int i) { return i % 3 != 0; });
    EXPECT_EQ(list.size(), 3334U);
    EXPECT_EQ(pool.stats().live_slots, 3334U);
}

// With fork and /proc.
#if !defined(_WIN32)
TEST(compact_pool, a_forked_child_goes_on_with_a_copy_of_a_half_used_pool) {
    compact_pool<8> pool;
    auto slots = wholly_filled(pool, 100000);
    std::sort(slots.begin(), slots.end());
    for (std::size_t i = 0; i < slots.size(); i += 2) pool.deallocate(slots[i], 8, 8);
    *static_cast<int*>(slots[1]) = 1;
    EXPECT_EQ(test::status_of_child([&] {
                  *static_cast<int*>(slots[1]) = 2;
                  bool ok = true;
                  for (std::size_t i = 0; i < slots.size(); i += 2) ok = ok && pool.allocate(8, 8) == slots[i];
                  for (void* slot : slots) pool.deallocate(slot, 8, 8);
                  return ok && pool.stats().live_slots == 0;
              }),
              0);
    EXPECT_EQ(*static_cast<int*>(slots[1]), 1);
    EXPECT_EQ(pool.allocate(8, 8), slots[0]);
    EXPECT_EQ(pool.stats().live_slots, slots.size() / 2 + 1);
}

std::size_t mappings() {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) ++count;
    return count;
}

// Frees every other page of `slots` slots of 8 bytes: the memory returns, and only a few mappings exist.
void empties_every_other_page(std::size_t slots) {
    compact_pool<8> pool(promote_above{0});
    const std::size_t page = os::pages::size();
    const std::size_t before = mappings();
    std::vector<void*> live(slots);
    for (void*& slot : live) slot = pool.allocate(8, 8);
    for (void* slot : live) {
        if (reinterpret_cast<std::uintptr_t>(slot) / page % 2 == 0) pool.deallocate(slot, 8, 8);
    }
    EXPECT_LE(mappings(), before + 20);
    pool.trim();
    const std::size_t pages = slots * 8 / page;
    EXPECT_LE(pool.stats().pages, pages / 2 + 1);
    EXPECT_LE(mappings(), before + 20);
}

TEST(compact_pool, holes_in_the_middle_take_no_mappings) { empties_every_other_page(2'000'000); }

TEST(compact_pool_slow, holes_in_the_middle_of_100_million_slots_take_no_mappings) {
    empties_every_other_page(100'000'000);
}

#endif

TEST(compact_pool_threads, any_thread_may_free_in_turns_or_under_a_lock) {
    compact_pool<8> pool;
    const auto slots = filled(pool, 20000);
    std::thread([&] {
        for (void* slot : slots) pool.deallocate(slot, 8, 8);
    }).join();
    EXPECT_EQ(pool.stats().live_slots, 0U);

    synchronized<compact_pool<8>> shared;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&shared] {
            std::vector<void*> live;
            for (int i = 0; i < 20000; ++i) {
                live.push_back(shared.allocate(8, 8));
                std::memset(live.back(), i, 8);
                if (i % 3 == 2) {
                    shared.deallocate(live[live.size() / 2], 8, 8);
                    live.erase(live.begin() + static_cast<std::ptrdiff_t>(live.size() / 2));
                    if (live.size() > 100) {
                        for (void* slot : live) shared.deallocate(slot, 8, 8);
                        live.clear();
                    }
                }
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace millpond
