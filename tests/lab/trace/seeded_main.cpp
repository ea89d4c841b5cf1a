// SPDX-License-Identifier: BSL-1.0
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>

#include "seed.hpp"

namespace {
std::uint64_t chosen_seed = 0;
}

std::uint64_t millpond::test::seed() { return chosen_seed; }

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    chosen_seed = std::random_device{}();
    for (int i = 1; i < argc; ++i) {
        std::string_view argument(argv[i]);
        if (argument == "--seed" && i + 1 < argc) argument = argv[++i];
        if (argument.starts_with("--seed=")) argument.remove_prefix(7);
        chosen_seed = std::strtoull(argument.data(), nullptr, 10);
    }
    std::printf("seed: --seed=%llu\n", static_cast<unsigned long long>(chosen_seed));
    return RUN_ALL_TESTS();
}
