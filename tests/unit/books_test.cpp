// SPDX-License-Identifier: BSL-1.0
// books_test: the parts of `checked`, one by one: lists and tables of records, places, guards, sites, the text of a
// report, and edge cases of its findings.
#include <gtest/gtest.h>
#if !defined(_WIN32)
#include <dlfcn.h>
#endif

#include <algorithm>
#include <cstring>
#include <map>
#include <millpond/millpond.hpp>
#include <string>
#include <vector>

#include "support/accounting_source.hpp"
#include "support/highest_bit.hpp"
#include "support/recorded_misuses.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

using test::uniform;

// Returns the records in both directions of the links.
std::vector<detail::block_record*> forwards(const detail::record_list& list) {
    std::vector<detail::block_record*> seen;
    for (detail::block_record* r = list.oldest(); r != nullptr; r = r->newer) seen.push_back(r);
    return seen;
}
std::vector<detail::block_record*> backwards(const detail::record_list& list) {
    std::vector<detail::block_record*> seen;
    for (detail::block_record* r = list.newest(); r != nullptr; r = r->older) seen.push_back(r);
    std::reverse(seen.begin(), seen.end());
    return seen;
}

TEST(record_list, is_that_of_a_model_in_both_directions) {
    std::vector<detail::block_record> records(20);
    std::vector<detail::block_record*> model, outside;
    for (detail::block_record& record : records) outside.push_back(&record);
    detail::record_list list;
    auto numbers = test::random_numbers();
    for (int step = 0; step < 3000; ++step) {
        const int choice = uniform(numbers, 0, 3);
        if (choice < 2 && !outside.empty()) {
            detail::block_record* const record = outside.back();
            outside.pop_back();
            choice == 0 ? list.push(record) : list.push_oldest(record);
            model.insert(choice == 0 ? model.end() : model.begin(), record);
        } else if (choice >= 2 && !model.empty()) {
            const auto at = model.begin() + uniform<std::ptrdiff_t>(numbers, 0, std::ssize(model) - 1);
            list.remove(*at);
            outside.push_back(*at);
            model.erase(at);
        }
        ASSERT_EQ(forwards(list), model);
        ASSERT_EQ(backwards(list), model);
        ASSERT_EQ(list.size(), model.size());
    }
}

TEST(block_table, finds_what_is_in_it_and_nothing_else_however_it_grows) {
    std::vector<char> memory(40000);
    std::map<char*, detail::block_record*> model;
    detail::block_table table, other;
    EXPECT_EQ(table.find(memory.data()), nullptr);
    auto numbers = test::random_numbers();
    for (int step = 0; step < 40000; ++step) {
        char* const start = memory.data() + uniform<std::size_t>(numbers, 0, 4999) * 8;
        detail::block_record* const found = table.find(start);
        const auto expected = model.find(start);
        ASSERT_EQ(found, expected == model.end() ? nullptr : expected->second);
        if (found == nullptr) {
            ASSERT_TRUE(table.reserve());
            detail::block_record* const made = detail::block_table::new_record();
            made->start = start;
            table.insert(made);
            model.emplace(start, made);
        } else if (uniform(numbers, 0, 2) == 0) {
            table.remove(found);
            detail::block_table::free_record(found);
            model.erase(start);
        }
        ASSERT_EQ(table.size(), model.size());
    }
    table.swap(other);
    EXPECT_EQ(table.size(), 0u);
    for (const auto& [start, record] : model) ASSERT_EQ(other.find(start), record);
}

TEST(checkpoint_history, knows_the_places_that_are_left) {
    detail::checkpoint_history history;
    const auto first = history.mark(0);
    EXPECT_EQ(history.mark(0).number, first.number) << "nothing was allocated between them";
    std::vector<detail::checkpoint_history::place> places;
    for (std::uint64_t blocks = 1; blocks <= 100; ++blocks) places.push_back(history.mark(blocks));
    EXPECT_TRUE(history.rewind_to(places[50], 100));
    EXPECT_TRUE(history.rewind_to(places[50], 100)) << "the place itself stays";
    EXPECT_FALSE(history.rewind_to(places[51], 100));
    EXPECT_EQ(history.mark(100).number, places[50].number);
    EXPECT_NE(history.mark(101).number, places[51].number);
    EXPECT_FALSE(history.rewind_to(places[51], 101));
    EXPECT_TRUE(history.rewind_to(first, 101));
    EXPECT_FALSE(history.rewind_to(places[0], 101));
    history.clear();
    EXPECT_FALSE(history.rewind_to(first, 101));
}

