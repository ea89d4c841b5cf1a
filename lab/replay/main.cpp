// SPDX-License-Identifier: BSL-1.0
// millpond-replay: plays a recorded program's heap events on a real allocator.
//
//   millpond-replay --prepare TRACE [--plan FILE | --per-subsystem] -o SCRIPT [--json FILE]
//   millpond-replay --play SCRIPT --strategy NAME [--malloc LIBRARY] [--order …] [--touch …] --result FILE
//
// Exit status: 0 done · 2 usage, an unknown strategy or subsystem · 3 a trace or script missing or damaged, a plan of
// another build, a library without malloc · 4 no memory, or a file that cannot be written.
#include <unistd.h>

#include <cstring>
#include <string>

#include "lab/measure/conductor.hpp"
#include "lab/program/aside_file.hpp"
#include "lab/program/command_line.hpp"
#include "lab/replay/play_stage.hpp"
#include "lab/replay/prepare.hpp"
#include "lab/trace/wholeness.hpp"

namespace {

using namespace millpond::replay;
namespace program = millpond::program;

struct command_line {
    prepare_request prepared;
    stage_request round;
    std::string json = "-";
};

void declare(program::command_line& app, command_line& line) {
    program::option_list mode = app.exactly_one("mode", "what to do: exactly one");
    mode.option("--prepare", line.prepared.trace, "write TRACE as a script").value_name("TRACE");
    mode.option("--play", line.round.script, "play SCRIPT once, in a fresh process").value_name("SCRIPT");
    app.option("-o", line.prepared.script, "with --prepare: write the script to this file").value_name("SCRIPT");
    const auto plan =
        app.option("--plan", line.prepared.plan, "with --prepare: a pool for each pool of PLAN").value_name("PLAN");
    app.flag("--per-subsystem", line.prepared.per_subsystem, "with --prepare: a pool for each subsystem")
        .excludes(plan);
    app.flag(millpond::trace::damaged_option, line.prepared.accepts_damaged, millpond::trace::damaged_help);
    app.option("--json", line.json, "with --prepare: write the summary to FILE, \"-\" for standard output");
    app.option("--strategy", line.round.strategy, "with --play: " + strategies_accepted());
    app.option("--malloc", line.round.malloc_library, "with --play: a malloc library to preload");
    app.option("--order", line.round.order, "with --play: total (one thread) or dependency (each thread its own)")
        .one_of({"total", "dependency"});
    app.option("--touch", line.round.touch, "with --play: the bytes written to a block after its allocation")
        .one_of({"none", "line", "check"});
    app.option("--diffusion", line.round.diffusion, "with --play: survey pages N times in an untimed pass")
        .within(0, 10000);
    app.flag("--pace", line.round.paced, "with --play in total order: play no event before its time in the trace");
    app.option("--pad", line.round.padding_bytes, "with --play: add this many bytes to the environment")
        .within(0, 65536);
    app.option("--result", line.round.result, "with --play: write the result to FILE").value_name("FILE");
}

void require(const std::string& value, const char* option, const char* mode) {
    if (value.empty()) throw program::failure(program::usage, std::string(mode) + " needs " + option + "; see --help");
}

void act(const command_line& line) {
    if (line.prepared.trace.empty()) {
        require(line.round.result, "--result", "--play");
        start(line.round);
    }
    require(line.prepared.script, "-o", "--prepare");
    program::write_or_print(line.json, prepare(line.prepared));
}

}  // namespace

int main(int argc, char** argv) {
    millpond::measure::die_with_conductor();
    // Runs first, before any code has called malloc; and last, because the memory of the round is never freed.
    if (argc > 1 && std::strcmp(argv[1], stage_word) == 0)
        ::_exit(program::guarded_main([&] { return run(argv + 2); }));
    program::command_line app{"Plays a recorded program's heap events on a real allocator."};
    command_line line;
    declare(app, line);
    return program::guarded_main(app, argc, argv, [&] {
        act(line);
        return program::ok;
    });
}
