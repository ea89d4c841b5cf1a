// SPDX-License-Identifier: BSL-1.0
#include "command_line.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <system_error>

#include "lab/program/program.hpp"

namespace millpond::frame {

namespace {

[[noreturn]] void refuse(const std::string& why) { throw program::failure(program::usage, why + "; see --help"); }

template <class Number>
bool read_number(std::string_view text, Number& value) {
    if (text.starts_with('+')) text.remove_prefix(1);
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    const auto [stop, error] = std::from_chars(begin, end, value);
    return !text.empty() && error == std::errc{} && stop == end;
}

// Reads a text that ends where an argument ends. Uses strtod, in the C locale that no suite changes: not every standard
// library's from_chars reads fractions.
bool read_fraction(std::string_view text, double& value) {
    if (text.empty() || text.find_first_not_of("+-.0123456789eE") != text.npos) return false;
    char* stop = nullptr;
    value = std::strtod(text.data(), &stop);
    return stop == text.data() + text.size();
}

bool is_same_name(std::string_view given, std::string_view name) {
    return std::equal(given.begin(), given.end(), name.begin(), name.end(),
                      [](char a, char b) { return (a == '-' ? '_' : a) == (b == '-' ? '_' : b); });
}

std::string read_value(const parameter& of, std::string_view text, std::int64_t& value) {
    if (!of.words.empty()) {
        const auto found = std::find(of.words.begin(), of.words.end(), text);
        value = found - of.words.begin();
        if (found != of.words.end()) return {};
        std::string message = "--" + std::string(of.name) + " is one of: ";
        for (const std::string_view word : of.words) message.append(word == of.words[0] ? "" : ", ").append(word);
        return message;
    }
    if (read_number(text, value) && value >= of.least && value <= of.most) return {};
    return "--" + std::string(of.name) + " needs a whole number from " + std::to_string(of.least) + " to " +
           std::to_string(of.most);
}

double read_litter(std::string_view text) {
    double fraction = 0;
    if (!read_fraction(text, fraction) || fraction <= 0 || fraction > 1)
        refuse("--litter needs a fraction above 0 and at most 1");
    return fraction;
}

std::uint64_t read_count(std::string_view name, std::string_view text) {
    std::uint64_t value = 0;
    if (!read_number(text, value)) refuse(std::string(name) + " needs a whole number");
    return value;
}

// Returns: the name of an event in the result: NAME of NAME=0xCODE.
std::string_view label_of(std::string_view text) noexcept {
    const auto raw = read_raw_event(text);
    return raw ? raw->name : text;
}

void add_event(const char* text, command_line& line) {
    const std::string_view given = text;
    const std::size_t sign = given.find('=');
    // In libpfm's names, a : or a . comes before a value.
    const bool has_code = sign != given.npos && given.substr(0, sign).find_first_of(":.") == given.npos;
    if (given.empty() || (has_code && !read_raw_event(given)))
        refuse("--event needs a name, as MEM_LOAD_RETIRED:L3_MISS, or NAME=0xCODE");
    for (std::size_t i = 0; i < line.event_count; ++i) {
        if (label_of(given) == label_of(line.events[i]))
            refuse("--event " + std::string(given) + ": that name is given twice");
    }
    if (line.event_count == line.events.size())
        refuse("--event: more events than the " + std::to_string(line.events.size()) + " that fit");
    line.events[line.event_count++] = text;
}

measure::perf_control read_control(std::string_view text) {
    const auto control = measure::perf_control::parse(text);
    if (!control) refuse("--perf-control needs two descriptors, CTL,ACK, as perf stat --control has them");
    return *control;
}

// Effects: sets the option to this value.
void read_option(std::string_view name, const char* value, command_line& line) {
    if (name == "--workload") {
        line.workload = value;
    } else if (name == "--contender" || name == "--strategy") {
        line.contender = value;
    } else if (name == "--peer") {
        line.peer = value;
    } else if (name == "--instructions") {
        line.instructions = read_count(name, value);
    } else if (name == "--litter") {
        line.litter = read_litter(value);
    } else if (is_same_name(name, "--memory-limit-bytes")) {
        line.memory_limit_bytes = read_count(name, value);
    } else if (name == "--event") {
        add_event(value, line);
    } else if (is_same_name(name, "--perf-control")) {
        line.control = read_control(value);
    } else if (line.setting_count == line.settings.size()) {
        refuse("more parameters than any workload has");
    } else {
        line.settings[line.setting_count++] = {name.substr(2), value};
    }
}

}  // namespace

std::optional<measure::event> read_raw_event(std::string_view text) noexcept {
    const std::size_t sign = text.find('=');
    if (sign == 0 || sign == text.npos || text.substr(0, sign).find_first_of(":.") != text.npos) return std::nullopt;
    std::string_view code = text.substr(sign + 1);
    if (!code.starts_with("0x")) return std::nullopt;
    code.remove_prefix(2);
    std::uint64_t config = 0;
    const auto [stop, error] = std::from_chars(code.data(), code.data() + code.size(), config, 16);
    if (error != std::errc{} || stop != code.data() + code.size()) return std::nullopt;
    return measure::raw_event(text.substr(0, sign), config);
}

std::string usage_of(const suite& of) {
    const std::string program = "millpond-" + std::string(of.name) + "-suite";
    const std::string indent(program.size() + 8, ' ');
    std::string usage = "usage: " + program + " --list\n       " + program +
                        " --workload W --contender C [--PARAMETER VALUE]... [--seed N]\n" + indent +
                        "[--memory-limit-bytes N]";
    if (of.measures_windows())
        usage +=
            " [--litter F] [--picture-heap] [--counters] [--event NAME]...\n" + indent + "[--perf-control CTL,ACK]";
    if (of.peer != nullptr) usage += " [--peer LIBRARY] [--instructions N]";
    usage += "\nOne round of " + std::string(of.of) +
             ", in this process; prints one line of JSON. --list prints workloads and contenders.\n"
             "--memory-limit-bytes N: does not run a round known to need more; reports predicted_bad_alloc instead.\n";
    if (of.measures_windows())
        usage +=
            "--litter F: first the workload's blocks are allocated, and the fraction F of them is freed in random "
            "order.\n"
            "--picture-heap: with --litter, also which lines of 64 KiB of that heap are held: heap_taken:OFFSET.\n"
            "--counters: also counts instructions, cycles, loads, misses and stalled cycles of the window, if it can.\n"
            "--event NAME: counts that event too: a name of libpfm's, as MEM_LOAD_RETIRED:L3_MISS (millpond-events\n"
            "--list has them), or NAME=0xCODE, the code being the processor's own.\n"
            "--perf-control CTL,ACK: tells perf stat --control fd:CTL,ACK when the window begins and ends; also as\n"
            "MILLPOND_PERF_CONTROL.\n";
    if (of.peer != nullptr)
        usage += "--peer LIBRARY: the library behind the contender " + std::string(of.peer->contender) +
                 ".\n--instructions N: the workload's counted function N times, for a simulator; nothing is timed.\n";
    return usage;
}

command_line read_command_line(int argc, char** argv) {
    command_line line;
    if (const char* const control = std::getenv("MILLPOND_PERF_CONTROL")) line.control = read_control(control);
    for (int i = 1; i < argc; ++i) {
        const std::string_view name = argv[i];
        if (name == "--list") {
            line.list = true;
        } else if (name == "--help") {
            line.help = true;
        } else if (name == "--counters") {
            line.counters = true;
        } else if (is_same_name(name, "--picture-heap")) {
            line.pictures_heap = true;
        } else if (!name.starts_with("--") || i + 1 == argc) {
            refuse(std::string(name) + " is not an option, or has no value");
        } else {
            read_option(name, argv[++i], line);
        }
    }
    return line;
}

std::string read_values(const command_line& line, point& asked) {
    const auto known = asked.of->parameters;
    for (std::size_t i = 0; i < known.size(); ++i) asked.values[i] = known[i].usual;
    for (std::size_t s = 0; s < line.setting_count; ++s) {
        const command_line::setting& given = line.settings[s];
        const auto found = std::find_if(known.begin(), known.end(),
                                        [&](const parameter& each) { return is_same_name(given.name, each.name); });
        if (found == known.end()) {
            std::string message =
                "no parameter \"" + std::string(given.name) + "\" of " + std::string(asked.of->name) + "; there are: ";
            for (const parameter& each : known) message.append(&each == known.data() ? "" : ", ").append(each.name);
            return message;
        }
        std::string wrong =
            read_value(*found, given.text, asked.values[static_cast<std::size_t>(found - known.begin())]);
        if (!wrong.empty()) return wrong;
    }
    return {};
}

}  // namespace millpond::frame
