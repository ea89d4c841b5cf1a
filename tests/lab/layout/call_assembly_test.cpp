// SPDX-License-Identifier: BSL-1.0
// call_assembly: calls are complete and come in the order of their ends, whatever lies between their records.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "lab/layout/call_assembly.hpp"
#include "lab/references/heap_functions.h"
#include "tests/lab/trace/seed.hpp"

namespace {

using namespace millpond;
using layout::allocator_call;
using layout::call_assembly;

// A stream of events and references, as a reader passes them on.
class stream {
  public:
    explicit stream(bool has_main = false) : assembly_(has_main) {}

    void references(std::uint64_t thread, bool in_allocator = false) {
        references::step one;
        one.references = {&reference_, 1};
        one.instructions = 1;
        one.thread = thread;
        one.in_allocator = in_allocator;
        take(one);
    }
    void event(std::uint64_t thread, millpond_record record, std::vector<std::uint64_t> operands = {}) {
        references::step one;
        one.thread = thread;
        one.event.record = record;
        for (std::size_t i = 0; i < operands.size(); ++i) one.event.operands[i] = operands[i];
        take(one);
    }
    std::vector<allocator_call> finish() {
        if (const auto last = assembly_.ended_at_last()) calls_.push_back(*last);
        return calls_;
    }

  private:
    void take(const references::step& one) {
        if (const auto call = assembly_.ended_before(one)) calls_.push_back(*call);
        if (const auto call = assembly_.ended_by(one, [](std::uint64_t address) { return address + 1; }))
            calls_.push_back(*call);
    }

    call_assembly assembly_;
    millpond_reference reference_{0x1000, 0, 8, millpond_load, millpond_of_program};
    std::vector<allocator_call> calls_;
};

constexpr std::uint64_t malloc_entry = millpond_function_malloc, free_entry = millpond_function_free,
                        realloc_entry = millpond_function_realloc;

TEST(call_assembly, tells_the_blocks_of_each_call) {
    stream s;
    s.event(1, millpond_record_enter, {malloc_entry});
    s.references(1, true);
    s.event(1, millpond_record_leave);
    s.event(1, millpond_record_allocate, {0x500, 24, 7, 0});
    s.references(1);
    s.event(1, millpond_record_enter, {realloc_entry});
    s.event(1, millpond_record_leave);
    s.event(1, millpond_record_free, {0x500, millpond_flag_realloc});
    s.event(1, millpond_record_allocate, {0x900, 48, 8, millpond_flag_realloc});
    s.event(1, millpond_record_enter, {free_entry});
    s.event(1, millpond_record_free, {0x900, 0});
    s.event(1, millpond_record_leave);
    s.event(1, millpond_record_enter, {malloc_entry});  // gives nothing
    s.event(1, millpond_record_leave);
    const auto calls = s.finish();
    ASSERT_EQ(calls.size(), 4u);
    EXPECT_TRUE(calls[0].allocates && !calls[0].frees);
    EXPECT_EQ(calls[0].address, 0x500u);
    EXPECT_EQ(calls[0].bytes, 24u);
    EXPECT_EQ(calls[0].context, 7u);
    EXPECT_TRUE(calls[1].allocates && calls[1].frees && calls[1].frees_by_realloc);
    EXPECT_EQ(calls[1].freed, 0x501u);
    EXPECT_EQ(calls[1].address, 0x900u);
    EXPECT_TRUE(!calls[2].allocates && calls[2].frees && !calls[2].frees_by_realloc);
    EXPECT_EQ(calls[2].freed, 0x901u);
    EXPECT_TRUE(!calls[3].allocates && !calls[3].frees);
    EXPECT_EQ(calls[3].function(), unsigned{millpond_function_malloc});
}

TEST(call_assembly, suspends_a_call_while_a_handler_runs) {
    stream s;
    s.event(1, millpond_record_enter, {malloc_entry});
    s.event(1, millpond_record_signal, {10});
    s.event(1, millpond_record_enter, {free_entry});
    s.event(1, millpond_record_free, {0x700, 0});
    s.event(1, millpond_record_leave);
    s.references(1);
    s.event(1, millpond_record_resume, {1});
    s.event(1, millpond_record_leave);
    s.event(1, millpond_record_allocate, {0x800, 8, 0, 0});
    const auto calls = s.finish();
    ASSERT_EQ(calls.size(), 2u);
    EXPECT_TRUE(calls[0].frees);
    EXPECT_TRUE(calls[1].allocates);
    EXPECT_EQ(calls[1].function(), unsigned{millpond_function_malloc});
}

TEST(call_assembly, knows_calls_before_main) {
    stream s(true);
    s.event(1, millpond_record_enter, {malloc_entry});
    s.event(1, millpond_record_leave);
    s.event(1, millpond_record_allocate, {0x500, 24, 0, 0});
    s.event(1, millpond_record_gap, {0});
    s.event(1, millpond_record_enter, {malloc_entry});
    s.event(1, millpond_record_leave);
    s.event(1, millpond_record_allocate, {0x600, 24, 0, 0});
    const auto calls = s.finish();
    ASSERT_EQ(calls.size(), 2u);
    EXPECT_TRUE(calls[0].is_early);
    EXPECT_FALSE(calls[1].is_early);
}

// Threads interleave anywhere except between a call's end and its records, as the tool writes them.
TEST(call_assembly, holds_calls_of_threads_apart) {
    std::mt19937_64 random(test::seed());
    for (int round = 0; round < 200; ++round) {
        stream s;
        std::map<std::uint64_t, std::uint64_t> open;  // thread → bytes asked for
        std::vector<std::uint64_t> expected;
        std::uint64_t bytes = 0;
        for (int i = 0; i < 60; ++i) {
            const std::uint64_t thread = 1 + random() % 3;
            if (!open.contains(thread)) {
                open[thread] = ++bytes;
                s.event(thread, millpond_record_enter, {malloc_entry});
            } else if (random() % 3 == 0) {
                s.references(thread, true);
            } else {
                s.event(thread, millpond_record_leave);
                if (random() % 4 == 0) {
                    expected.push_back(0);  // gave nothing
                } else {
                    expected.push_back(open[thread]);
                    s.event(thread, millpond_record_allocate, {0x1000 * open[thread], open[thread], 0, 0});
                }
                open.erase(thread);
            }
        }
        const auto calls = s.finish();
        ASSERT_EQ(calls.size(), expected.size()) << "round " << round;
        for (std::size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(calls[i].bytes, expected[i]) << "round " << round;
    }
}

// Every pointer that a compiler can leave at an entry is found by any address near it.
TEST(entry, keeps_the_stack_pointer) {
    std::mt19937_64 random(test::seed());
    for (int i = 0; i < 100000; ++i) {
        const std::uint64_t pointer = ((random() >> 17) | 1u << 20) << 4 | 8;
        const std::uint64_t entry = millpond_entry(millpond_function_realloc, pointer);
        const std::uint64_t near = pointer + random() % 2000 - 1000;
        EXPECT_EQ(millpond_entry_function(entry), unsigned{millpond_function_realloc});
        ASSERT_EQ(millpond_entry_pointer(entry, near), pointer) << std::hex << pointer << " by " << near;
    }
    EXPECT_EQ(millpond_entry_pointer(millpond_function_free, 0x1234), 0x1234u);  // an older recording's
}

}  // namespace
