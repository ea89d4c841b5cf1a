// SPDX-License-Identifier: BSL-1.0
// millpond-references: captures every data reference of an unmodified program and ends as that program does.
//
//   millpond-references -o FILE -- PROGRAM ARGS
//   millpond-references --finish FILE
//   millpond-references --summary FILE
#include <string>

#include "lab/measure/conductor.hpp"
#include "lab/measure/end_as.hpp"
#include "lab/program/command_line.hpp"
#include "lab/references/capture.hpp"
#include "lab/references/capture_words.hpp"
#include "lab/references/finishing.hpp"
#include "lab/references/summary.hpp"
#include "lab/trace/trace_set.hpp"

namespace {

namespace program = millpond::program;
using namespace millpond::references;

int report(const finish_outcome& outcome) {
    for (const std::string& notice : outcome.notices) program::say(notice);
    return outcome.problem ? program::fail(outcome.problem->status, outcome.problem->what()) : program::ok;
}

int capture(const capture_options& options, unsigned mode) {
    const captured_run run = millpond::references::run(options);
    const capture_words words = explain(run.report, run.end, options.window, options.discards ? "" : options.file);
    for (const std::string& notice : words.notices) program::say(notice);
    const int told = words.problem ? program::fail(words.problem->status, words.problem->what()) : program::ok;
    const bool has_nothing = options.discards || millpond::trace::numbered_siblings(partial_stem(options.file)).empty();
    if (!has_nothing || (!options.discards && told == program::ok)) {
        const finish_outcome outcome = finish(options.file, run.end, mode, run.report);
        if (const int status = report(outcome); status != program::ok) return status;
    }
    return told != program::ok ? told : millpond::measure::end_as(run.end.exit_status, run.end.signal);
}

std::string check_sample(const std::string& text) {
    const std::size_t slash = text.find('/');
    const auto number = [&](const std::string& digits) {
        return !digits.empty() && digits.size() < 18 && digits.find_first_not_of("0123456789") == digits.npos;
    };
    if (slash == text.npos || !number(text.substr(0, slash)) || !number(text.substr(slash + 1)) ||
        std::stoull(text) == 0 || std::stoull(text) >= std::stoull(text.substr(slash + 1)))
        return "BURST/PERIOD in instructions, such as 1000000/20000000, and not " + text;
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    const bool conducted = millpond::measure::die_with_conductor();
    program::command_line app{"Captures every data reference of a program, and its heap events, into a trace.",
                              {},
                              "\nmillpond: run with --help for the options"};
    capture_options options;
    options.dies_with_capture = conducted;
    std::string unfinished, summarized, mode = "600";
    const auto file = app.option("-o,--output", options.file, "write the trace to FILE (of other processes: FILE.PID)")
                          .value_name("FILE");
    app.option("--from", options.from, "leave out the first N instructions").value_name("N");
    app.option("--instructions", options.instructions, "stop capturing after N instructions; the program goes on")
        .value_name("N");
    const auto sample = app.option("--sample", options.sample,
                                   "capture BURST instructions of every PERIOD; millpond-simulate estimates the misses "
                                   "of the whole run, with their error")
                            .value_name("BURST/PERIOD")
                            .checked(check_sample);
    const auto skips = app.flag("--skip-start", options.skips_start, "leave out everything before main");
    app.option("--window", options.window, "capture only from the entry of FUNCTION to its return, all threads")
        .value_name("FUNCTION")
        .excludes(skips);
    app.flag("--discard", options.discards, "write no trace, to measure the cost of capturing").excludes(file);
    app.option("--simulate", options.simulators,
               "count misses while the program runs, and write only counts and heap events; a description as for "
               "millpond-simulate (may be repeated)")
        .value_name("DESCRIPTION")
        .excludes(sample)  // only a recording has the error of a sample
        .repeated()
        .one_argument();
    app.option("--bytes-max", options.access_bytes_max,
               "in simulators, count an access of more than N bytes as one of N")
        .within(0, 65535);
    app.flag("--with-system", options.with_system, "in simulators, also count what system calls read and wrote");
    app.option("--preload", options.preload, "preload this library into the program, such as another malloc")
        .value_name("LIBRARY");
    app.option("--play", options.calls,
               "instead of running PROGRAM, make the calls of SCRIPT (millpond-layout) to its allocator")
        .value_name("SCRIPT");
    app.option("--mode", mode, "permissions of the traces, in octal (600: only their owner may read them)")
        .value_name("OCTAL")
        .checked([](const std::string& text) {
            const bool octal = !text.empty() && text.size() <= 4 && text.find_first_not_of("01234567") == text.npos;
            return octal ? std::string() : "permissions in octal, such as 640, and not " + text;
        });
    app.option("--finish", unfinished, "complete the interrupted capture of FILE").value_name("FILE").excludes(file);
    app.option("--summary", summarized, "print the totals of the trace FILE, as JSON")
        .value_name("FILE")
        .excludes(file);
    app.option("command", options.command, "-- PROGRAM ARGS").value_name("");
    return program::guarded_main(app, argc, argv, [&]() -> int {
        const auto permissions = static_cast<unsigned>(std::stoul(mode, nullptr, 8));
        if (!summarized.empty()) {
            bool is_whole = true;
            program::print(summarize(summarized, is_whole));
            return is_whole ? program::ok : program::input;
        }
        if (!unfinished.empty()) return report(finish(unfinished, std::nullopt, permissions, {}));
        if ((options.file.empty() && !options.discards) || options.command.empty())
            throw app.refusal("millpond-references -o FILE -- PROGRAM ARGS");
        return capture(options, permissions);
    });
}
