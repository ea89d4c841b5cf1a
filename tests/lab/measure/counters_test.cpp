// SPDX-License-Identifier: BSL-1.0
// Counters count between start and stop, in every thread, or say why not; perf is told and waited for.
#include <gtest/gtest.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "lab/measure/costs.hpp"
#include "lab/measure/counters.hpp"
#include "lab/measure/perf_control.hpp"

namespace {

using namespace millpond::measure;

// The kernel's own event, which any machine has, though not any user.
constexpr event task_clock{"task_clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true};

std::uint64_t counted_ns(const counters& by) { return by.read().front().value.value_or(0); }

TEST(counters, each_has_a_value_or_a_reason) {
    counters all({std::begin(window_events), std::end(window_events)});
    all.start();
    spin(100'000);
    all.stop();
    const std::vector<count> found = all.read();
    ASSERT_EQ(found.size(), std::size(window_events));
    for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].name, window_events[i].name);
        EXPECT_NE(found[i].value.has_value(), !found[i].why_null.empty()) << found[i].name;
        EXPECT_EQ(found[i].value.has_value(), found[i].running_share > 0) << found[i].name;
        EXPECT_TRUE(!window_events[i].always_moves || found[i].value.value_or(1) > 0) << found[i].name;
    }
}

TEST(counters, what_no_processor_has_is_null_with_the_reason) {
    counters all({{"none", 0x7ffffff0, 0}});
    all.start();
    all.stop();
    const count none = all.read().front();
    EXPECT_FALSE(none.value.has_value());
    EXPECT_FALSE(none.why_null.empty());
}

TEST(counters, what_was_never_started_is_no_zero) {
    const counters idle({task_clock});
    EXPECT_FALSE(idle.read().front().value.has_value());
    EXPECT_FALSE(idle.read().front().why_null.empty());
}

TEST(counters, only_what_lies_between_start_and_stop_counts) {
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

TEST_F(perf_pipes, that_answer_something_else_are_an_error) {
    answer("no", 2);
    EXPECT_THROW(both()->enable(), std::runtime_error);
    EXPECT_EQ(told(), "enable\n");
}

TEST_F(perf_pipes, that_nobody_reads_are_an_error) {
    EXPECT_THROW(perf_control::parse("987")->enable(), std::runtime_error);
}

TEST(perf_control, takes_descriptors_alone) {
    for (const char* wrong : {"", ",", "3,", ",4", "a,b", "3,4,5", "-1", "fd:3,4"}) {
        EXPECT_FALSE(perf_control::parse(wrong).has_value()) << wrong;
    }
    EXPECT_TRUE(perf_control::parse("3").has_value());
    EXPECT_TRUE(perf_control::parse("3,4").has_value());
}

}  // namespace
