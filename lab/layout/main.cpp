// SPDX-License-Identifier: BSL-1.0
// millpond-layout: writes the allocator calls of a recorded program as a script, to play them on another allocator.
//
//   millpond-layout --calls RECORDING [--plan PLAN | --per-subsystem] -o SCRIPT
//
// The script has one pool for each pool of PLAN, or for each subsystem. `millpond-references --play SCRIPT` makes the
// calls on another allocator and records them; `millpond-simulate --played` reads that recording.
//
// Standard output, as JSON: the program, whether its file is still the one that ran, and the script's totals.
// Exit status: 0 done · 2 usage · 3 no recording, or one without references · 4 the script cannot be written.
#include <optional>
#include <string>

#include "lab/layout/call_script_writer.hpp"
#include "lab/plan/plan.hpp"
#include "lab/plan/pool_choice.hpp"
#include "lab/program/command_line.hpp"
#include "lab/program/json.hpp"
#include "lab/program/program.hpp"
#include "lab/symbols/module_functions.hpp"
#include "lab/trace/reader.hpp"
#include "lab/trace/wholeness.hpp"

namespace {

namespace program = millpond::program;
using millpond::plan::pool_choice;

// Returns false without a build-id: the file cannot be compared.
bool is_same(const std::string& executable, const std::string& build_id) {
    return !build_id.empty() && millpond::symbols::build_id_of(executable) == build_id;
}

program::json pools_json(const std::optional<pool_choice>& pools) {
    program::json all = program::json::array();
    for (std::size_t i = 1; pools && i < pools->pools().size(); ++i)
        all.push_back(program::json_object({{"name", pools->pools()[i].name}, {"objects", pools->pools()[i].objects}}));
    return all;
}

}  // namespace

int main(int argc, char** argv) {
    program::command_line app{
        "Writes the allocator calls of a recorded program as a script, to play them on another allocator.",
        "millpond-layout", " (--help lists the options)"};
    std::string recording, script, plan_file;
    bool per_subsystem = false, accepts_damaged = false;
    app.option("--calls", recording, "read this recording, which must have references")
        .value_name("RECORDING")
        .required();
    app.option("-o,--output", script, "write the script to this file").value_name("SCRIPT").required();
    const auto plan = app.option("--plan", plan_file, "use the pools of PLAN").value_name("PLAN");
    app.flag("--per-subsystem", per_subsystem, "use one pool for each subsystem").excludes(plan);
    app.flag(millpond::trace::damaged_option, accepts_damaged, millpond::trace::damaged_help);
    return program::guarded_main(app, argc, argv, [&] {
        const millpond::trace::reader trace(recording);
        std::optional<pool_choice> pools;
        if (!plan_file.empty()) pools.emplace(trace, millpond::plan::read_plan(plan_file), true);
        if (per_subsystem) pools.emplace(trace);
        const auto totals =
            millpond::layout::write_call_script(recording, script, pools ? &*pools : nullptr, accepts_damaged);
        const std::string& executable = trace.process().executable;
        const program::json said =
            program::json_object({{"executable", executable},
                                  {"executable_is_same", is_same(executable, trace.process().build_id)},
                                  {"calls", totals.calls},
                                  {"allocations", totals.allocations},
                                  {"frees", totals.frees},
                                  {"unknown_frees", totals.unknown_frees},
                                  {"threads", totals.threads},
                                  {"pools", pools_json(pools)}});
        program::print(program::json_text(said) + "\n");
        return program::ok;
    });
}
