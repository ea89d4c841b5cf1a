// SPDX-License-Identifier: BSL-1.0
// millpond-record: records the heap events of an unmodified program and ends as that program does.
#include <signal.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "lab/record/supervisor.hpp"

namespace {

int report(const millpond::measure::start_error& error) {
    std::cerr << "millpond: " << error.message << '\n';
    return error.status;
}

// Ends as the program did, without a second core file.
int end_like(const millpond::record::ending& end) {
    if (end.signal == 0) return end.exit_status;
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(end.signal, SIG_DFL);
    sigset_t all;
    sigemptyset(&all);
    sigaddset(&all, end.signal);
    sigprocmask(SIG_UNBLOCK, &all, nullptr);
    raise(end.signal);
    return 128 + end.signal;
}

}  // namespace

int main(int argc, char** argv) {
    using namespace millpond::record;
    constexpr int usage_status = 2;
    CLI::App app{"Records every heap event of a program into a trace."};
    record_options options;
    std::string unfinished;
    auto* const file = app.add_option("-o,--output", options.file, "where the trace goes (other processes: FILE.PID)")
                           ->type_name("FILE");
    app.add_option("--max-bytes", options.bytes_max, "stop recording after this many bytes; the program goes on")
        ->type_name("N")
        ->check([](const std::string& text) {
            return text.starts_with('-') ? std::string("a number of bytes, such as 500MB, and not ") + text
                                         : std::string();
        })
        ->transform(CLI::AsSizeValue(false));
    app.add_flag("--check-contexts", options.check_contexts,
                 "compare 1 event in 64 with an uncached walk of its stack (1 in 4096 otherwise)");
    app.add_option("--finish", unfinished, "complete the recording of FILE whose recorder was interrupted")
        ->type_name("FILE")
        ->excludes(file);
    app.add_option("command", options.command, "-- PROGRAM ARGS")->type_name("");
    app.prefix_command(false);
    try {
        app.parse(argc, argv);
        if (unfinished.empty() && (options.file.empty() || options.command.empty()))
            throw CLI::ValidationError("millpond-record -o FILE -- PROGRAM ARGS");
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app.exit(error);
        std::cerr << "millpond: " << error.what() << "\nmillpond: run with --help for the options\n";
        return usage_status;
    }
    try {
        if (!unfinished.empty()) {
            const auto problem = supervisor(unfinished).finish(std::nullopt);
            return problem ? report(*problem) : 0;
        }
        supervisor work(options.file);
        ending end;
        if (const auto error = work.run(options, end)) return report(*error);
        if (const auto problem = work.finish(end)) return report(*problem);
        return end_like(end);
    } catch (const std::exception& error) {
        return report({millpond::measure::start_error::environment_lacks, error.what()});
    }
}
