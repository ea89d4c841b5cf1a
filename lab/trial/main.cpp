// SPDX-License-Identifier: BSL-1.0
// millpond-trial: surveys a program's modules, compiles a plan for them, and runs one round of one variant.
#include <string>
#include <vector>

#include "lab/measure/conductor.hpp"
#include "lab/plan/plan.hpp"
#include "lab/program/aside_file.hpp"
#include "lab/program/command_line.hpp"
#include "lab/trial/compile_routes.hpp"
#include "lab/trial/pair_costs.hpp"
#include "lab/trial/round.hpp"
#include "lab/trial/survey.hpp"

namespace {

using namespace millpond;

struct command_line {
    std::string survey_path, checked_plan_path, plan_path, modules_path, output_path;
    unsigned pair_cost_rounds = 0;
    millpond::trial::round_request round;

    std::vector<std::string>& program() { return round.launched.arguments; }
};

void declare(program::command_line& app, command_line& line) {
    using millpond::trial::is_variant;
    const auto flaw_of_variant = [](const std::string& name) {
        return is_variant(name) ? std::string()
                                : "unknown variant " + name + " (bare, empty, shared, shared_huge, looked_up, plan)";
    };
    const auto flaw_of_name = [](const std::string& name) { return name.empty() ? "a file name is needed" : ""; };
    program::option_list mode = app.exactly_one("mode", "what to do: exactly one");
    mode.option("--survey", line.survey_path, "run PROGRAM and write the modules that it loads to FILE")
        .value_name("FILE");
    mode.option("--check-plan", line.checked_plan_path, "read PLAN, check it, and print it as it was understood")
        .checked(flaw_of_name)
        .value_name("PLAN");
    mode.option("--compile", line.plan_path, "turn the names of PLAN into address ranges")
        .checked(flaw_of_name)
        .value_name("PLAN");
    mode.option("--round", line.round.variant_name, "run PROGRAM once under this variant and write its costs")
        .checked(flaw_of_variant, "VARIANT");
    mode.option("--pair-costs", line.pair_cost_rounds,
                "measure, in this many rounds, how much more a pool costs in a trial than in the source")
        .within(1, 1000)
        .value_name("ROUNDS");
    app.option("--modules", line.modules_path, "with --compile: the file that --survey wrote").value_name("FILE");
    app.option("-o", line.output_path, "with --compile: write the routes to this file").value_name("ROUTES");
    app.option("--routes", line.round.routes_path,
               "with --round: the compiled plan; controls use it to find the program that is tried")
        .value_name("ROUTES");
    app.option("--image", line.round.image_build_id,
               "with --round: try only the program with this build-id, also in child processes")
        .value_name("BUILD-ID");
    app.option("--result", line.round.result_path, "with --round: write the result to FILE").value_name("FILE");
    app.option("--stdin", line.round.launched.stdin_path, "the program's standard input").value_name("FILE");
    app.option("--stdout", line.round.launched.stdout_path, "the program's standard output").value_name("FILE");
    app.option("--stderr", line.round.launched.stderr_path, "the program's standard error").value_name("FILE");
    app.option("--pad", line.round.launched.padding_bytes,
               "bytes added to the environment (MILLPOND_PAD), to move the stack")
        .within(0, 65536);
    const auto flaw_of_assignment = [](const std::string& text) {
        const std::size_t equals = text.find('=');
        return equals == std::string::npos || equals == 0 ? "it is given as NAME=VALUE, not " + text : "";
    };
    app.option("--set", line.round.launched.variables, "a variable of the program's environment; may be repeated")
        .checked(flaw_of_assignment, "NAME=VALUE")
        .one_argument();
    app.option("program", line.program(), "the program and its arguments, behind --");
    app.footer(
        "Exit status: 0 done (the program's own is in the result), 2 usage or an unknown name, 3 damaged input or "
        "another build,\n"
        "4 a missing library, no memory or a file that cannot be written, 5 the program cannot be started.");
}

void require(const std::string& value, const char* option, const char* mode) {
    if (value.empty()) throw program::failure(program::usage, std::string(mode) + " needs " + option + "; see --help");
}

void act(command_line& line) {
    if (!line.checked_plan_path.empty())
        return program::print(millpond::plan::to_text(millpond::plan::read_plan(line.checked_plan_path)));
    if (line.pair_cost_rounds > 0) return program::print(trial::measure_pair_costs(line.pair_cost_rounds));
    if (!line.plan_path.empty()) {
        require(line.modules_path, "--modules", "--compile");
        require(line.output_path, "-o", "--compile");
        const millpond::plan::plan plan = millpond::plan::read_plan(line.plan_path);
        program::write_whole(line.output_path, trial::compile_routes(plan, trial::read_survey(line.modules_path)));
        return;
    }
    if (line.program().empty()) throw program::failure(program::usage, "no program given: put it behind --");
    if (!line.survey_path.empty()) {
        program::prove_writable(line.survey_path);
        program::write_whole(line.survey_path, trial::to_text(trial::run_survey(line.round.launched)));
        return;
    }
    require(line.round.result_path, "--result", "--round");
    trial::run_round(line.round);
}

}  // namespace

int main(int argc, char** argv) {
    millpond::measure::die_with_conductor();
    program::command_line app{"Tries a plan of local allocators on an unmodified program, one round a call."};
    command_line line;
    declare(app, line);
    return millpond::program::guarded_main(app, argc, argv, [&] {
        act(line);
        return millpond::program::ok;
    });
}
