// SPDX-License-Identifier: BSL-1.0
// block_depot and thread_cache against a model: blocks never overlap and keep their contents, whichever thread frees
// them; empty memory is returned; without memory or a lock, calls fail and lose nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "millpond/os/pages.hpp"
#include "preload/block_depot.hpp"
#include "preload/thread_cache.hpp"

namespace {

using millpond::preload::block_depot;
using millpond::preload::cached_classes;
using millpond::preload::slab_space;
using millpond::preload::thread_cache;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

// A depot, the number of bytes that it holds, and access to its blocks.
struct heap {
    explicit heap(std::size_t range = 1024 * mebibyte) { EXPECT_TRUE(space.map.place(range)); }
    ~heap() { space.map.unmap(); }
    heap(const heap&) = delete;
    heap& operator=(const heap&) = delete;

    static void note(void* context, std::size_t held, std::size_t used) noexcept {
        auto& its = *static_cast<heap*>(context);
        its.held = held;
        its.used = used;
    }
    unsigned class_at(const void* p) const { return space.map.class_at(p); }

    slab_space space{};
    std::size_t held = 0, used = 0;
    block_depot depot{space, 7, false, {&note, this}};
};

struct object {
    unsigned char* first;
    std::size_t bytes;
    unsigned char mark;
    bool is_whole() const {
        for (std::size_t i = 0; i < bytes; ++i)
            if (first[i] != mark) return false;
        return true;
    }
};

object make(thread_cache& cache, std::size_t bytes, unsigned char mark) {
    auto* const p = static_cast<unsigned char*>(cache.take(cached_classes::class_of(bytes)));
    if (p != nullptr) std::memset(p, mark, bytes);
    return {p, bytes, mark};
}

std::size_t any_size(std::mt19937& random) {
    const std::size_t most = std::size_t{1} << (4 + random() % 12);
    return 1 + random() % std::min(most, cached_classes::largest);
}

TEST(depot, gives_blocks_that_keep_their_contents) {
    heap of;
    thread_cache cache(of.depot);
    std::mt19937 random(1);
    std::vector<object> objects;
    for (int i = 0; i < 40000; ++i) {
        if (objects.empty() || (random() % 5 < 3 && objects.size() < 3000)) {
            const object one = make(cache, any_size(random), static_cast<unsigned char>(i));
            ASSERT_NE(one.first, nullptr);
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(one.first) % 16, 0u);
            // A larger class may serve, up to twice the size.
            const unsigned own = cached_classes::class_of(one.bytes), given = of.class_at(one.first);
            ASSERT_GE(given, own);
            ASSERT_TRUE(given == own || cached_classes::bytes_of(given) <= 2 * cached_classes::bytes_of(own));
            ASSERT_EQ(of.space.map.owner_of(one.first).pool, 7);
            objects.push_back(one);
        } else {
            std::swap(objects[random() % objects.size()], objects.back());
            ASSERT_TRUE(objects.back().is_whole());
            cache.put(of.class_at(objects.back().first), objects.back().first);
            objects.pop_back();
        }
    }
    for (const object& one : objects) ASSERT_TRUE(one.is_whole());
}

TEST(depot, gives_empty_slabs_back_to_the_system) {
    heap of;
    thread_cache cache(of.depot);
    std::vector<void*> blocks;
    for (int i = 0; i < 400000; ++i) blocks.push_back(cache.take(cached_classes::class_of(100)));
    EXPECT_GE(of.used, 40 * mebibyte);
    for (void* each : blocks) cache.put(of.class_at(each), each);
    cache.flush();
    EXPECT_LE(of.used, 2 * mebibyte);
}

TEST(depot, serves_another_class_from_what_one_freed) {
    heap of;
    thread_cache cache(of.depot);
    std::size_t most = 0;
    for (const std::size_t bytes : {48, 112, 640, 3000, 20000}) {
        std::vector<void*> blocks;
        for (std::size_t i = 0; i < 16 * mebibyte / bytes; ++i)
            blocks.push_back(cache.take(cached_classes::class_of(bytes)));
        most = std::max(most, of.used);
        for (void* each : blocks) cache.put(of.class_at(each), each);
    }
    EXPECT_LE(most, 24 * mebibyte);
}

