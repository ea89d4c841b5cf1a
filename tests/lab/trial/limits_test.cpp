// SPDX-License-Identifier: BSL-1.0
// A program with limits gets about as many bytes under every variant as without us, and fails at the same point.
#include <algorithm>
#include <limits>

#include "under_variants.hpp"

namespace {

class limits : public millpond::test::under_variants {
  protected:
    static constexpr long mebibytes[] = {48, 128};

    // KiB that `limited` gets. Block sizes that are size classes: else a class's rounding is part of what is
    // compared.
    // The least and the most that several runs get. Of several threads some find no room for an arena of their
    // own; which, and how much all of them get, is for the scheduler, bare as well: twenty times as much in one run as
    // in the next. And glibc ends some such runs by an assertion of its own.
    struct range {
        double least = std::numeric_limits<double>::infinity();
        double most = 0;
    };
    range bytes_of(const std::string& variant, const words& program, const char* threads) const {
        const bool is_alone = std::string(threads) == "1";
        range found;
        for (int i = 0; i < (is_alone ? 1 : 4); ++i) {
            const outcome one = run_under(variant, program);
            if (is_alone || one.error.find("glibc error") == std::string::npos) {
                EXPECT_EQ(one.status, 0) << variant << one.error;
            }
            if (one.status != 0) continue;
            found.least = std::min(found.least, std::stod(one.out));
            found.most = std::max(found.most, std::stod(one.out));
        }
        return found;
    }

    void expect_about_as_bare(const char* kind, const char* threads) {
        for (const long limit : mebibytes) {
            for (const char* block : {"96", "4096", "40000"}) {
                const words program = {LIMITED, kind, std::to_string(limit), block, threads};
                const double bare = bytes_of("bare", program, threads).least;
                for (const std::string variant : every) {
                    // Threads that have no pool share what they find room for in arenas of 64 MiB, bare and here.
                    if (variant == "plan_owned" && std::string(threads) != "1") continue;
                    // Memory that is taken in huge pages of 2 MiB ends before the limit: the last page has no room.
                    const double left_over = variant == "shared_huge" ? 2048 : 0;
                    // The trial's own memory is the same, whatever part of the limit the threads' own arenas leave.
                    const double kept = 0.05 * 1024 * static_cast<double>(limit);
                    EXPECT_GT(bytes_of(variant, program, threads).most, bare - kept - left_over)
                        << kind << ' ' << limit << " MiB, blocks of " << block << ", " << variant;
                }
            }
        }
    }
};

TEST_F(limits, address_limits_leave_as_much_as_bare) { expect_about_as_bare("as", "1"); }
TEST_F(limits, generous_address_limits_leave_as_much_as_bare) { expect_about_as_bare("as_more", "1"); }
TEST_F(limits, late_limits_leave_as_much_as_bare) { expect_about_as_bare("as_late", "1"); }
TEST_F(limits, data_limits_leave_as_much_as_bare) { expect_about_as_bare("data", "1"); }
TEST_F(limits, leave_as_much_to_threads_as_bare) { expect_about_as_bare("as", "4"); }

TEST_F(limits, small_limits_fail_no_program_that_runs_bare) {
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
