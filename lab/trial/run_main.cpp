// SPDX-License-Identifier: BSL-1.0
// millpond-run: runs a program under a plan for everyday use: it measures nothing and ends with the program's status.
// It can also export a library with the plan inside, which does the same when it is preloaded.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "lab/measure/conductor.hpp"
#include "lab/measure/end_as.hpp"
#include "lab/plan/plan.hpp"
#include "lab/program/aside_file.hpp"
#include "lab/program/command_line.hpp"
#include "lab/program/regular_file.hpp"
#include "lab/trial/compile_routes.hpp"
#include "lab/trial/control_file.hpp"
#include "lab/trial/exported_plan.hpp"
#include "lab/trial/launch.hpp"
#include "lab/trial/opened_libraries.hpp"
#include "lab/trial/pool_totals.hpp"
#include "lab/trial/scratch_file.hpp"
#include "lab/trial/survey_loader.hpp"

namespace {

using namespace millpond;

// Includes the plan's own program if it still exists, because it may be a child of the command.
trial::survey modules_of(const plan::plan& plan, const std::vector<std::string>& started) {
    const bool is_there = !plan.program.path.empty() && std::filesystem::exists(plan.program.path);
    return trial::survey_loader(is_there ? std::vector<std::string>{plan.program.path} : started);
}

void print_statistics(const trial::control& shared, const std::vector<std::string>& pools) {
    std::fprintf(stderr, "millpond: %-40s %14s %14s %12s %9s\n", "pool", "allocations", "frees", "held bytes",
                 "resets");
    for (std::size_t i = 0; i < pools.size(); ++i) {
        const trial::pool_totals of = trial::totals_of(shared, i);
        std::fprintf(stderr, "millpond: %-40.40s %14llu %14llu %12llu %9llu\n", pools[i].c_str(),
                     static_cast<unsigned long long>(of.allocations), static_cast<unsigned long long>(of.frees()),
                     static_cast<unsigned long long>(of.held_bytes), static_cast<unsigned long long>(of.resets));
    }
}

bool has_own_malloc(const trial::control& shared) {
    const std::size_t claimed = std::min<std::size_t>(shared.slots_claimed, trial::control::slots);
    return std::any_of(shared.processes, shared.processes + claimed,
                       [](const trial::process_slot& slot) { return slot.malloc_in_executable != 0; });
}

// Writes a copy of the library with the plan behind it.
void export_to(const std::string& path, const std::string& plan_path) {
    constexpr std::size_t library_bytes_max = std::size_t{256} << 20;
    program::prove_writable(path);
    const plan::plan plan = plan::read_plan(plan_path);
    const trial::opened_libraries libraries = trial::find_opened_libraries(plan, {});
    const trial::compiled_routes compiled =
        trial::compile_routes(plan, modules_of(plan, {plan.program.path}), libraries.modules, libraries.absent.empty());
    trial::say_what_waits(compiled, libraries);
    const std::string& routes = compiled.content;
    std::string content = program::read_regular(trial::trial_library_path(), library_bytes_max);
    content.resize((content.size() + trial::exported_plan::alignment - 1) / trial::exported_plan::alignment *
                   trial::exported_plan::alignment);
    trial::exported_plan trailer{};
    trailer.routes_at = content.size();
    trailer.routes_bytes = routes.size();
    trailer.magic = trial::exported_plan::magic_value;
    content += routes;
    content.append(reinterpret_cast<const char*>(&trailer), sizeof trailer);
    program::write_whole(path, content);
}

int run(const std::string& plan_path, bool statistics, const std::vector<std::string>& program) {
    const plan::plan plan = plan::read_plan(plan_path);
    const trial::opened_libraries libraries = trial::find_opened_libraries(plan, program);
    const trial::compiled_routes compiled =
        trial::compile_routes(plan, modules_of(plan, program), libraries.modules, libraries.absent.empty());
    trial::say_what_waits(compiled, libraries);
    const trial::scratch_file routes(compiled.content);
    const trial::control_file shared(trial::variant::plan);
    std::snprintf(shared->routes_path, sizeof shared->routes_path, "%s", routes.path().c_str());
    std::snprintf(shared->image_build_id, sizeof shared->image_build_id, "%s", plan.program.build_id.c_str());
    trial::launch launched;
    launched.arguments = program;
    const measure::measurement ended = trial::run(launched, shared.path());
    if (shared->slots_claimed == 0)
        program::say("nothing was pooled: the plan belongs to " + plan.program.described() + ", which did not run");
    else if (has_own_malloc(*shared))
        program::say(
            "nothing was pooled: the program calls its own malloc directly (linked into the executable, "
            "or in a library with -Bsymbolic)");
    else
        trial::say_what_never_came(compiled, *shared);
    if (statistics && shared->slots_claimed != 0) print_statistics(*shared, plan.pools());
    return measure::end_as(ended.exit_status, ended.signal);
}

}  // namespace

int main(int argc, char** argv) {
    measure::die_with_conductor();
    program::command_line app{"Runs a program under a plan, measures nothing, and ends with the program's status.",
                              "millpond-run"};
    std::string plan, library;
    bool statistics = false;
    std::vector<std::string> started;
    app.option("--plan", plan, "the plan: the pool of each subsystem").required().value_name("FILE");
    app.flag("--stats", statistics, "at the end, print each pool's counters on standard error");
    app.option("--export", library, "write a library with the plan inside, for LD_PRELOAD; run nothing")
        .value_name("FILE");
    app.option("program", started, "the program and its arguments, behind --");
    return program::guarded_main(app, argc, argv, [&]() -> int {
        if (started.empty() == library.empty())
            throw program::failure(program::usage, "give either a program, behind --, or --export FILE; see --help");
        if (library.empty()) return run(plan, statistics, started);
        export_to(library, plan);
        return program::ok;
    });
}
