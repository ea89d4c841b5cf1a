// SPDX-License-Identifier: BSL-1.0
// between_instructions_test: data shared without waiting is consistent at every instruction: another thread that acts
// there finds all in order and leaves all in order.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <millpond/block.hpp>
#include <millpond/core.hpp>
#include <millpond/local.hpp>
#include <new>

#include "support/between_instructions.hpp"
#include "support/bump_source.hpp"
#include "support/held_source.hpp"

namespace millpond {
namespace {

struct held_bump_source : test::held_source<test::bump_source> {};

}  // namespace
template <>
inline constexpr bool is_thread_safe_source<held_bump_source> = true;
namespace {

using test::bump_source;

class between_instructions : public testing::Test {
  protected:
    void SetUp() override {
        if (!test::can_step) GTEST_SKIP() << "the processor does not trap here, or a sanitizer holds signals back";
    }

    // Runs `round(at)` for every instruction, as long as it returns true; that many rounds must have been enough.
    template <class Round>
    static void for_every_instruction(Round round) {
        std::size_t at = 0;
        while (at < 5000 && round(at) && !testing::Test::HasFailure()) ++at;
        EXPECT_GT(at, 5u);
        EXPECT_LT(at, 5000u);
    }

    test::between_instructions stepping;
};

TEST_F(between_instructions, a_chunk_is_never_out_twice_and_none_is_lost) {
    for_every_instruction([this](std::size_t at) {
        bump_source::start_anew();
        detail::basic_chunk_cache<bump_source> cache;
        void* const first = cache.try_allocate(2048, 8);
        void* const other = cache.try_allocate(2048, 8);
        void* mine = nullptr;
        void* theirs = nullptr;
        const auto give_and_take = [&] {
            cache.deallocate(first, 2048, 8);
            mine = cache.try_allocate(2048, 8);
        };
        const bool has_acted = stepping.run(at, give_and_take, [&] {
            theirs = cache.try_allocate(2048, 8);
            cache.deallocate(other, 2048, 8);
            cache.note_released(std::size_t{1} << 20);
        });
        if (!has_acted) cache.deallocate(other, 2048, 8);
        EXPECT_NE(mine, theirs) << at;
        cache.deallocate(mine, 2048, 8);
        if (theirs != nullptr) cache.deallocate(theirs, 2048, 8);
        EXPECT_EQ(cache.held_bytes(), bump_source::live_bytes()) << at;
        return has_acted;
    });
}

TEST_F(between_instructions, a_cache_can_be_trimmed_anywhere_in_another_threads_call) {
    for_every_instruction([this](std::size_t at) {
        bump_source::start_anew();
        detail::basic_chunk_cache<bump_source> cache;
        void* const first = cache.try_allocate(2048, 8);
        void* mine = nullptr;
        const auto give_and_take = [&] {
            cache.deallocate(first, 2048, 8);
            mine = cache.try_allocate(2048, 8);
        };
        const bool has_acted = stepping.run(at, give_and_take, [&] { cache.trim(); });
        EXPECT_NE(mine, nullptr) << at;
        EXPECT_EQ(cache.held_bytes() + detail::basic_chunk_cache<bump_source>::good_bytes(2048),
                  bump_source::live_bytes())
            << at;
        cache.deallocate(mine, 2048, 8);
        cache.trim();
        EXPECT_EQ(bump_source::live_bytes(), 0u) << at;
        return has_acted;
    });
}

TEST_F(between_instructions, large_blocks_of_two_threads_have_a_slot_each) {
    for_every_instruction([this](std::size_t at) {
        bump_source::start_anew();
        bump_source source;
        detail::shared_large_blocks large;
        std::array<void*, 64> others;  // all slots that there are without asking the source
        for (void*& block : others) block = large.try_allocate(source, 100, 8);
        void* mine = nullptr;
        void* theirs = nullptr;
        const bool has_acted = stepping.run(
            at, [&] { mine = large.try_allocate(source, 200, 8); },
            [&] { theirs = large.try_allocate(source, 300, 8); });
        EXPECT_NE(mine, nullptr);
        EXPECT_NE(mine, theirs);
        large.deallocate(source, mine, 200);
        for (void* block : others) large.deallocate(source, block, 100);
        large.release(source);  // also theirs
        EXPECT_EQ(bump_source::live_bytes(), 0u) << at;
        EXPECT_EQ(large.held_bytes(), 0u) << at;
        return has_acted;
    });
}

// At that instant the child has a slot that is taken and has no block yet, or no longer has one.
TEST_F(between_instructions, a_child_forked_at_any_instruction_can_release_large_blocks) {
    for_every_instruction([this](std::size_t at) {
        bump_source::start_anew();
        bump_source source;
        detail::shared_large_blocks large;
        void* const other = large.try_allocate(source, 100, 8);
        large.deallocate(source, large.try_allocate(source, 100, 8), 100);
        int status = 0;
        const auto come_and_go = [&] { large.deallocate(source, large.try_allocate(source, 200, 8), 200); };
        const bool has_acted = stepping.run(at, come_and_go, [&] {
            const pid_t child = fork();
            if (child == 0) {
                large.release(source);
                // Lost memory may stay lost; returning a block twice would make the live bytes negative.
                _exit(large.held_bytes() == 0 && bump_source::live_bytes() < 1000 ? 0 : 1);
            }
            waitpid(child, &status, 0);
        });
        EXPECT_EQ(status, 0) << at;
        large.deallocate(source, other, 100);
        EXPECT_EQ(bump_source::live_bytes(), 0u);
        return has_acted;
    });
}

TEST_F(between_instructions, two_threads_that_come_at_once_have_a_magazine_each) {
    using rack_type = detail::magazine_rack<1>;
    const auto nothing = [] { static_cast<void>(detail::thread_life::of_this_thread()); };
    nothing();
    stepping.act_now(nothing);  // what a thread does once it has done by now
    for_every_instruction([this](std::size_t at) {
        bump_source::start_anew();
        rack_type rack;
        const auto carve = [](std::size_t bytes, std::size_t alignment) noexcept {
            return bump_source().try_allocate(bytes, alignment);
        };
        rack_type::magazine* mine = nullptr;
        rack_type::magazine* theirs = nullptr;
        const bool has_acted = stepping.run(
            at, [&] { mine = rack.of_this_thread(1, carve); }, [&] { theirs = rack.of_this_thread(1, carve); });
        EXPECT_NE(mine, nullptr);
        EXPECT_NE(mine, theirs);
        EXPECT_EQ(rack.of_this_thread(1, carve), mine) << at;
        if (has_acted) {
            rack_type::magazine* again = nullptr;
            stepping.act_now([&] { again = rack.of_this_thread(1, carve); });
            EXPECT_EQ(again, theirs) << at;
        }
        return has_acted;
    });
}

TEST_F(between_instructions, memory_taken_without_the_lock_by_two_threads_is_counted) {
    bump_source::start_anew();
    using depot_type = detail::batch_depot<held_bump_source, powers_of_two<4096>>;
    depot_type depot(first_chunk{1000});
    const auto enter = [&depot] { static_cast<void>(depot.carve(3000, 8)); };
    test::while_held<held_bump_source>(enter, [&] {
        EXPECT_NE(depot.carve(100, 8), nullptr) << "waits, and finds the holder stuck; others wait no more";
        for_every_instruction([this, &depot](std::size_t at) {
            void* mine = nullptr;
            void* theirs = nullptr;
            const bool has_acted =
                stepping.run(at, [&] { mine = depot.carve(100, 8); }, [&] { theirs = depot.carve(100, 8); });
            EXPECT_NE(mine, nullptr);
            EXPECT_NE(mine, theirs);
            return has_acted;
        });
    });
    EXPECT_EQ(depot.held_bytes(), bump_source::live_bytes());
    depot.release();
    EXPECT_EQ(depot.held_bytes(), 0u);
    EXPECT_EQ(bump_source::live_bytes(), 0u);
}

// A number of instructions after which lock() has failed several times and waits.
constexpr std::size_t while_it_waits = 6000;

TEST_F(between_instructions, a_waiting_thread_gets_the_lock_when_it_is_released) {
    detail::patient_lock lock;
    ASSERT_TRUE(lock.try_lock());
    bool is_mine = false;
    EXPECT_TRUE(stepping.run(while_it_waits, [&] { is_mine = lock.lock(1000); }, [&] { lock.unlock(); }));
    EXPECT_TRUE(is_mine);
    EXPECT_FALSE(lock.try_lock());
}

TEST_F(between_instructions, waiting_starts_again_for_the_next_holder) {
    detail::patient_lock lock;
    ASSERT_TRUE(lock.try_lock());
    bool is_mine = true, is_theirs = false;
    EXPECT_TRUE(stepping.run(
        while_it_waits, [&] { is_mine = lock.lock(10); },
        [&] {
            lock.unlock();
            is_theirs = lock.try_lock();
        }));
    EXPECT_TRUE(is_theirs);
    EXPECT_FALSE(is_mine);
    lock.unlock();
    EXPECT_TRUE(lock.lock(10));
}

}  // namespace
}  // namespace millpond
