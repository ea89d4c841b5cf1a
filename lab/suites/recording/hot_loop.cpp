// SPDX-License-Identifier: BSL-1.0
// hot_loop: malloc and free of one size in a loop, the worst that can happen to a recorder or an interposer.
//
// Use it to know what one event costs at most: nothing else happens between two calls. No real program is like it;
// heap_churn is the one to judge by.
// Options: --events N, --bytes N. Prints events, CPU seconds and ns an event. O(events), one thread.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "command_line.hpp"

int main(int argc, char** argv) {
    std::uint64_t events = 100'000'000;
    std::uint64_t bytes = 48;
    millpond::suites::read_options(argc, argv, "hot_loop", {{"--events", events}, {"--bytes", bytes}});

    for (std::uint64_t i = 0; i < events / 2; ++i) {
        // Through a volatile, or the compiler would remove the pair.
        void* volatile memory = std::malloc(bytes);
        std::free(memory);
    }

    timespec spent{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    const double seconds = static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
    const std::uint64_t counted = events / 2 * 2;
    std::printf("events %llu\n", static_cast<unsigned long long>(counted));
    std::fprintf(stderr, "cpu %.3f s, %.1f ns an event\n", seconds,
                 seconds * 1e9 / static_cast<double>(std::max<std::uint64_t>(counted, 1)));
    return 0;
}