#if !defined(_WIN32)  // whose modules are not told
TEST(call_site, is_told_by_module_and_offset_of_the_call) {
    const void* const here = reinterpret_cast<const void*>(&forwards);
    Dl_info module{};
    ASSERT_NE(dladdr(here, &module), 0);
    const auto address = reinterpret_cast<std::uintptr_t>(here);
    const std::string path = module.dli_fname;
    char expected[300];
    std::snprintf(expected, sizeof expected, "0x%zx (%s+0x%zx)", address - 1, path.substr(path.rfind('/') + 1).c_str(),
                  address - 1 - reinterpret_cast<std::uintptr_t>(module.dli_fbase));
    char text[300];
    call_site(here).write(text, sizeof text);
    EXPECT_STREQ(text, expected);
    call_site().write(text, sizeof text);
    EXPECT_STREQ(text, "(unknown)");
    EXPECT_FALSE(call_site());
    EXPECT_TRUE(call_site(here));
    call_site(reinterpret_cast<const void*>(std::uintptr_t{17})).write(text, sizeof text);
    EXPECT_STREQ(text, "0x10") << "nothing is mapped there";
    for (std::size_t size = 1; size < 40; ++size) {
        std::memset(text, 'x', sizeof text);
        call_site(here).write(text, size);
        EXPECT_EQ(text, std::string(expected).substr(0, size - 1));
        EXPECT_EQ(text[size], 'x');
    }
}
#endif

TEST(misuse, is_told_in_as_much_room_as_there_is) {
    misuse what{.kind = misuse_kind::double_free, .block = &what, .is_known = true, .bytes = 24, .alignment = 8};
    std::snprintf(what.details, sizeof what.details, "was given back before");
    char whole[300];
    what.write(whole, sizeof whole);
    const std::string line = whole;
    EXPECT_EQ(line.find("millpond: double free: block of 24 bytes aligned to 8 at "), 0u) << line;
    EXPECT_EQ(line.substr(line.size() - 22), " was given back before") << line;
    for (std::size_t size = 1; size < line.size(); ++size) {
        char text[300];
        std::memset(text, 'x', sizeof text);
        what.write(text, size);
        ASSERT_EQ(text, line.substr(0, size - 1));
        ASSERT_EQ(text[size], 'x');
    }
}

TEST(misuse, sites_are_named_by_what_happened_there) {
    const call_site site(reinterpret_cast<const void*>(std::uintptr_t{17}));
    for (int i = 0; i <= static_cast<int>(misuse_kind::owner_winked_out); ++i) {
        const auto kind = static_cast<misuse_kind>(i);
        misuse what{.kind = kind, .allocated_at = site, .ended_at = site, .detected_at = site};
        char text[300];
        what.write(text, sizeof text);
        const bool is_freed = kind == misuse_kind::double_free || kind == misuse_kind::use_after_free;
        const std::string expected = std::string("millpond: ") + name_of(kind) + ": ; allocated at 0x10, " +
                                     (is_freed ? "freed" : "gone") + " at 0x10, detected at 0x10";
        EXPECT_EQ(text, expected);
    }
}

TEST(guarded_block, has_room_for_every_alignment_and_refuses_impossible_sizes) {
    for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        EXPECT_EQ(detail::guarded_block::front_bytes(alignment) % alignment, 0u);
        EXPECT_GE(detail::guarded_block::front_bytes(alignment), 64u);
        EXPECT_EQ(detail::guarded_block::whole_bytes(100, alignment),
                  detail::guarded_block::front_bytes(alignment) + 100 + detail::guarded_block::back_bytes);
    }
    constexpr std::size_t top = static_cast<std::size_t>(-1);
    for (const std::size_t bytes : {top, top - 127, detail::max_bytes, detail::max_bytes / 2 + 1})
        EXPECT_EQ(detail::guarded_block::whole_bytes(bytes, 8), 0u);
    EXPECT_EQ(detail::guarded_block::whole_bytes(8, test::highest_bit), 0u);
}

TEST(checked_edges, a_pointer_right_behind_a_block_is_not_inside_it) {
    test::recorded_misuses seen;
    checked<monotonic<>> pool;
    auto* const block = static_cast<char*>(pool.allocate(48, 8));
    pool.deallocate(block + 47, 1, 1);
    pool.deallocate(block + 48, 1, 1);
    ASSERT_EQ(seen.lines().size(), 2u);
    EXPECT_NE(seen.lines()[0].find("which lies 47 bytes inside the block of 48 bytes"), std::string::npos);
    EXPECT_EQ(seen.lines()[1].find("inside the block"), std::string::npos) << seen.lines()[1];
}

