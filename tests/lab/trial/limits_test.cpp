// SPDX-License-Identifier: BSL-1.0
// A program that limits itself gets about as many bytes under every variant as it gets bare, and fails where it fails.
#include "under_variants.hpp"

namespace {

class limits : public millpond::test::under_variants {
  protected:
    static constexpr long mebibytes[] = {48, 128};

    // Bytes that `limited` gets. Block sizes that are size classes: else a class's rounding is part of what is
    // compared.
    void expect_about_as_bare(const char* kind, const char* threads) {
        for (const long limit : mebibytes) {
            for (const char* block : {"96", "4096", "40000"}) {
                const words program = {LIMITED, kind, std::to_string(limit), block, threads};
                const outcome bare = run_under("bare", program);
                ASSERT_EQ(bare.status, 0) << bare.error;
                for (const std::string variant : every) {
                    // Threads that have no pool share what they find room for in arenas of 64 MiB, bare and here.
                    if (variant == "plan_owned" && std::string(threads) != "1") continue;
                    const outcome tried = run_under(variant, program);
                    ASSERT_EQ(tried.status, 0) << kind << ' ' << limit << ' ' << block << ' ' << variant << tried.error;
                    EXPECT_GT(std::stod(tried.out), 0.95 * std::stod(bare.out))
                        << kind << ' ' << limit << " MiB, blocks of " << block << ", " << variant;
                }
            }
        }
    }
};

TEST_F(limits, of_addresses_leave_as_much_as_bare) { expect_about_as_bare("as", "1"); }
TEST_F(limits, of_more_addresses_than_are_used_leave_as_much_as_bare) { expect_about_as_bare("as_more", "1"); }
TEST_F(limits, that_come_late_leave_as_much_as_bare) { expect_about_as_bare("as_late", "1"); }
TEST_F(limits, of_data_leave_as_much_as_bare) { expect_about_as_bare("data", "1"); }
TEST_F(limits, leave_as_much_to_threads_as_bare) { expect_about_as_bare("as", "4"); }

TEST_F(limits, that_are_small_fail_no_program_that_runs_bare) {
    for (const char* limit : {"8", "16", "32"}) {
        const words program = {LIMITED, "as", limit, "0", "1"};
        const outcome bare = run_under("bare", program);
        for (const char* variant : every) {
            const outcome tried = run_under(variant, program);
            EXPECT_EQ(tried.status, bare.status) << limit << ' ' << variant;
        }
    }
}

}  // namespace
