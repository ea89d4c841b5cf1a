// SPDX-License-Identifier: BSL-1.0
// checked_test: every misuse is reported once, with the block, its history, and the sites.
#include <gtest/gtest.h>

#include <millpond/millpond.hpp>
#include <string>
#include <vector>

#include "support/accounting_source.hpp"
#include "support/recorded_misuses.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_source;
using test::recorded_misuses;
using kind = misuse_kind;

static_assert(rewindable_allocator<checked<monotonic<>>> && managed_allocator<checked<multipool<>>>);
static_assert(!rewindable_allocator<checked<multipool<>>> && !managed_allocator<checked<new_delete>>);
static_assert(allocator_like<checked<new_delete>> && rewindable_allocator<synchronized<checked<monotonic<>>>>);
static_assert(detail::is_checked<checked<multipool<>>> && detail::is_checked<resource<checked<monotonic<>>>>);
static_assert(detail::is_checked<resource<synchronized<checked<multipool<>>>&>> &&
              !detail::is_checked<resource<multipool<>>>);

template <class Pool>
char* block_of(Pool& pool, std::size_t bytes, std::size_t alignment = 8) {
    return static_cast<char*>(pool.allocate(bytes, alignment));
}

TEST(checked, a_report_names_the_block_what_happened_and_the_sites) {
    recorded_misuses seen;
    checked<multipool<>> pool;
    char* const block = block_of(pool, 24);
    pool.deallocate(block, 24, 8);
    pool.deallocate(block, 24, 8);
    ASSERT_EQ(seen.kinds(), std::vector{kind::double_free});
    const std::string line = seen.lines().front();
    char expected[100];
    std::snprintf(expected, sizeof expected,
                  "millpond: double free: block of 24 bytes aligned to 8 at %p was given back",
                  static_cast<void*>(block));
    EXPECT_EQ(line.find(expected), 0u) << line;
    for (const char* site : {"allocated at 0x", "freed at 0x", "detected at 0x", "+0x"})
        EXPECT_NE(line.find(site), std::string::npos) << line;
}

TEST(checked, every_byte_of_both_guards_counts) {
    recorded_misuses seen;
    checked<multipool<>> pool;
    for (const std::size_t bytes : {0u, 1u, 7u, 8u, 13u, 24u, 100u, 5000u}) {
        for (const std::size_t alignment : {1u, 8u, 16u, 64u, 512u}) {
            for (std::ptrdiff_t at = -64; at < 64; ++at) {
                char* const block = block_of(pool, bytes, alignment);
                ASSERT_TRUE(detail::is_aligned(block, alignment));
                char* const harmed = at < 0 ? block + at : block + bytes + at;
                detail::unpoison(harmed, 1);  // a memory checker would be first
                *harmed ^= 1;
                pool.deallocate(block, bytes, alignment);
                ASSERT_EQ(seen.take(), std::vector{at < 0 ? kind::underrun : kind::overrun}) << bytes << ' ' << at;
            }
        }
    }
}

TEST(checked, a_report_says_which_byte_was_written) {
    recorded_misuses seen;
    checked<monotonic<>> pool;
    char* const block = block_of(pool, 24);
    const auto write_at = [&](std::ptrdiff_t at) {
        detail::unpoison_contents(block + at, 1);  // a memory checker would be first
        block[at] = 'x';
    };
    write_at(26);
    pool.verify();
    write_at(-3);
    pool.verify();
    pool.deallocate(block, 24, 8);
    write_at(5);
    pool.verify();
    ASSERT_EQ(seen.lines().size(), 3u);
    EXPECT_NE(seen.lines()[0].find("written at byte 26, behind its end"), std::string::npos) << seen.lines()[0];
    EXPECT_NE(seen.lines()[1].find("written 3 bytes before its start"), std::string::npos) << seen.lines()[1];
    EXPECT_NE(seen.lines()[2].find("written at byte 5 after it was freed"), std::string::npos) << seen.lines()[2];
}