TEST(checked_edges, a_smaller_size_and_a_smaller_alignment_are_wrong_as_well) {
    test::recorded_misuses seen;
    checked<multipool<>> pool;
    for (const std::size_t bytes : {23u, 25u, 0u}) pool.deallocate(pool.allocate(24, 8), bytes, 8);
    EXPECT_EQ(seen.take(), std::vector(3, misuse_kind::wrong_size));
    for (const std::size_t alignment : {1u, 4u, 16u}) pool.deallocate(pool.allocate(24, 8), 24, alignment);
    EXPECT_EQ(seen.take(), std::vector(3, misuse_kind::wrong_alignment));
}

TEST(checked_edges, a_block_that_its_owner_has_freed_is_foreign_to_others) {
    test::recorded_misuses seen;
    checked<multipool<>> first, owner, last;
    void* const block = owner.allocate(24, 8);
    first.deallocate(block, 24, 8);
    last.deallocate(block, 24, 8);
    EXPECT_EQ(seen.take(), std::vector(2, misuse_kind::other_allocator));
    owner.deallocate(block, 24, 8);
    first.deallocate(block, 24, 8);
    last.deallocate(block, 24, 8);
    EXPECT_EQ(seen.take(), std::vector(2, misuse_kind::foreign_pointer));
    {
        checked<multipool<>> passing;
        last.deallocate(passing.allocate(8, 8), 8, 8);
    }
    checked<multipool<>> later;
    first.deallocate(later.allocate(8, 8), 8, 8);
    EXPECT_EQ(seen.take(), std::vector(2, misuse_kind::other_allocator));
}

// A small block may have pages of its own, where an overrun faults; a large one has guards.
TEST(checked_edges, a_misuse_is_reported_once) {
    for (const std::size_t bytes : {std::size_t{24}, std::size_t{5} << 20}) {
        test::recorded_misuses seen;
        checked<multipool<>> pool;
        auto* const block = static_cast<char*>(pool.allocate(bytes, 8));
        detail::unpoison_contents(block, bytes + 1);
        block[bytes] ^= 1;
        for (int i = 0; i < 3; ++i) pool.verify();
        pool.deallocate(block, bytes, 8);
        detail::unpoison_contents(block, bytes);
        block[3] ^= 1;
        for (int i = 0; i < 3; ++i) pool.verify();
        EXPECT_EQ(seen.take(), (std::vector{misuse_kind::overrun, misuse_kind::use_after_free})) << bytes;
    }
}

TEST(checked_edges, absorbed_blocks_are_older_than_any_checkpoint) {
    test::recorded_misuses seen;
    checked<monotonic<>> pool, other;
    for (int i = 0; i < 5; ++i) static_cast<void>(other.allocate(24, 8));
    static_cast<void>(pool.allocate(24, 8));
    const auto place = pool.checkpoint();
    static_cast<void>(pool.allocate(24, 8));
    pool.deallocate(pool.allocate(24, 8), 24, 8);
    pool.absorb(other);
    pool.rewind(place);
    EXPECT_EQ(pool.live_blocks(), 6u);
    static_cast<void>(pool.allocate(5000, 8));
    pool.verify();
    EXPECT_TRUE(seen.take().empty());
}

// The bookkeeping stays bounded: it knows the fate of the last 65536 ended blocks.
TEST(checked_edges, blocks_that_went_long_ago_are_forgotten) {
    test::recorded_misuses seen;
    checked<monotonic<>> pool(checks{.quarantine_bytes = 0});
    std::vector<void*> blocks(66000);
    for (void*& block : blocks) block = pool.allocate(8, 8);
    for (void* block : blocks) pool.deallocate(block, 8, 8);
    EXPECT_TRUE(seen.take().empty());
    pool.deallocate(blocks.back(), 8, 8);
    pool.deallocate(blocks[1000], 8, 8);
    pool.deallocate(blocks.front(), 8, 8);
    EXPECT_EQ(seen.take(),
              (std::vector{misuse_kind::double_free, misuse_kind::double_free, misuse_kind::foreign_pointer}));
}

// The memory of a block that was freed after the checkpoint belongs to the next block.
TEST(checked_edges, a_rewind_takes_blocks_out_of_quarantine) {
    test::recorded_misuses seen;
    checked<monotonic<>> pool;
    for (int round = 0; round < 50; ++round) {
        const auto place = pool.checkpoint();
        static_cast<void>(pool.allocate(10, 8));
        void* const freed = pool.allocate(100, 8);
        pool.deallocate(freed, 100, 8);
        pool.rewind(place);
        void* const block = pool.allocate(300, 8);  // begins before it and covers it
        std::memset(block, 1, 300);
        pool.verify();
        pool.deallocate(block, 300, 8);
        EXPECT_TRUE(seen.take().empty());
    }
}

}  // namespace
}  // namespace millpond
