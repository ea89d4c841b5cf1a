// SPDX-License-Identifier: BSL-1.0
// counters: each counts between start and stop in every thread, or gives a reason; perf is notified and waited for.
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "lab/measure/costs.hpp"
#include "lab/measure/counters.hpp"
#include "lab/measure/named_events.hpp"
#include "lab/measure/perf_control.hpp"

namespace {

using namespace millpond::measure;

// A software event of the kernel: it exists on every machine, but not every user may count it.
constexpr event task_clock{"task_clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true};

std::uint64_t counted_ns(const counters& by) { return by.read().front().value.value_or(0); }

TEST(counters, each_has_a_value_or_a_reason) {
    std::vector<event> wanted;
    for (const named_event& each : named_events()) wanted.push_back(each.generic);
    counters all(wanted);
    all.start();
    spin(100'000);
    all.stop();
    const std::vector<count> found = all.read();
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].name, wanted[i].name);
        EXPECT_NE(found[i].value.has_value(), !found[i].why_null.empty()) << found[i].name;
        EXPECT_EQ(found[i].value.has_value(), found[i].running_share > 0) << found[i].name;
        EXPECT_TRUE(!wanted[i].always_moves || found[i].value.value_or(1) > 0) << found[i].name;
    }
}

TEST(counters, events_known_not_to_count_are_not_opened) {
    event none = task_clock;
    none.why_null = "not supported here";
    counters all({none});
    all.start();
    spin(1'000);
    all.stop();
    EXPECT_FALSE(all.read().front().value.has_value());
    EXPECT_EQ(all.read().front().why_null, "not supported here");
}

// With more events than hardware counters, the kernel counts them in turns.
TEST(counters, scales_events_that_ran_part_of_the_time_and_gives_the_share) {
    std::mt19937_64 random(7);
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t enabled = 1 + random() % 1'000'000'000'000;
        const std::uint64_t running = 1 + random() % enabled;
        const std::uint64_t value = random() % 1'000'000'000'000;
        const count found = count_of(task_clock, {value, enabled, running});
        if (value == 0) continue;
        ASSERT_TRUE(found.value.has_value()) << found.why_null;
        EXPECT_GE(*found.value, value);
        EXPECT_GT(found.running_share, 0.0);
        EXPECT_LE(found.running_share, 1.0);
        EXPECT_NEAR(static_cast<double>(*found.value) * found.running_share, static_cast<double>(value),
                    0.51 + 1e-9 * static_cast<double>(value))
            << value << " in " << running << " of " << enabled;
    }
    const count whole = count_of(task_clock, {~std::uint64_t{0}, 5, 5});
    EXPECT_EQ(whole.value, ~std::uint64_t{0});
    EXPECT_EQ(whole.running_share, 1.0);
    EXPECT_EQ(count_of(task_clock, {1000, 9, 3}).value, 3000u);
}

TEST(counters, tells_an_event_that_never_ran_from_a_count_of_zero) {
    event may_be_zero = task_clock;
    may_be_zero.always_moves = false;
    for (const counter_reading never :
         {counter_reading{0, 100, 0}, counter_reading{7, 100, 0}, counter_reading{0, 0, 0}}) {
        EXPECT_FALSE(count_of(may_be_zero, never).value.has_value());
        EXPECT_FALSE(count_of(may_be_zero, never).why_null.empty());
    }
    EXPECT_EQ(count_of(may_be_zero, {0, 100, 50}).value, 0u);
    EXPECT_FALSE(count_of(task_clock, {0, 100, 50}).value.has_value());
}

TEST(counters, an_unsupported_event_is_null_with_the_reason) {
    counters all({{"none", 0x7ffffff0, 0}});
    all.start();
    all.stop();
    const count none = all.read().front();
    EXPECT_FALSE(none.value.has_value());
    EXPECT_FALSE(none.why_null.empty());
}

