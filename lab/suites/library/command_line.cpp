// SPDX-License-Identifier: BSL-1.0
#include "command_line.hpp"

#include <charconv>
#include <string_view>
#include <system_error>

namespace millpond::suites {

const char usage[] =
    "usage: millpond-library-suite --list\n"
    "       millpond-library-suite --workload W --contender C [--size N] [--af N] [--sf N] [--threads N] [--seed S]\n"
    "                              [--scale-units N] [--peer LIBRARY] [--instructions N]\n"
    "One cell, one round, in this process; one line of JSON. --list says what there is.\n";

namespace {

struct number_option {
    std::string_view name;
    std::uint64_t& value;
    std::uint64_t least;
    std::uint64_t most;
};

// Reads the option into its number. Returns: what is wrong, or nothing.
std::string read(const number_option& option, std::string_view text) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, option.value);
    if (text.empty() || error != std::errc{} || stop != end || option.value < option.least ||
        option.value > option.most) {
        return std::string(option.name) + " needs a whole number from " + std::to_string(option.least) + " to " +
               std::to_string(option.most);
    }
    return {};
}

}  // namespace

command_line read_command_line(int argc, char** argv) {
    command_line line;
    cell& asked = line.asked;
    constexpr std::uint64_t many = std::uint64_t{1} << 32;
    const number_option numbers[] = {
        {"--size", asked.size, 1, many - 1},
        {"--af", asked.access_factor, 1, 1 << 20},
        {"--sf", asked.shuffle_factor, 0, 1 << 10},
        {"--threads", asked.threads, 1, 1024},
        {"--seed", asked.seed, 0, ~std::uint64_t{0}},
        {"--scale-units", asked.scale_units, 1, many},
        {"--instructions", asked.instructions, 1, many},
    };
    for (int i = 1; i < argc && line.error.empty(); ++i) {
        const std::string_view name = argv[i];
        if (name == "--list" || name == "--help") {
            (name == "--list" ? line.list : line.help) = true;
            continue;
        }
        const char* const value = i + 1 < argc ? argv[++i] : nullptr;
        if (value == nullptr) {
            line.error = std::string(name) + " is no option, or lacks its value";
        } else if (name == "--workload") {
            asked.workload = value;
        } else if (name == "--contender") {
            asked.contender = value;
        } else if (name == "--peer") {
            asked.peer = value;
        } else {
            line.error = std::string(name) + " is no option";
            for (const number_option& option : numbers) {
                if (option.name == name) line.error = read(option, value);
            }
        }
    }
    return line;
}

}  // namespace millpond::suites
