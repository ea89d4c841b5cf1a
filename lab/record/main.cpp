// SPDX-License-Identifier: BSL-1.0
// millpond-record: records the heap events of an unmodified program and ends as that program does.
#include <string.h>
#include <sys/resource.h>

#include <sstream>
#include <string>
#include <vector>

#include "lab/measure/conductor.hpp"
#include "lab/measure/end_as.hpp"
#include "lab/program/command_line.hpp"
#include "lab/record/attached_run.hpp"
#include "lab/record/control.hpp"
#include "lab/record/finishing.hpp"
#include "lab/record/supervisor.hpp"

namespace {

namespace program = millpond::program;

// Reports the notices of a finished recording; returns 0 or the status of the incomplete part.
int report(const millpond::record::finish_outcome& outcome) {
    for (const std::string& notice : outcome.notices) program::say(notice);
    return outcome.problem ? program::fail(outcome.problem->status, outcome.problem->what()) : program::ok;
}

// For a program that died under a limit of addresses: reports that recording takes some of them.
void note_limit(int signal) {
    rlimit limit{};
    if (signal == 0 || getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    program::say(std::string("the program died of SIG") + sigabbrev_np(signal) + "; it may have " +
                 std::to_string(limit.rlim_cur / 1'000'000) +
                 " MB of addresses (ulimit -v), and recording takes some of them: allow more");
}

int record(const millpond::record::record_options& options) {
    const millpond::record::process_end end = millpond::record::run(options);
    if (end.stopped_by != 0) {
        std::ostringstream seconds;
        seconds << options.seconds_max;
        program::say(std::string("stopped by SIG") + sigabbrev_np(end.stopped_by) + " after " + seconds.str() +
                     " s (--for); the program " +
                     (end.signal != 0 ? "died of signal " + std::to_string(end.signal)
                                      : "exited with " + std::to_string(end.exit_status)));
    }
    if (const int status = report(millpond::record::finish(options.file, end)); status != 0) return status;
    if (end.stopped_by == 0) note_limit(end.signal);
    return millpond::measure::end_as(end.exit_status, end.signal);
}

// Records a program that runs already.
int record_attached(const millpond::record::record_options& options) {
#ifdef MILLPOND_WITH_ATTACH
    millpond::record::run_attached(options);
    return report(millpond::record::finish(options.file, std::nullopt));
#else
    throw program::failure(program::environment, "cannot attach to process " + std::to_string(options.attached_pid) +
                                                     ": this build has no libdw, or is not for x86-64");
#endif
}

// Asks the recording of that program; returns the exit status.
int control(pid_t root, const std::vector<std::string>& words) {
    const bool is_mark = !words.empty() && words.front() == "mark";
    if (words.size() != (is_mark ? 2 : 1))
        throw program::failure(program::usage, "millpond-record --control PID start|stop|snapshot, or mark NAME");
    const std::string request = is_mark ? "mark " + words[1].substr(0, mpt_phase_name_max) : words.front();
    const millpond::record::control_reply reply = millpond::record::ask(root, request);
    program::print(reply.files);
    std::istringstream notices(reply.notices);
    for (std::string line; std::getline(notices, line);) program::say(line);
    return reply.status;
}

// Throws a refusal for options that do not go together.
void refuse_unfit(const program::command_line& app, const millpond::record::record_options& options) {
    const bool has_scopes = !options.scopes.empty() || !options.scopes_file.empty();
    if (options.is_idle && has_scopes) throw app.refusal("--idle does not go with --scope or --scopes");
    if (options.sample_bytes != 0 && (options.samples_owners || options.places_frees || options.scans || has_scopes))
        throw app.refusal(
            "--sample does not go with --owners, --frees, --scan, --scope or --scopes: they need every "
            "event");
    if (options.ring_minutes > 0 && (options.sample_bytes == 0 || options.is_idle || options.ahead_bytes != 0))
        throw app.refusal("--ring needs --sample, and does not go with --idle or --ahead");
    if (options.attached_pid == 0) return;
    if (options.is_idle || options.samples_owners || options.ahead_bytes != 0 || options.scans || has_scopes ||
        !options.command.empty())
        throw app.refusal(
            "--attach goes with -o, --for, --frees, --sample, --ring, --seed, --max-trace, --check-contexts and --mode "
            "only");
    if (options.file.empty()) throw app.refusal("millpond-record --attach PID -o FILE");
}

// The options for how much is recorded.
void add_amounts(program::command_line& app, millpond::record::record_options& options) {
    const auto size = [](program::command_option option) {
        option.value_name("N")
            .checked([](const std::string& text) {
                return text.starts_with('-') ? std::string("expected a number of bytes, such as 500MB, not ") + text
                                             : std::string();
            })
            .in_bytes();
    };
    size(app.option("--max-trace,--max-bytes", options.bytes_max,
                    "stop recording after this many bytes; the program continues"));
    size(app.option("--ahead", options.ahead_bytes,
                    "map this much of the trace at the start and make no system call for it later, for programs "
                    "that forbid themselves system calls"));
    size(app.option("--sample", options.sample_bytes,
                    "choose one byte in N, and record only the allocations that hold one and their frees"));
    app.option("--ring", options.ring_minutes, "with --sample: keep the last minutes only, and what was alive then")
        .value_name("MINUTES")
        .positive();
    app.option("--seed", options.sample_seed, "choose the same bytes in each recording (single-threaded programs)")
        .value_name("SEED")
        .positive();
}

// The options for what is recorded in addition.
void add_extras(program::command_line& app, millpond::record::record_options& options) {
    app.option("--scope", options.scopes, "observe each activation of this function of the executable")
        .value_name("FUNCTION")
        .repeated();
    app.option("--scopes", options.scopes_file,
               "observe the functions of this list, which 'millpond trace show -o FILE.scopes' writes")
        .value_name("FILE");
    app.option("--scope-entries", options.scope_entries_max,
               "stop observing a function after this many entries (default: 1000000, about 6 us each)")
        .value_name("N")
        .positive();
    app.flag("--owners", options.samples_owners,
             "sample the registers and the stack at allocations: 'millpond trace show' finds in them which "
             "instance of a type each object belongs to");
    app.flag("--frees", options.places_frees,
             "record the call stack of each free, too: 'millpond trace show' says where each subsystem's blocks are "
             "freed");
    app.flag("--scan", options.scans,
             "look through the memory of each process at its end: 'millpond trace show' says then which of the blocks "
             "that are left no pointer reaches");
}

}  // namespace

int main(int argc, char** argv) {
    const bool conducted = millpond::measure::die_with_conductor();
    using namespace millpond::record;
    program::command_line app{
        "Records every heap event of a program into a trace.", {}, "\nmillpond: run with --help for the options"};
    record_options options;
    options.dies_with_recorder = conducted;
    std::string unfinished;
    std::uint32_t controlled = 0;
    const auto file = app.option("-o,--output", options.file, "write the trace to FILE (other processes: FILE.PID)")
                          .value_name("FILE");
    app.flag("--check-contexts", options.check_contexts,
             "compare 1 event in 64 with an uncached walk of its stack (1 in 4096 otherwise)");
    add_amounts(app, options);
    app.option("--for", options.seconds_max,
               "stop the program after this many seconds: SIGINT, 5 s later SIGTERM, 5 s later SIGKILL")
        .value_name("SECONDS")
        .positive();
    std::string mode = "600";
    app.option("--mode", mode, "permissions of the traces, in octal (600: only their owner may read them)")
        .value_name("OCTAL")
        .checked([](const std::string& text) {
            const bool octal = !text.empty() && text.size() <= 4 && text.find_first_not_of("01234567") == text.npos;
            return octal ? std::string() : "expected permissions in octal, such as 640, not " + text;
        });
    add_extras(app, options);
    app.flag("--idle", options.is_idle,
             "start asleep: allocations pass through until 'millpond trace control PID start'; each stretch up to "
             "'stop' is a trace FILE-1, FILE-2 ...");
    std::uint32_t attached = 0;
    app.option("--attach", attached, "record this process, which runs already, until --for or Ctrl-C")
        .value_name("PID")
        .positive();
    app.option("--control", controlled, "ask the recording of this program: start, stop, snapshot or mark NAME")
        .value_name("PID")
        .positive()
        .excludes(file);
    app.option("--finish", unfinished, "complete the recording of FILE whose recorder was interrupted")
        .value_name("FILE")
        .excludes(file);
    app.option("command", options.command, "-- PROGRAM ARGS").value_name("");
    return program::guarded_main(app, argc, argv, [&]() -> int {
        if (controlled != 0) return control(static_cast<pid_t>(controlled), options.command);
        options.attached_pid = static_cast<pid_t>(attached);
        refuse_unfit(app, options);
        if (attached == 0 && unfinished.empty() && (options.file.empty() || options.command.empty()))
            throw app.refusal("millpond-record -o FILE -- PROGRAM ARGS");
        options.mode = static_cast<unsigned>(std::stoul(mode, nullptr, 8));
        if (attached != 0) return record_attached(options);
        return unfinished.empty() ? record(options) : report(finish(unfinished, std::nullopt));
    });
}