TEST(counters, a_counter_that_never_started_is_null) {
    const counters idle({task_clock});
    EXPECT_FALSE(idle.read().front().value.has_value());
    EXPECT_FALSE(idle.read().front().why_null.empty());
}

TEST(counters, counts_only_between_start_and_stop) {
    counters clock({task_clock});
    clock.start();
    spin(100'000);
    clock.stop();
    if (!clock.read().front().value) GTEST_SKIP() << clock.read().front().why_null;
    const std::uint64_t between = counted_ns(clock);
    EXPECT_GT(between, 0u);
    spin(100'000);
    EXPECT_EQ(counted_ns(clock), between);
    EXPECT_EQ(clock.read().front().running_share, 1.0);
}

TEST(counters, threads_that_start_later_count_too) {
    counters faults({{"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS}});
    constexpr std::size_t bytes = std::size_t{4} << 20;
    faults.start();
    std::thread([] {
        std::vector<char> touched(bytes, 1);
        EXPECT_EQ(touched.back(), 1);
    }).join();
    faults.stop();
    const count found = faults.read().front();
    if (!found.value) GTEST_SKIP() << found.why_null;
    EXPECT_GE(*found.value, 2u);  // huge pages at most
}

class perf_pipes : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(::pipe(control_), 0);
        ASSERT_EQ(::pipe(answer_), 0);
    }
    void TearDown() override {
        for (const int each : {control_[0], control_[1], answer_[0], answer_[1]}) ::close(each);
    }
    void answer(const char* text, std::size_t bytes) const {
        ASSERT_EQ(::write(answer_[1], text, bytes), static_cast<ssize_t>(bytes));
    }
    [[nodiscard]] std::string told() const {
        char text[64];
        const ssize_t got = ::read(control_[0], text, sizeof text);
        return {text, static_cast<std::size_t>(got > 0 ? got : 0)};
    }
    [[nodiscard]] std::optional<perf_control> both() const {
        return perf_control::parse(std::to_string(control_[1]) + "," + std::to_string(answer_[0]));
    }

    int control_[2]{};
    int answer_[2]{};
};

TEST_F(perf_pipes, are_told_and_waited_for) {
    const auto control = both();
    ASSERT_TRUE(control.has_value());
    std::thread perf([this] {
        EXPECT_EQ(told(), "enable\n");
        answer("ack\n", 5);  // with its terminating zero, as perf does
        EXPECT_EQ(told(), "disable\n");
        answer("ack\n", 5);
    });
    control->enable();
    control->disable();
    perf.join();
}

TEST_F(perf_pipes, an_unexpected_answer_is_an_error) {
    answer("no", 2);
    EXPECT_THROW(both()->enable(), std::runtime_error);
    EXPECT_EQ(told(), "enable\n");
}

TEST_F(perf_pipes, a_missing_answer_is_an_error) {
    const auto control = perf_control::parse(std::to_string(control_[1]) + "," + std::to_string(answer_[0]),
                                             std::chrono::milliseconds(1));
    EXPECT_THROW(control->enable(), std::runtime_error);
}

TEST_F(perf_pipes, a_closed_other_end_is_an_error_and_no_signal) {
    ::close(answer_[1]);
    EXPECT_THROW(both()->enable(), std::runtime_error);  // it has read, and ended before it answered
    ::close(control_[0]);
    EXPECT_THROW(both()->enable(), std::runtime_error);
}

TEST_F(perf_pipes, an_unread_pipe_is_an_error) {
    EXPECT_THROW(perf_control::parse("987")->enable(), std::runtime_error);
}

TEST(perf_control, takes_only_descriptors) {
    for (const char* wrong : {"", ",", "3,", ",4", "a,b", "3,4,5", "-1", "fd:3,4"}) {
        EXPECT_FALSE(perf_control::parse(wrong).has_value()) << wrong;
    }
    EXPECT_TRUE(perf_control::parse("3").has_value());
    EXPECT_TRUE(perf_control::parse("3,4").has_value());
}

}  // namespace