TEST(depot, gives_runs_of_slabs_that_keep_their_contents) {
    heap of;
    const auto self = thread_cache::this_thread();
    std::mt19937 random(2);
    std::vector<object> objects;
    std::size_t live_pages = 0;
    const auto pages_of = [](std::size_t bytes) { return std::max<std::size_t>(6, (bytes + 4095) / 4096); };
    for (int i = 0; i < 20000; ++i) {
        if (objects.empty() || (random() % 2 == 0 && objects.size() < 60)) {
            const std::size_t bytes = 1 + random() % block_depot::largest_run;
            bool is_zero = false;
            const std::size_t alignment = std::size_t{1}
                                          << (bytes + 65536 <= block_depot::largest_run ? random() % 17 : 0);
            auto* const p = static_cast<unsigned char*>(of.depot.take_run(bytes, self, is_zero, alignment));
            ASSERT_NE(p, nullptr);
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(p) % std::max<std::size_t>(alignment, 4096), 0u);
            ASSERT_EQ(of.class_at(p), block_depot::run_class);
            ASSERT_EQ(of.depot.run_bytes(p), pages_of(bytes) * 4096);
            for (std::size_t at = 0; is_zero && at < bytes; at += 509) ASSERT_EQ(p[at], 0) << i;
            // Each page is enough: that neighbours overlap shows in any of its bytes.
            for (std::size_t at = 0; at < bytes; at += 509) p[at] = static_cast<unsigned char>(i | 1);
            p[bytes - 1] = static_cast<unsigned char>(i | 1);
            objects.push_back({p, bytes, static_cast<unsigned char>(i | 1)});
            live_pages += pages_of(bytes);
        } else {
            std::swap(objects[random() % objects.size()], objects.back());
            const object one = objects.back();
            objects.pop_back();
            for (std::size_t at = 0; at < one.bytes; at += 509) ASSERT_EQ(one.first[at], one.mark);
            ASSERT_EQ(one.first[one.bytes - 1], one.mark);
            of.depot.put_run(one.first, self);
            live_pages -= pages_of(one.bytes);
        }
        ASSERT_GE(of.used, live_pages * 4096);
    }
    for (const object& one : objects) of.depot.put_run(one.first, self);
    EXPECT_LE(of.used, 200 * mebibyte);
    EXPECT_EQ(of.depot.record(self).use.blocks, 0u);
}

TEST(depot, gives_large_runs_back_to_the_system) {
    heap of;
    const auto self = thread_cache::this_thread();
    bool is_zero = false;
    std::vector<void*> runs;
    for (int i = 0; i < 64; ++i) runs.push_back(of.depot.take_run(mebibyte, self, is_zero));
    EXPECT_GE(of.used, 64 * mebibyte);
    for (void* each : runs) of.depot.put_run(each, self);
    EXPECT_LE(of.used, 2 * mebibyte);
}

TEST(depot, gives_no_run_where_memory_is_used_up) {
    heap of(4 * mebibyte);
    const auto self = thread_cache::this_thread();
    bool is_zero = false;
    std::vector<void*> runs;
    while (void* const run = of.depot.take_run(3 * mebibyte / 4, self, is_zero)) runs.push_back(run);
    EXPECT_GE(runs.size(), 2u);
    EXPECT_LE(runs.size(), 5u);
    for (void* each : runs) of.depot.put_run(each, self);
    EXPECT_NE(of.depot.take_run(3 * mebibyte / 4, self, is_zero), nullptr);
}

