// SPDX-License-Identifier: BSL-1.0
// live_objects: the table agrees with a plain map on every sequence, and hand-offs with wrong time stamps are mended.
#include "lab/trace/live_objects.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "seed.hpp"

namespace millpond::test {
namespace {

using trace::ending;
using trace::live_objects;
using trace::moment;

struct end_seen {
    int object;
    std::uint64_t time;
    std::uint32_t thread;
    ending how;
    bool operator==(const end_seen&) const = default;
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for this name
void PrintTo(const end_seen& seen, std::ostream* to) {
    *to << "object " << seen.object << " at " << seen.time << " by " << seen.thread
        << (seen.how == ending::freed ? " freed" : " lost");
}

struct mending : ::testing::Test {
    live_objects<int> live{100};
    std::vector<end_seen> ends;

    auto seen() {
        return [this](int object, std::uint64_t, moment at, ending how) {
            ends.push_back({object, at.time_ticks, at.thread, how});
        };
    }
    void begin(int object, std::uint64_t time, std::uint32_t thread, std::uint64_t address = 64) {
        live.begin(address, object, {time, thread}, seen());
    }
    bool end(std::uint64_t time, std::uint32_t thread, std::uint64_t address = 64) {
        return live.end(address, {time, thread}, seen());
    }
};

TEST_F(mending, objects_that_alternate_end_as_they_are_freed) {
    begin(1, 10, 1);
    EXPECT_TRUE(end(20, 2));
    begin(2, 30, 2);
    EXPECT_TRUE(end(40, 1));
    EXPECT_EQ(ends, (std::vector<end_seen>{{1, 20, 2, ending::freed}, {2, 40, 1, ending::freed}}));
    EXPECT_EQ(live.size() + live.mended() + live.lost_frees() + live.unmatched_frees(), 0u);
}

TEST_F(mending, an_allocation_stamped_too_early_is_moved_behind_the_free) {
    begin(1, 10, 1);
    begin(2, 50, 2);
    EXPECT_TRUE(end(55, 1));
    EXPECT_TRUE(end(90, 1));
    EXPECT_EQ(ends, (std::vector<end_seen>{{1, 50, 1, ending::freed}, {2, 90, 1, ending::freed}}));
    EXPECT_EQ(live.mended(), 1u);
    EXPECT_EQ(live.lost_frees(), 0u);
}

TEST_F(mending, a_thread_that_allocates_and_frees_ends_its_own_object) {
    begin(1, 10, 1);
    begin(2, 50, 2);
    EXPECT_TRUE(end(52, 2));  // thread 2 cannot have freed object 1 after it got the address
    EXPECT_TRUE(end(55, 1));
    EXPECT_EQ(ends, (std::vector<end_seen>{{2, 52, 2, ending::freed}, {1, 50, 1, ending::freed}}));
    EXPECT_EQ(live.size(), 0u);
}

TEST_F(mending, a_free_stamped_before_its_allocation_ends_it_at_once) {
    EXPECT_FALSE(end(10, 2));
    begin(1, 15, 1);
    EXPECT_EQ(ends, (std::vector<end_seen>{{1, 15, 2, ending::freed}}));
    EXPECT_EQ(live.size(), 0u);
    EXPECT_EQ(live.mended(), 1u);
}

TEST_F(mending, an_allocation_by_the_thread_that_freed_is_a_new_object) {
    EXPECT_FALSE(end(10, 1));
    begin(1, 15, 1);
    EXPECT_EQ(live.size(), 1u);
    live.settle(seen());
    EXPECT_EQ(live.unmatched_frees(), 1u);
    EXPECT_TRUE(ends.empty());
}

TEST_F(mending, beyond_the_window_a_free_is_lost_or_unmatched) {
    begin(1, 10, 1);
    begin(2, 50, 2);
    EXPECT_TRUE(end(151, 1));  // of object 2, for the window of 1 is over
    EXPECT_EQ(ends, (std::vector<end_seen>{{1, 50, 2, ending::lost_free}, {2, 151, 1, ending::freed}}));
    EXPECT_FALSE(end(200, 2));
    begin(3, 301, 1);
    EXPECT_EQ(live.size(), 1u);
    EXPECT_EQ(live.lost_frees(), 1u);
    EXPECT_EQ(live.unmatched_frees(), 1u);
    EXPECT_EQ(live.mended(), 0u);
}

TEST_F(mending, a_chain_of_hand_offs_is_put_right_in_order) {
    begin(1, 10, 1);
    begin(2, 50, 2);
    begin(3, 51, 3);
    EXPECT_TRUE(end(52, 1));
    EXPECT_TRUE(end(53, 2));
    EXPECT_TRUE(end(99, 3));
    EXPECT_EQ(ends,
              (std::vector<end_seen>{{1, 50, 1, ending::freed}, {2, 51, 2, ending::freed}, {3, 99, 3, ending::freed}}));
}

TEST_F(mending, the_end_of_the_trace_settles_waiting_events) {
    begin(1, 10, 1);
    begin(2, 11, 2);
    EXPECT_FALSE(end(12, 1, 128));
    live.settle(seen());
    EXPECT_EQ(ends, (std::vector<end_seen>{{1, 11, 2, ending::lost_free}}));
    EXPECT_EQ(live.lost_frees(), 1u);
    EXPECT_EQ(live.unmatched_frees(), 1u);
    EXPECT_EQ(live.size(), 1u);
}

TEST_F(mending, a_flood_of_unmatched_frees_stays_bounded_and_counted) {
    for (std::uint64_t i = 0; i < 100000; ++i) EXPECT_FALSE(end(10, 1, 16 * i));
    for (int i = 0; i < 1000; ++i) begin(i, 10, 1, 64);
    live.settle(seen());
    EXPECT_EQ(live.unmatched_frees(), 100000u);
    EXPECT_EQ(live.lost_frees(), 999u);
    EXPECT_EQ(live.size(), 1u);
}

TEST_F(mending, address_zero_is_no_object) {
    begin(1, 10, 1, 0);
    EXPECT_FALSE(end(20, 1, 0));
    EXPECT_EQ(live.find(0), nullptr);
    EXPECT_EQ(live.size(), 0u);
}

// Every object ends once or is still there.
TEST(live_objects, agrees_with_a_map_on_every_sequence_of_one_thread) {
    SCOPED_TRACE("--seed=" + std::to_string(seed()));
    std::mt19937_64 random(seed());
    for (const std::uint64_t addresses : {8u, 1000u, 100000u}) {
        live_objects<std::uint64_t> live;
        std::unordered_map<std::uint64_t, std::uint64_t> model;
        std::uint64_t ended = 0, lost = 0, given = 0;
        const auto seen = [&](std::uint64_t, std::uint64_t, moment, ending how) {
            ++(how == ending::freed ? ended : lost);
        };
        const std::uint64_t spacing = random() % 2 ? 16 : 4096;
        for (std::uint64_t time = 1; time < 300000; ++time) {
            const std::uint64_t address = spacing * (1 + random() % addresses);
            live.prefetch(address);
            const bool known = model.contains(address);
            const std::uint64_t* found = live.find(address);
            ASSERT_EQ(found != nullptr, known);
            if (known) {
                ASSERT_EQ(*found, model[address]);
            }
            if (random() % 2) {
                live.begin(address, time, {time * 1000000, 1}, seen);
                model[address] = time;
                ++given;
            } else {
                ASSERT_EQ(live.end(address, {time * 1000000, 1}, seen), known);
                model.erase(address);
            }
            ASSERT_EQ(live.size(), model.size());
        }
        live.settle(seen);
        std::size_t left = 0;
        live.for_each([&](std::uint64_t address, std::uint64_t object) {
            ++left;
            EXPECT_EQ(model.at(address), object);
        });
        EXPECT_EQ(left, model.size());
        EXPECT_EQ(given, ended + lost + left);
        EXPECT_EQ(lost, live.lost_frees());
        EXPECT_EQ(live.mended(), 0u);
    }
}

// The true history alternates at every address; each hand-off is stamped up to 30 ticks wrong. After mending, every
// object ends once by a free, and none is lost.
TEST(live_objects, mends_every_hand_off_that_is_stamped_wrong_within_the_window) {
    SCOPED_TRACE("--seed=" + std::to_string(seed()));
    std::mt19937_64 random(seed());
    struct stamped {
        std::uint64_t time, address;
        std::uint32_t thread;
        bool begins;
    };
    std::vector<stamped> events;
    std::uint64_t objects = 0;
    for (std::uint64_t address = 16; address <= 8000; address += 16) {
        std::uint64_t time = 1000 + random() % 1000;
        std::uint32_t holder = 1;
        for (int life = 0; life < 40; ++life, ++objects) {
            events.push_back({time, address, holder, true});
            time += 200;
            events.push_back({time, address, holder, false});
            const std::uint32_t next = 1 + random() % 4;
            // Another thread gets the address at once, and its clock is behind; the same thread's clock never is.
            time = next == holder ? time + 10 : time + 10 - random() % 30;
            holder = next;
        }
    }
    // Equal times in the order in which they were made: the events of one address must not change places.
    std::multimap<std::uint64_t, stamped> by_time;
    for (const stamped& e : events) by_time.emplace(e.time, e);
    live_objects<std::uint64_t> live(100);
    std::uint64_t freed = 0;
    const auto seen = [&](std::uint64_t began, std::uint64_t, moment at, ending how) {
        freed += how == ending::freed;
        EXPECT_GE(at.time_ticks, began);
    };
    for (const auto& [time, e] : by_time) {
        if (e.begins)
            live.begin(e.address, time, {time, e.thread}, seen);
        else
            live.end(e.address, {time, e.thread}, seen);
    }
    live.settle(seen);
    EXPECT_EQ(freed, objects);
    EXPECT_GT(live.mended(), 0u);
    EXPECT_EQ(live.size() + live.lost_frees() + live.unmatched_frees(), 0u);
}

}  // namespace
}  // namespace millpond::test
