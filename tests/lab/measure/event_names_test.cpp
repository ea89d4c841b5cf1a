// SPDX-License-Identifier: BSL-1.0
// event_names: libpfm and the kernel agree on an event; an event of another processor is null with a reason; an unknown
// name gets suggestions.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <variant>

#include "lab/measure/abilities.hpp"
#include "lab/measure/event_choice.hpp"
#include "lab/measure/event_names.hpp"
#include "lab/measure/event_request.hpp"
#include "lab/measure/named_events.hpp"

namespace {

using namespace millpond::measure;

known_event known(const event_names& names, const std::string& name) {
    const event_names::meaning found = names.find(name);
    if (const auto* const here = std::get_if<known_event>(&found)) return *here;
    ADD_FAILURE() << name << " is not known";
    return {};
}

// Makes libpfm believe in a processor while this object lives; null: the real one. Without a setting, libpfm has the
// tables of all processors or of some.
class processor_told {
  public:
    explicit processor_told(const char* what) {
        if (const char* const before = std::getenv("LIBPFM_FORCE_PMU")) before_ = before;
        set(what);
    }
    processor_told(const processor_told&) = delete;
    processor_told& operator=(const processor_told&) = delete;
    ~processor_told() { set(before_ ? before_->c_str() : nullptr); }

  private:
    static void set(const char* what) {
        if (what != nullptr)
            ::setenv("LIBPFM_FORCE_PMU", what, 1);
        else
            ::unsetenv("LIBPFM_FORCE_PMU");
    }

