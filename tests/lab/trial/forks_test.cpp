// SPDX-License-Identifier: BSL-1.0
// Forks of every kind, and interruptions by a signal handler at any place: no variant changes the program, and every
// process counts for itself. A hanging program is ended by an alarm.
#include "under_variants.hpp"

namespace {

class forks : public millpond::test::under_variants, public testing::WithParamInterface<const char*> {
  protected:
    void expect_as_bare(const words& program) {
        const outcome bare = run_under("bare", program);
        ASSERT_EQ(bare.status, 0) << bare.error;
        for (const char* variant : every) {
            const outcome tried = run_under(variant, program);
            EXPECT_EQ(tried.status, 0) << variant << ": " << tried.error;
            EXPECT_EQ(tried.out, bare.out) << variant;
            EXPECT_EQ(tried.error, bare.error) << variant;
        }
    }
};

TEST_P(forks, end_as_bare_under_every_variant) { expect_as_bare({FORKING, GetParam()}); }

INSTANTIATE_TEST_SUITE_P(each, forks,
                         testing::Values("streams", "threads", "handlers", "_Fork", "clone", "vfork", "spawn", "daemon",
                                         "fifty", "chain", "late"),
                         [](const auto& each) { return "by_" + std::string(each.param); });

class forks_in_calls : public forks {};

TEST_P(forks_in_calls, end_as_bare_at_every_instruction) { expect_as_bare({INTERRUPTED, GetParam()}); }

INSTANTIATE_TEST_SUITE_P(each, forks_in_calls,
                         testing::Values("fork_exit", "fork_return", "_Fork_return", "clone_return"),
                         [](const auto& each) { return "by_" + std::string(each.param); });

class calls_in_handlers : public millpond::test::under_variants {};

TEST_F(calls_in_handlers, children_of_threaded_programs_finish_the_call) {
    for (const char* variant : every) {
        const outcome tried = run_under(variant, {INTERRUPTED, "_Fork_return", "threads"});
        EXPECT_EQ(tried.out, "ok\n") << variant << ": " << tried.status << ' ' << tried.error;
    }
}

TEST_F(calls_in_handlers, pools_may_be_entered_again_at_every_instruction) {
    for (const std::string variant : {"shared", "plan_locked", "plan_owned"}) {
        for (const words& program : {words{INTERRUPTED, "allocate"}, words{INTERRUPTED, "allocate", "threads"}}) {
            const outcome tried = run_under(variant, program);
            EXPECT_EQ(tried.out, "ok\n") << variant << ": " << tried.status << ' ' << tried.error;
        }
    }
}

class counts_of_children : public millpond::test::under_variants, public testing::WithParamInterface<const char*> {};

TEST_P(counts_of_children, are_their_own_and_complete) {
    for (const char* variant : {"shared", "looked_up", "plan_locked", "plan_owned"}) {
        const outcome without = run_under(variant, {FORKING, "count", GetParam(), "0"});
        const outcome with = run_under(variant, {FORKING, "count", GetParam(), "5000"});
        ASSERT_EQ(without.status, 0) << without.error;
        ASSERT_EQ(with.status, 0) << with.error;
        EXPECT_EQ(with.router["processes"], 2) << variant;
        if (std::string(variant) == "looked_up") {
            EXPECT_GE(with.router["passed"]["unrouted"].get<long>(),
                      without.router["passed"]["unrouted"].get<long>() + 5000);
            EXPECT_TRUE(with.router["pools"].empty()) << "everything stays with malloc";
            continue;
        }
        for (const char* counted : {"allocations", "deallocations"}) {
            EXPECT_EQ(with.router["pools"][0][counted].get<long>(),
                      without.router["pools"][0][counted].get<long>() + 5000)
                << variant << ' ' << counted;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(each, counts_of_children, testing::Values("fork", "_Fork", "clone"),
                         [](const auto& each) { return "by_" + std::string(each.param); });

}  // namespace