TEST(checked, finds_writes_to_ended_blocks_for_each_way_to_end_them) {
    recorded_misuses seen;
    for (const std::size_t bytes : {1u, 8u, 100u, 4097u}) {
        for (const std::size_t at : {std::size_t{0}, bytes / 2, bytes - 1}) {
            const auto finds = [&](auto end, kind expected) {
                checked<monotonic<>> pool;
                static_cast<void>(block_of(pool, 10));
                const auto place = pool.checkpoint();
                char* const block = block_of(pool, bytes);
                end(pool, place, block);
                detail::unpoison_contents(block, bytes);
                block[at] ^= 1;
                detail::poison(block, bytes);
                pool.deallocate(block_of(pool, 8), 8, 8);  // or the destructor, at the latest
                pool.verify();
                ASSERT_EQ(seen.take(), std::vector{expected}) << bytes << ' ' << at;
            };
            finds([&](auto& pool, auto, char* block) { pool.deallocate(block, bytes, 8); }, kind::use_after_free);
            finds([](auto& pool, auto, char*) { pool.reset(); }, kind::use_after_reset);
            finds([](auto& pool, auto, char*) { pool.release(); }, kind::use_after_release);
            finds([](auto& pool, auto place, char*) { pool.rewind(place); }, kind::use_after_rewind);
        }
    }
}

TEST(checked, names_pointers_whose_memory_was_returned) {
    recorded_misuses seen;
    checked<multipool<new_delete>> pool;
    std::vector<char*> blocks;
    for (int i = 0; i < 1000; ++i) blocks.push_back(block_of(pool, 100));
    pool.release();
    EXPECT_EQ(pool.held_bytes(), 0u);
    for (char* block : blocks) pool.deallocate(block, 100, 8);
    EXPECT_EQ(seen.kinds(), std::vector(1000, kind::use_after_release));
}

TEST(checked, after_a_report_the_allocator_goes_on) {
    recorded_misuses seen;
    accounting_source source;
    {
        checked<multipool<accounting_ref>> pool(source);
        checked<multipool<accounting_ref>> other(source);
        char* const wrong = block_of(pool, 24);
        pool.deallocate(wrong, 1000, 64);
        char* const misplaced = block_of(other, 40);
        pool.deallocate(misplaced, 40, 8);
        other.deallocate(misplaced, 40, 8);
        pool.deallocate(misplaced + 8, 8, 8);
        EXPECT_EQ(pool.try_allocate(8, 3), nullptr);
        EXPECT_EQ(pool.try_allocate(8, 0), nullptr);
        EXPECT_EQ(seen.take(), (std::vector{kind::wrong_size, kind::wrong_alignment, kind::other_allocator,
                                            kind::foreign_pointer, kind::invalid_alignment, kind::invalid_alignment}));
        pool.deallocate(block_of(pool, 24), 24, 8);
        pool.expect_empty();
        other.expect_empty();
    }
    EXPECT_EQ(seen.kinds().size(), 0u);
}

TEST(checked, a_pointer_into_a_block_is_told_from_a_foreign_one) {
    recorded_misuses seen;
    checked<multipool<>> pool;
    char* const block = block_of(pool, 48);
    pool.deallocate(block + 16, 8, 8);
    int local = 0;
    pool.deallocate(&local, 4, 4);
    ASSERT_EQ(seen.lines().size(), 2u);
    EXPECT_NE(seen.lines()[0].find("which lies 16 bytes inside the block of 48 bytes"), std::string::npos);
    EXPECT_NE(seen.lines()[1].find("is not a block of the allocator"), std::string::npos);
}

TEST(checked, reports_leaks_on_request_or_without_owner) {
    recorded_misuses seen;
    {
        checked<multipool<>> silent;
        static_cast<void>(block_of(silent, 8));
        silent.release();
        static_cast<void>(block_of(silent, 8));
    }
    EXPECT_TRUE(seen.take().empty());
    {
        checked<multipool<>> strict(checks{.leaks = true});
        static_cast<void>(block_of(strict, 8));
        static_cast<void>(block_of(strict, 16));
        strict.reset();
        EXPECT_EQ(seen.take(), std::vector{kind::leak});
        static_cast<void>(block_of(strict, 8));
    }
    EXPECT_EQ(seen.take(), std::vector{kind::leak});
    void* lost = nullptr;
    {
        checked<new_delete> heap;
        lost = heap.allocate(24, 8);
    }
    EXPECT_EQ(seen.take(), std::vector{kind::leak});
    new_delete().deallocate(static_cast<char*>(lost) - detail::guarded_block::front_bytes(8),
                            detail::held_for<new_delete>(detail::guarded_block::whole_bytes(24, 8), 8), 8);
}

}  // namespace
}  // namespace millpond
