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
    CLI::App app{"Captures every data reference of a program into a trace, beside its heap events."};
    capture_options options;
    options.dies_with_capture = conducted;
    std::string unfinished, summarized, mode = "600";
    auto* const file = app.add_option("-o,--output", options.file, "where the trace goes (other processes: FILE.PID)")
                           ->type_name("FILE");
    app.add_option("--from", options.from, "capture nothing of the first N instructions")->type_name("N");
    app.add_option("--instructions", options.instructions, "stop capturing after N instructions; the program goes on")
        ->type_name("N");
    auto* const sample =
        app.add_option("--sample", options.sample,
                       "capture bursts: BURST instructions of every PERIOD; millpond-simulate tells the "
                       "misses of the whole run with their error")
            ->type_name("BURST/PERIOD")
            ->check(check_sample);
    auto* const skips = app.add_flag("--skip-start", options.skips_start, "capture nothing that runs before main");
    app.add_option("--window", options.window,
                   "capture what is done from the entry of FUNCTION to its return, by any thread meanwhile")
        ->type_name("FUNCTION")
        ->excludes(skips);
    app.add_flag("--discard", options.discards, "write nothing: to measure what capturing costs")->excludes(file);
    app.add_option("--simulate", options.simulators,
                   "count misses while the program runs, and write counts and heap events alone: a description as "
                   "millpond-simulate takes it (as often as needed)")
        ->type_name("DESCRIPTION")
        ->excludes(sample)  // only a recording can tell the error of a sample
        ->expected(1)
        ->take_all()
        ->allow_extra_args(false);
    app.add_option("--bytes-max", options.access_bytes_max, "simulators take longer accesses for so many bytes")
        ->check(CLI::Range(0, 65535));
    app.add_flag("--with-system", options.with_system, "simulators count what system calls read and wrote, too");
    app.add_option("--preload", options.preload, "preload this library into the program, such as another malloc")
        ->type_name("LIBRARY");
    app.add_option("--play", options.calls,
                   "make the calls of SCRIPT (millpond-layout) to the allocator of PROGRAM, in its place")
        ->type_name("SCRIPT");
    app.add_option("--mode", mode, "permissions of the traces, in octal (600: only their owner may read them)")
        ->type_name("OCTAL")
        ->check([](const std::string& text) {
            const bool octal = !text.empty() && text.size() <= 4 && text.find_first_not_of("01234567") == text.npos;
            return octal ? std::string() : "permissions in octal, such as 640, and not " + text;
        });
    app.add_option("--finish", unfinished, "complete the capture of FILE that was interrupted")
        ->type_name("FILE")
        ->excludes(file);
    app.add_option("--summary", summarized, "count what the trace FILE holds, as JSON")
        ->type_name("FILE")
        ->excludes(file);
    app.add_option("command", options.command, "-- PROGRAM ARGS")->type_name("");
    app.prefix_command(false);
    return program::guarded_main(
        app, argc, argv,
        [&]() -> int {
            const auto permissions = static_cast<unsigned>(std::stoul(mode, nullptr, 8));
            if (!summarized.empty()) {
                bool is_whole = true;
                program::print(summarize(summarized, is_whole));
                return is_whole ? program::ok : program::input;
            }
            if (!unfinished.empty()) return report(finish(unfinished, std::nullopt, permissions, {}));
            if ((options.file.empty() && !options.discards) || options.command.empty())
                throw CLI::ValidationError("millpond-references -o FILE -- PROGRAM ARGS");
            return capture(options, permissions);
        },
        "\nmillpond: run with --help for the options");
}
