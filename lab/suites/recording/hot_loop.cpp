// SPDX-License-Identifier: BSL-1.0
// hot_loop: malloc and free of one size in a loop, the worst case for a recorder or an interposer.
//
// Use it to find the highest cost of one event: nothing else happens between two calls. No real program behaves like
// this; judge by heap_churn.
// Options: --events N, --bytes N. Prints events, CPU seconds and ns an event. O(events), one thread.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "command_line.hpp"

int main(int argc, char** argv) {
    std::uint64_t events = 100'000'000;
    std::uint64_t bytes = 48;
    millpond::suites::read_options(argc, argv, "hot_loop", {{"--events", events}, {"--bytes", bytes}});

    for (std::uint64_t i = 0; i < events / 2; ++i) {
        // The volatile pointer keeps the compiler from removing the pair.
        void* volatile memory = std::malloc(bytes);
        std::free(memory);
    }

    const std::uint64_t counted = events / 2 * 2;
    std::printf("events %llu\n", static_cast<unsigned long long>(counted));
    millpond::suites::print_cost(counted);
    return 0;
}
