// SPDX-License-Identifier: BSL-1.0
// millpond-layout: where another allocator would put the objects of a recorded program: its first step.
//
//   millpond-layout --calls RECORDING -o SCRIPT     the calls of the program to its allocator, as a script
//   (millpond-player SCRIPT makes them; millpond-simulate --played reads what a capture of it has recorded)
//
// Exit status: 0 done · 2 usage · 3 no recording, or one without references · 4 a place that cannot be written.
#include <string>

#include "lab/layout/call_script_writer.hpp"
#include "lab/program/command_line.hpp"
#include "lab/program/program.hpp"

int main(int argc, char** argv) {
    namespace program = millpond::program;
    CLI::App app{"Writes the calls of a recorded program to its allocator as a script for millpond-player.",
                 "millpond-layout"};
    std::string recording, script;
    app.add_option("--calls", recording, "the recording, with references")->type_name("RECORDING")->required();
    app.add_option("-o,--output", script, "where the script goes")->type_name("SCRIPT")->required();
    return program::guarded_main(
        app, argc, argv,
        [&] {
            const auto totals = millpond::layout::write_call_script(recording, script);
            program::print(std::to_string(totals.calls) + " calls, " + std::to_string(totals.allocations) +
                           " allocations, " + std::to_string(totals.frees) + " frees of " +
                           std::to_string(totals.threads) + " threads; " + std::to_string(totals.unknown_frees) +
                           " frees of what was not seen\n");
            return program::ok;
        },
        " (--help lists the options)");
}