    std::optional<std::string> before_;
};

std::string unknown(const event_names& names, const std::string& name) {
    const event_names::meaning found = names.find(name);
    if (const auto* const none = std::get_if<unknown_event>(&found)) return none->what;
    ADD_FAILURE() << name << " is known";
    return "";
}

TEST(event_names, a_named_event_is_libpfms_generic_one) {
    const event_names names;
    for (const named_event& each : named_events()) {
        EXPECT_EQ(each.has_generic(), !each.generic_name.empty()) << each.generic.name;
        if (!each.has_generic()) continue;
        const known_event found = known(names, std::string(each.generic_name));
        EXPECT_EQ(found.of.type, each.generic.type) << each.generic.name;
        EXPECT_EQ(found.of.config, each.generic.config) << each.generic.name;
        EXPECT_EQ(excluded(found.of), excluded(each.generic)) << each.generic.name;
    }
}

TEST(event_names, every_alternative_is_an_event_of_some_processor) {
    const processor_told nothing(nullptr);
    const event_names names;
    for (const named_event& each : named_events()) {
        EXPECT_TRUE(each.has_generic() || !each.alternatives.empty()) << each.generic.name;
        for (const char* const alternative : each.alternatives) {
            EXPECT_FALSE(std::holds_alternative<unknown_event>(names.find(alternative))) << alternative;
        }
    }
}

TEST(event_names, modifiers_choose_user_space_and_kernel) {
    const event_names names;
    EXPECT_EQ(known(names, "perf::PERF_COUNT_HW_CPU_CYCLES:u").of.excludes, event::kernel | event::hypervisor);
    EXPECT_EQ(known(names, "perf::PERF_COUNT_HW_CPU_CYCLES:k").of.excludes, event::user | event::hypervisor);
    // The kernel's own events happen in the kernel.
    EXPECT_EQ(*known(names, "page-faults").of.excludes & (event::user | event::kernel), 0);
    EXPECT_EQ(*known(names, "page-faults:u").of.excludes & (event::user | event::kernel), event::kernel);
}

TEST(event_names, an_event_of_another_processor_is_null_with_the_reason) {
    const processor_told nothing(nullptr);
    const event_names names;
    // No machine is both.
    int elsewhere = 0;
    for (const std::string name : {"skl::MEM_LOAD_RETIRED:L3_MISS", "amd64_fam19h_zen3::RETIRED_INSTRUCTIONS"}) {
        const event_names::meaning found = names.find(name);
        EXPECT_FALSE(std::holds_alternative<unknown_event>(found)) << name;
        if (const auto* const other = std::get_if<event_elsewhere>(&found)) {
            ++elsewhere;
            EXPECT_FALSE(other->why.empty());
            std::string wrong;
            const auto chosen = choose_event(names, name, wrong);
            ASSERT_TRUE(chosen.has_value()) << wrong;
            EXPECT_EQ(chosen->why_null, other->why);
        }
    }
    EXPECT_GE(elsewhere, 1);
}

// libpfm is told the processor; the kernel is not asked.
TEST(event_names, an_event_of_this_processor_has_the_code_of_its_manual) {
    const processor_told told("skl,perf");
    const event_names names;
    const known_event found = known(names, "MEM_LOAD_RETIRED:L3_MISS");
    EXPECT_EQ(found.of.type, std::uint32_t{PERF_TYPE_RAW});
    EXPECT_EQ(found.of.config & 0xffff, 0x20d1u);
    EXPECT_EQ(excluded(found.of) & (event::user | event::kernel), event::kernel);
    EXPECT_NE(unknown(names, "MEM_LOAD_RETIRED:L3_MIS").find("L3_MISS"), std::string::npos);
    EXPECT_NE(unknown(names, "MEM_LOAD_RETIRED").find("L3_MISS"), std::string::npos);  // a mask is needed
}

TEST(event_choice, takes_the_first_alternative_that_counts) {
    const event_names names;
    static constexpr const char* alternatives[] = {"MEM_LOAD_RETIRED:L3_MISS", "skl::MEM_LOAD_RETIRED:L3_MISS",
                                                   "task-clock", "page-faults"};
    const event task_clock = known(names, "task-clock").of;
    if (!try_event(task_clock).value) GTEST_SKIP() << try_event(task_clock).why_null;
    const named_event wanted{{"wanted", 0x7ffffff0}, "none", "", alternatives};
    const chosen_event chosen = choose_named(names, wanted);
    if (chosen.of.type == PERF_TYPE_RAW) GTEST_SKIP() << "a processor with that event";
    EXPECT_EQ(chosen.of.type, task_clock.type);
    EXPECT_EQ(chosen.of.config, task_clock.config);
    EXPECT_NE(chosen.counted_as.find("TASK_CLOCK"), std::string::npos);
    EXPECT_TRUE(chosen.why_null.empty());
}

TEST(event_choice, without_any_alternative_the_kernel_or_libpfm_says_why) {
    const event_names names;
    const chosen_event generic = choose_named(names, {{"wanted", 0x7ffffff0}, "none", ""});
    EXPECT_TRUE(generic.why_null.empty());
    EXPECT_FALSE(try_event(generic.of).why_null.empty());
    EXPECT_FALSE(choose_named(names, {{"wanted", named_event::no_type}, "", ""}).why_null.empty());
}

TEST(event_names, an_unknown_name_is_told_what_is_near) {
    const processor_told nothing(nullptr);
    const event_names names;
    EXPECT_NE(unknown(names, "PERF_COUNT_HW_CACHE_MISES").find("PERF_COUNT_HW_CACHE_MISSES"), std::string::npos);
    EXPECT_NE(unknown(names, "perf::PERF_COUNT_HW_CACHE_L1D:REED").find("READ"), std::string::npos);
    EXPECT_NE(unknown(names, "llc_mises").find("llc_misses"), std::string::npos);
    EXPECT_NE(unknown(names, "q").find("no event"), std::string::npos);
    EXPECT_FALSE(unknown(names, "").empty());
    std::string wrong;
    EXPECT_FALSE(choose_event(names, "no_such_event_at_all", wrong).has_value());
    EXPECT_NE(wrong.find("no_such_event_at_all"), std::string::npos);
}

TEST(event_names, every_event_that_is_listed_is_one) {
    const event_names names;
    int listed = 0;
    names.for_each([&](const event_names::event_description& each) {
        EXPECT_NE(each.name.find("::"), std::string::npos);
        ++listed;
    });
    EXPECT_GT(listed, 10);
    EXPECT_FALSE(names.units().empty());
}

// Must be the last test of its suite: libpfm keeps state of a processor that it was told, for the whole process.
TEST(event_names, the_kernels_own_events_are_on_every_processor) {
    for (const char* const processor : {"skl", "icl", "hsw", "spr", "amd64_fam17h_zen1", "amd64_fam19h_zen3", "none"}) {
        SCOPED_TRACE(processor);
        const processor_told told(processor);
        const event_names names;
        for (const char* const name : {"page-faults", "task-clock", "PERF_COUNT_HW_CPU_CYCLES"}) {
            EXPECT_EQ(known(names, name).of.config, known(names, std::string("perf::") + name).of.config) << name;
        }
        for (const named_event& each : named_events()) {
            if (each.has_generic()) known(names, std::string(each.generic_name));
        }
    }
}

TEST(event_request, a_line_is_read_as_it_was_written) {
    event wanted = instructions_event;
    wanted.config = 0xfedcba9876543210;
    wanted.config1 = 3;
    wanted.excludes = event::user;
    event found;
    const std::string line = answer_line(wanted, "perf::X", "");
    ASSERT_TRUE(read_answer_line(line, found)) << line;
    EXPECT_EQ(found.type, wanted.type);
    EXPECT_EQ(found.config, wanted.config);
    EXPECT_EQ(found.config1, wanted.config1);
    EXPECT_EQ(found.config2, wanted.config2);
    EXPECT_EQ(found.excludes, wanted.excludes);
    EXPECT_EQ(found.always_moves, wanted.always_moves);
    EXPECT_EQ(found.counted_as, "perf::X");
    const std::string none = answer_line(wanted, "", "not supported here");
    ASSERT_TRUE(read_answer_line(none, found)) << none;
    EXPECT_EQ(found.why_null, "not supported here");
    for (const char* wrong : {"", "x", "1 2 3\tx", "1 2 3 4 5 6 7\tx", "1 2 3 4 5 6", "-\t", "g 2 3 4 5 6\tx"}) {
        EXPECT_FALSE(read_answer_line(wrong, found)) << wrong;
    }
}

}  // namespace