TEST(depot, collects_runs_that_were_handed_over) {
    heap of;
    const auto self = thread_cache::this_thread();
    bool is_zero = false;
    void* const run = of.depot.take_run(200'000, self, is_zero);
    of.depot.hand_over(run);
    EXPECT_EQ(of.depot.take_run(200'000, self, is_zero), run);
    EXPECT_FALSE(is_zero);
}

TEST(depot, keeps_what_rounds_of_work_use_again) {
    heap of;
    thread_cache cache(of.depot);
    std::size_t returns = 0;
    for (int round = 0; round < 40; ++round) {
        std::vector<void*> blocks;
        for (int i = 0; i < 80000; ++i) blocks.push_back(cache.take(cached_classes::class_of(100)));
        const std::size_t full = of.used;
        for (void* each : blocks) cache.put(of.class_at(each), each);
        if (round >= 20 && of.used + 2 * mebibyte < full) ++returns;
    }
    EXPECT_LE(returns, 4u);
}

// The work changes its sizes; memory that is about to be used again stays.
TEST(depot, keeps_empty_slabs_while_blocks_are_taken) {
    heap of;
    thread_cache cache(of.depot);
    std::vector<void*> blocks;
    for (int i = 0; i < 40000; ++i) blocks.push_back(cache.take(cached_classes::class_of(900)));
    const std::size_t full = of.used;
    for (void*& each : blocks) {
        cache.put(of.class_at(each), each);
        each = cache.take(cached_classes::class_of(40));
    }
    EXPECT_GE(of.used, full);
    EXPECT_LE(of.used, full + mebibyte);
    for (void* each : blocks) cache.put(of.class_at(each), each);
    cache.flush();
    for (int i = 0; i < 64; ++i) {  // and what then empties is the end of the work
        bool is_zero = false;
        std::vector<void*> runs;
        for (int j = 0; j < 64; ++j)
            runs.push_back(of.depot.take_run(mebibyte / 2, thread_cache::this_thread(), is_zero));
        for (void* each : runs) of.depot.put_run(each, thread_cache::this_thread());
    }
    EXPECT_LE(of.used, 34 * mebibyte);
}

std::uint64_t test_ms = 0;

TEST(depot, returns_memory_unused_for_a_second) {
    heap of;
    const auto usual = block_depot::now_ms;
    block_depot::now_ms = +[]() noexcept { return test_ms; };
    const auto self = thread_cache::this_thread();
    bool is_zero = false;
    std::vector<void*> runs;
    for (int i = 0; i < 64; ++i) runs.push_back(of.depot.take_run(mebibyte, self, is_zero));
    // One is taken between frees, so this is no teardown.
    for (void* each : runs) {
        of.depot.put_run(each, self);
        of.depot.put_run(of.depot.take_run(70'000, self, is_zero), self);
    }
    EXPECT_GE(of.used, 64 * mebibyte);
    for (int second = 0; second < 3; ++second) {
        test_ms += 1000;
        of.depot.put_run(of.depot.take_run(70'000, self, is_zero), self);
    }
    EXPECT_LE(of.used, 2 * mebibyte);
    block_depot::now_ms = usual;
}

TEST(depot, a_growing_block_takes_the_free_pages_behind_it) {
    heap of;
    const auto self = thread_cache::this_thread();
    bool is_zero = false;
    auto* const first = static_cast<char*>(of.depot.take_run(200'000, self, is_zero));
    void* const second = of.depot.take_run(200'000, self, is_zero);
    ASSERT_FALSE(of.depot.grow_run(first, 300'000, self));
    of.depot.put_run(second, self);
    ASSERT_TRUE(of.depot.grow_run(first, 300'000, self));
    EXPECT_EQ(of.depot.run_bytes(first), 74 * 4096u);
    EXPECT_FALSE(of.depot.grow_run(first, 1 << 21, self));
}

TEST(depot, larger_free_blocks_serve_before_the_system) {
    heap of;
    thread_cache cache(of.depot);
    std::vector<void*> blocks;
    for (int i = 0; i < 20000; ++i) blocks.push_back(cache.take(cached_classes::class_of(1000)));
    const std::size_t full = of.used;
    // Every slab keeps one, so that none is empty.
    for (std::size_t i = 0; i < blocks.size(); ++i)
        if (i % 16 != 0) cache.put(of.class_at(blocks[i]), blocks[i]);
    for (int i = 0; i < 15000; ++i) ASSERT_NE(cache.take(cached_classes::class_of(600)), nullptr);
    EXPECT_LE(of.used, full + mebibyte);
}

TEST(depot, a_chain_of_borrowed_blocks_goes_back_to_their_own_classes) {
    heap of;
    std::mt19937 random(5);
    {
        thread_cache cache(of.depot);
        std::vector<void*> blocks;
        for (int round = 0; round < 30; ++round) {
            const std::size_t bytes = 100 + random() % 1000;
            for (int i = 0; i < 8000; ++i) {
                blocks.push_back(cache.take(cached_classes::class_of(bytes)));
                std::memset(blocks.back(), round, bytes);
            }
            std::shuffle(blocks.begin(), blocks.end(), random);
            for (; blocks.size() > 2000; blocks.pop_back()) cache.put(of.class_at(blocks.back()), blocks.back());
        }
        for (void* each : blocks) cache.put(of.class_at(each), each);
        cache.flush();
    }
    const auto left = of.depot.record(thread_cache::this_thread()).use;
    EXPECT_EQ(left.blocks, 0u);
    EXPECT_LE(of.used, 8 * mebibyte);
}

TEST(depot, a_borrowed_chain_is_known_by_the_class_of_its_slabs) {
    heap of;
    const auto self = thread_cache::this_thread();
    const unsigned larger = cached_classes::class_of(1000), smaller = cached_classes::class_of(600);
    std::vector<block_depot::block*> blocks;
    while (blocks.size() < 8000) {
        for (block_depot::block* each = of.depot.take(larger, 16, self).first; each != nullptr; each = each->next)
            blocks.push_back(each);
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        blocks[i]->next = nullptr;
        if (i % 16 != 0) of.depot.put(larger, blocks[i], self);
    }
    const std::size_t before = of.depot.freed_blocks(larger);
    const auto borrowed = of.depot.take(smaller, 16, self);
    ASSERT_GT(borrowed.count, 1u);
    ASSERT_EQ(of.class_at(borrowed.first), larger);
    EXPECT_EQ(of.depot.freed_blocks(larger), before - borrowed.count);
    of.depot.put(smaller, borrowed.first, self);
    EXPECT_EQ(of.depot.freed_blocks(larger), before);
    EXPECT_EQ(of.depot.freed_blocks(smaller), 0u);
}

// 20000 blocks of 400 bytes are replaced at random by blocks of 480: joined free blocks serve them, and nothing is
// lost.
TEST(depot, a_class_that_grows_takes_the_memory_of_one_that_shrinks) {
    std::size_t most[2] = {};
    for (const bool mixes : {false, true}) {
        heap of;
        if (mixes) of.depot.mix_slabs();
        thread_cache cache(of.depot);
        std::mt19937 random(6);
        std::vector<object> objects;
        for (int i = 0; i < 20000; ++i) objects.push_back(make(cache, 400, static_cast<unsigned char>(i)));
        std::shuffle(objects.begin(), objects.end(), random);
        unsigned char mark = 1;
        for (object& each : objects) {
            ASSERT_TRUE(each.is_whole());
            cache.put(of.class_at(each.first), each.first);
            each = make(cache, 480, ++mark);
            ASSERT_NE(each.first, nullptr);
            most[mixes] = std::max(most[mixes], of.used);
            if (of.class_at(each.first) == block_depot::mixed_class) {
                EXPECT_EQ(of.depot.mixed_bytes(each.first), 480u);
            }
        }
        for (const object& each : objects) {
            ASSERT_TRUE(each.is_whole());
            cache.put(of.class_at(each.first), each.first);
        }
        cache.flush();
        EXPECT_EQ(of.depot.record(thread_cache::this_thread()).use.blocks, 0u);
        EXPECT_LE(of.used, 8 * mebibyte);
    }
    EXPECT_LE(most[1] * 5, most[0] * 4);
}

TEST(depot, blocks_of_mixed_slabs_are_aligned_as_their_class_is) {
    heap of;
    of.depot.mix_slabs();
    thread_cache cache(of.depot);
    std::vector<void*> blocks;
    for (int i = 0; i < 10000; ++i) blocks.push_back(cache.take(cached_classes::class_of(400)));
    for (std::size_t i = 0; i < blocks.size(); ++i)
        if (i % 8 != 0) cache.put(of.class_at(blocks[i]), blocks[i]);
    std::size_t mixed = 0;
    for (int i = 0; i < 1000; ++i) {
        void* const p = cache.take(cached_classes::class_of(832, 64));
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(p) % 64, 0u);
        mixed += of.class_at(p) == block_depot::mixed_class;
    }
    EXPECT_GE(mixed, 900u);
}

// Slabs become mixed while other threads hold their blocks in lists of the previous class.
TEST(depot, slabs_become_mixed_under_other_threads) {
    heap of;
    of.depot.mix_slabs();
    std::vector<std::thread> threads;
    std::mutex handing;
    std::vector<object> handed(1000);
    for (unsigned seed = 0; seed < 4; ++seed) {
        threads.emplace_back([&, seed] {
            thread_cache cache(of.depot);
            std::mt19937 random(seed);
            std::vector<object> objects(6000);
            for (int phase = 0; phase < 12; ++phase) {
                const std::size_t bytes = 16 + random() % 700;
                std::shuffle(objects.begin(), objects.end(), random);
                for (object& each : objects) {
                    if (each.first != nullptr) {
                        EXPECT_TRUE(each.is_whole());
                        cache.put(of.class_at(each.first), each.first);
                    }
                    each = make(cache, bytes, static_cast<unsigned char>(random()));
                    if (random() % 16 != 0) continue;
                    const std::lock_guard hold(handing);
                    std::swap(handed[random() % handed.size()], each);
                }
            }
            for (const object& each : objects) {
                if (each.first == nullptr) continue;
                EXPECT_TRUE(each.is_whole());
                cache.put(of.class_at(each.first), each.first);
            }
            cache.flush();
        });
    }
    for (std::thread& each : threads) each.join();
    thread_cache cache(of.depot);
    for (const object& each : handed) {
        if (each.first == nullptr) continue;
        EXPECT_TRUE(each.is_whole());
        cache.put(of.class_at(each.first), each.first);
    }
    cache.flush();
    EXPECT_EQ(of.depot.record(thread_cache::this_thread()).use.blocks, 0u);
}

// Fresh memory is touched page by page, for any number of blocks.
TEST(depot, a_chain_of_fresh_blocks_lies_in_one_page) {
    heap of;
    for (const std::size_t bytes : {32, 200, 1000, 2500}) {
        const unsigned size_class = cached_classes::class_of(bytes);
        std::size_t pages = 0, blocks = 0;
        while (blocks < 40) {
            const auto taken = of.depot.take(size_class, 64, thread_cache::this_thread());
            ASSERT_NE(taken.first, nullptr);
            blocks += taken.count;
            ++pages;
        }
        const std::size_t room = (pages + 1) * millpond::os::pages::size();
        EXPECT_GE(room, 40 * bytes) << bytes;
        EXPECT_LE(blocks * cached_classes::bytes_of(size_class), room) << bytes;
    }
}

TEST(depot, tells_its_blocks_and_lists_in_the_record_of_all_allocators) {
    heap of;
    const auto self = thread_cache::this_thread();
    std::mt19937 random(11);
    std::vector<void*> blocks, runs;
    {
        thread_cache cache(of.depot);
        for (int i = 0; i < 5000; ++i) blocks.push_back(cache.take(cached_classes::class_of(any_size(random))));
        bool is_zero = false;
        for (int i = 0; i < 20; ++i) runs.push_back(of.depot.take_run(40'000, self, is_zero));
        for (std::size_t i = 0; i < blocks.size(); i += 3) cache.put(of.class_at(blocks[i]), blocks[i]);
        std::size_t in_cache = 0;
        for (unsigned each = 1; each < cached_classes::count; ++each) in_cache += cache.blocks(each);
        const auto open = of.depot.record(self);
        EXPECT_EQ(open.use.blocks, 5000 - 1667 + in_cache + runs.size());
        cache.flush();
    }
    for (std::size_t i = 0; i < runs.size(); i += 2) of.depot.put_run(runs[i], self);
    const millpond::classic::heap_record record = of.depot.record(self);
    EXPECT_EQ(record.use.blocks, 5000u - 1667 + 10);
    EXPECT_FALSE(record.requested_bytes().has_value());
    EXPECT_LE(record.use.block_bytes + record.use.free_bytes, record.use.used_bytes);
    EXPECT_LE(record.use.used_bytes, record.use.held_bytes);
    EXPECT_LE(record.use.held_bytes, record.use.mapped_bytes);
    std::size_t lists = 0, longest = 0;
    for (unsigned each = 1; each < cached_classes::count; ++each) {
        lists += of.depot.freed_blocks(each) != 0;
        longest = std::max(longest, of.depot.freed_blocks(each));
    }
    EXPECT_GT(record.lists, lists) << "runs have lists, too";
    EXPECT_EQ(record.longest_list, longest);
}

TEST(huge_regions, cost_at_most_a_fifteenth_of_what_is_resident) {
    using millpond::preload::huge_regions;
    for (std::size_t resident = 0; resident <= huge_regions::region_pages(); ++resident) {
        const std::size_t added = huge_regions::region_pages() - resident;
        EXPECT_EQ(huge_regions::is_full_enough(resident), added * 15 <= resident) << resident;
    }
    EXPECT_FALSE(huge_regions::is_full_enough(0));
    const std::size_t enough = huge_regions::region_pages() / 16 * 15;
    EXPECT_FALSE(huge_regions::is_full_enough(enough - 1));
    EXPECT_TRUE(huge_regions::is_full_enough(enough));
}

// A kernel that cannot collapse pages changes nothing; the bound holds there, too.
TEST(huge_regions, barely_touched_blocks_stay_untouched) {
    using millpond::preload::huge_regions;
    heap of;
    of.depot.make_huge_pages();
    const auto self = thread_cache::this_thread();
    bool is_zero = false;
    std::vector<char*> runs;
    for (int i = 0; i < 48; ++i) {
        auto* const run = static_cast<char*>(of.depot.take_run(mebibyte, self, is_zero));
        ASSERT_NE(run, nullptr);
        // Wholly, half, or its first page: 16 MiB and more of each.
        const std::size_t touched = i < 16 ? mebibyte : i < 32 ? mebibyte / 2 : 1;
        for (std::size_t at = 0; at < touched; at += 4096) run[at] = static_cast<char>(i + 1);
        runs.push_back(run);
    }
    std::size_t resident = 0;
    for (std::size_t at = 0; at + huge_regions::region_bytes <= of.space.map.accessible_bytes();
         at += huge_regions::region_bytes)
        resident += huge_regions::resident_pages(of.space.map.page_at(0) + at);
    const std::size_t touched_pages = 16 * 256 + 16 * 128 + 16;
    EXPECT_LE(resident * 15, touched_pages * 16);
    for (int i = 0; i < 16; ++i) {
        for (std::size_t at = 0; at < mebibyte; at += 4096)
            ASSERT_EQ(runs[static_cast<std::size_t>(i)][at], static_cast<char>(i + 1));
    }
    for (char* each : runs) of.depot.put_run(each, self);
}

TEST(thread_cache, passes_unused_lists_on) {
    heap of;
    thread_cache cache(of.depot);
    std::vector<void*> blocks;
    for (int i = 0; i < 2000; ++i) blocks.push_back(cache.take(cached_classes::class_of(100)));
    for (void* each : blocks) cache.put(of.class_at(each), each);
    ASSERT_GT(of.depot.record(thread_cache::this_thread()).use.blocks, 0u);
    blocks.clear();
    for (int i = 0; i < 20000; ++i) blocks.push_back(cache.take(cached_classes::class_of(700)));
    std::size_t cached = 0;
    of.space.map.for_each_owned([&](const void*, millpond::preload::slab_owner owner) {
        cached += owner.size_class == cached_classes::class_of(100);
    });
    EXPECT_EQ(cached, 0u) << "slabs of the class that is not used";
}

TEST(depot, without_memory_gives_null_and_recovers) {
    heap of(4 * mebibyte);
    thread_cache cache(of.depot);
    std::vector<void*> blocks;
    while (void* const p = cache.take(cached_classes::class_of(1000))) blocks.push_back(p);
    EXPECT_GE(blocks.size() * 1024, 3 * mebibyte);
    EXPECT_EQ(cache.take(cached_classes::class_of(5000)), nullptr);
    for (void* each : blocks) cache.put(of.class_at(each), each);
    cache.flush();
    EXPECT_NE(cache.take(cached_classes::class_of(5000)), nullptr);
}

TEST(depot, a_forked_child_keeps_the_free_locks) {
    heap of;
    thread_cache cache(of.depot);
    void* const p = cache.take(cached_classes::class_of(64));
    ASSERT_NE(p, nullptr);
    of.depot.retire_unless_held_by(0);
    of.depot.hand_over(p);
    for (int i = 0; i < 10000; ++i) ASSERT_NE(cache.take(cached_classes::class_of(64)), nullptr);
}

TEST(depot, collects_handed_over_blocks) {
    heap of;
    thread_cache cache(of.depot);
    std::vector<void*> blocks;
    for (int i = 0; i < 100000; ++i) blocks.push_back(cache.take(cached_classes::class_of(200)));
    for (void* each : blocks) of.depot.hand_over(each);
    ASSERT_NE(cache.take(cached_classes::class_of(9000)), nullptr);
    EXPECT_LE(of.used, 2 * mebibyte);
}

TEST(depot_threads, blocks_keep_their_contents_until_any_thread_frees_them) {
    heap of;
    constexpr int threads = 4;
    std::mutex lock;
    std::vector<object> common;
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t) {
        running.emplace_back([&, t] {
            thread_cache cache(of.depot);
            std::mt19937 random(static_cast<unsigned>(t));
            std::vector<object> own;
            for (int i = 0; i < 20000; ++i) {
                if (random() % 2 == 0 || own.empty()) {
                    own.push_back(make(cache, any_size(random), static_cast<unsigned char>(random())));
                    ASSERT_NE(own.back().first, nullptr);
                } else if (random() % 4 == 0) {
                    const std::lock_guard guard(lock);
                    common.push_back(own.back());
                    own.pop_back();
                    std::swap(common[random() % common.size()], common.back());
                    own.push_back(common.back());
                    common.pop_back();
                } else {
                    std::swap(own[random() % own.size()], own.back());
                    EXPECT_TRUE(own.back().is_whole());
                    cache.put(of.class_at(own.back().first), own.back().first);
                    own.pop_back();
                }
            }
            for (const object& one : own) {
                EXPECT_TRUE(one.is_whole());
                if (random() % 2 == 0)
                    cache.put(of.class_at(one.first), one.first);
                else
                    of.depot.hand_over(one.first);
            }
            cache.flush();
        });
    }
    for (std::thread& each : running) each.join();
    thread_cache last(of.depot);
    (void)last.take(1);
    EXPECT_LE(of.used, 8 * mebibyte);
}

TEST(depot_threads, producer_and_consumer_stay_within_what_is_on_the_way) {
    heap of;
    std::mutex lock;
    std::condition_variable changed;
    std::deque<std::vector<void*>> queue;
    bool is_done = false;
    std::size_t most = 0;
    std::thread consumer([&] {
        thread_cache cache(of.depot);
        for (;;) {
            std::vector<void*> batch;
            {
                std::unique_lock guard(lock);
                changed.wait(guard, [&] { return is_done || !queue.empty(); });
                if (queue.empty()) break;
                batch = std::move(queue.front());
                queue.pop_front();
            }
            changed.notify_all();
            for (void* each : batch) cache.put(of.class_at(each), each);
        }
        cache.flush();
    });
    thread_cache cache(of.depot);
    for (int i = 0; i < 2000; ++i) {
        std::vector<void*> batch;
        for (int j = 0; j < 100; ++j) batch.push_back(cache.take(cached_classes::class_of(150)));
        std::unique_lock guard(lock);
        changed.wait(guard, [&] { return queue.size() < 20; });
        queue.push_back(std::move(batch));
        changed.notify_all();
    }
    {
        const std::lock_guard guard(lock);
        is_done = true;
    }
    changed.notify_all();
    consumer.join();
    cache.flush();
    most = of.held;
    EXPECT_LE(most, 8 * mebibyte) << "32 MiB went through";
}

}  // namespace
