// SPDX-License-Identifier: BSL-1.0
// held_lock_test: while a stopped thread holds a lock of synchronized_multipool, the other threads go on without it.
#include <gtest/gtest.h>

#include <cstring>
#include <millpond/local.hpp>
#include <new>
#include <vector>

#include "support/held_source.hpp"
#include "support/in_a_thread.hpp"

namespace millpond {
namespace {

struct safe_held_source : test::held_source<new_delete> {};
struct unsafe_held_source : test::held_source<monotonic<new_delete>> {};  // what is lost stays its own

}  // namespace
template <>
inline constexpr bool is_thread_safe_source<safe_held_source> = true;
namespace {

using test::in_a_thread;

// Holds the lock: the source is called under it for a chunk, which small blocks need now and then.
template <class Source, class Work>
void while_the_lock_is_held(synchronized_multipool<Source>& pool, Work work) {
    const auto use_up_chunks = [&pool] {
        while (Source::is_held) static_cast<void>(pool.allocate(512, 8));
    };
    test::while_held<Source>(use_up_chunks, work);
}

TEST(held_lock_threads, blocks_of_ended_threads_wait_for_the_lock_and_serve_then) {
    synchronized_multipool<safe_held_source> pool;
    std::vector<void*> blocks(1000);
    for (void*& block : blocks) block = pool.allocate(64, 8);
    while_the_lock_is_held(pool, [&] {
        in_a_thread([&] {
            for (void* block : blocks) pool.deallocate(block, 64, 8);
        });
        // From the source itself: the blocks of the thread that has ended are out of reach, too.
        std::vector<void*> more(300);
        for (void*& block : more) {
            ASSERT_NE(block = pool.try_allocate(64, 8), nullptr);
            std::memset(block, 1, 64);
        }
        for (void* block : more) pool.deallocate(block, 64, 8);
        in_a_thread([&] { pool.deallocate(pool.try_allocate(64, 8), 64, 8); });
        EXPECT_GT(pool.held_bytes(), 300u * 64) << "can be asked for without the lock";
    });
    const std::size_t held = pool.held_bytes();
    for (void*& block : blocks) block = pool.allocate(64, 8);
    EXPECT_EQ(pool.held_bytes(), held);
    for (void* block : blocks) pool.deallocate(block, 64, 8);
}

TEST(held_lock_threads, a_source_that_has_nothing_left_means_null_there_as_well) {
    synchronized_multipool<safe_held_source> pool;
    static_cast<void>(pool.allocate(64, 8));
    while_the_lock_is_held(pool, [&] {
        for (const std::size_t bytes : {4000u, 20000u}) {  // of a class, and of the source
            safe_held_source::refuses = true;
            EXPECT_EQ(pool.try_allocate(bytes, 8), nullptr);
            safe_held_source::refuses = false;
            void* const block = pool.try_allocate(bytes, 8);
            ASSERT_NE(block, nullptr);
            std::memset(block, 1, bytes);
            pool.deallocate(block, bytes, 8);
        }
    });
}

TEST(held_lock_threads, large_blocks_of_a_source_out_of_reach_are_null_and_lost) {
    synchronized_multipool<unsafe_held_source> pool;
    void* const before = pool.allocate(3000000, 8);
    while_the_lock_is_held(pool, [&] {
        EXPECT_EQ(pool.try_allocate(3000000, 8), nullptr);
        pool.deallocate(before, 3000000, 8);
    });
    EXPECT_NE(pool.try_allocate(3000000, 8), nullptr);
    pool.release();
    EXPECT_EQ(pool.held_bytes(), 0u);
}

// The rack's lock is held while the magazines of ended threads are emptied.
TEST(held_lock_threads, gives_new_magazines_while_ended_ones_are_emptied) {
    using rack_type = detail::magazine_rack<1>;
    rack_type rack;
    alignas(rack_type::cache_line_bytes) unsigned char places[3][sizeof(rack_type::magazine)];
    rack_type::magazine* found[3] = {};
    const auto come = [&](int number) {
        found[number] =
            rack.of_this_thread(1, [&](std::size_t, std::size_t) noexcept -> void* { return places[number]; });
    };
    come(0);
    in_a_thread([&] { come(1); });
    int emptied = 0;
    rack.for_each_ended(1, [&](rack_type::magazine& left) noexcept {
        ++emptied;
        EXPECT_EQ(&left, found[1]);
        in_a_thread([] { static_cast<void>(detail::thread_life::of_this_thread()); });  // one more has ended
        in_a_thread([&] {
            rack.for_each_ended(1, [&](rack_type::magazine&) noexcept { ADD_FAILURE() << "two empty it at once"; });
            come(2);
        });
    });
    EXPECT_EQ(emptied, 1);
    EXPECT_NE(found[2], nullptr);
    EXPECT_NE(found[2], found[1]) << "that one is being emptied";
    rack.for_each_ended(1, [&](rack_type::magazine&) noexcept { ++emptied; });
    EXPECT_EQ(emptied, 3) << "both that were left";
}

}  // namespace
}  // namespace millpond
