// SPDX-License-Identifier: BSL-1.0
// command_line: reads `--name NUMBER` options for workloads, and prints their cost at the end, without a library that
// would allocate.
//
// Use it for programs whose heap events are counted: nothing here allocates. Programs of the laboratory use CLI11.
// O(options × arguments). Not thread-safe.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <initializer_list>
#include <string_view>
#include <system_error>

namespace millpond::suites {

struct number_option {
    std::string_view name;  // including its dashes
    std::uint64_t& value;
    std::uint64_t least = 0;
};

// Reads every `--name NUMBER` into its option. On any other argument, prints the error and the usage of `program`, and
// exits with 2.
inline void read_options(int argc, char** argv, std::string_view program,
                         std::initializer_list<number_option> options) {
    const auto refuse = [&](std::string_view argument, const char* why) {
        std::fprintf(stderr, "%.*s: %.*s %s; usage: %.*s", static_cast<int>(program.size()), program.data(),
                     static_cast<int>(argument.size()), argument.data(), why, static_cast<int>(program.size()),
                     program.data());
        for (const auto& option : options) {
            std::fprintf(stderr, " [%.*s N]", static_cast<int>(option.name.size()), option.name.data());
        }
        std::fputc('\n', stderr);
        std::exit(2);
    };
    for (int i = 1; i < argc; i += 2) {
        const std::string_view name = argv[i];
        const number_option* found = nullptr;
        for (const auto& option : options) {
            if (option.name == name) found = &option;
        }
        if (found == nullptr) refuse(name, "is not an option");
        const std::string_view text = i + 1 < argc ? argv[i + 1] : "";
        const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), found->value);
        if (error != std::errc{} || stop != text.data() + text.size()) refuse(name, "needs a whole number");
        if (found->value < found->least) refuse(name, "is too small");
    }
}

// Prints to standard error: tests rely on equal standard output for equal options.
inline void print_cost(std::uint64_t events) {
    timespec spent{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    const double seconds = static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
    std::fprintf(stderr, "cpu %.3f s, %.1f ns an event\n", seconds,
                 seconds * 1e9 / static_cast<double>(std::max<std::uint64_t>(events, 1)));
}

}  // namespace millpond::suites
