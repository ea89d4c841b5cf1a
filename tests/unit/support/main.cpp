// SPDX-License-Identifier: BSL-1.0
// main of the library's tests: GoogleTest's, and --seed=N (or --seed N), which RapidCheck obeys as well.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "seed.hpp"

namespace millpond::test {
namespace {
std::uint64_t seed_of_run = 0;

// Prints the seed here, because a listing of the tests must contain no other lines.
class print_seed : public testing::Environment {
    void SetUp() override { std::printf("seed %llu (repeat with --seed=%llu)\n", as_printed(), as_printed()); }
    static unsigned long long as_printed() { return seed_of_run; }
};

void set_seed(int argc, char** argv) {
    seed_of_run = std::random_device{}();
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument.rfind("--seed=", 0) == 0) seed_of_run = std::stoull(argument.substr(7));
        if (argument == "--seed" && i + 1 < argc) seed_of_run = std::stoull(argv[i + 1]);
    }
#if !defined(_WIN32)  // where there is no setenv, and no RapidCheck either
    const char* others = std::getenv("RC_PARAMS");
    const std::string parameters =
        (others != nullptr ? std::string(others) + " " : "") + "seed=" + std::to_string(seed_of_run);
    setenv("RC_PARAMS", parameters.c_str(), 1);
#endif
}
}  // namespace

std::uint64_t seed() noexcept { return seed_of_run; }
}  // namespace millpond::test

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    millpond::test::set_seed(argc, argv);
    testing::AddGlobalTestEnvironment(new millpond::test::print_seed);
    return RUN_ALL_TESTS();
}
