// SPDX-License-Identifier: BSL-1.0
// millpond-characterise: what the subsystems of a recorded program do with memory.
//
//   millpond-characterise [--json FILE] [--contexts FILE] [--plan-out DIR] [--group NAME=PATTERN …]
//                         [--scopes-out FILE] [--observed TRACE] TRACE
//   millpond-characterise --summary [--json FILE] TRACE…
//
// Exit status: 0 ok (a trace without events too) · 2 usage · 3 a trace missing, damaged beyond use or empty · 4 a place
// that cannot be written, or no memory.

#include <new>
#include <optional>
#include <string>
#include <vector>

#include "lab/characterise/candidate_plans.hpp"
#include "lab/characterise/characterisation.hpp"
#include "lab/characterise/context_json.hpp"
#include "lab/characterise/scope_list.hpp"
#include "lab/program/aside_file.hpp"
#include "lab/program/command_line.hpp"

namespace {

using namespace millpond::characterise;
namespace program = millpond::program;

struct options {
    std::string json_to = "-", plan_out, contexts_to, scopes_to, observed;
    std::vector<std::string> groups, traces;
    bool summary = false;
};

std::vector<millpond::symbols::owner_group> parse_groups(const std::vector<std::string>& texts) {
    std::vector<millpond::symbols::owner_group> groups;
    for (const std::string& text : texts) {
        const std::size_t equals = text.find('=');
        if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
            throw program::failure(program::usage,
                                   "--group takes NAME=PATTERN, for example --group 'strings=*string*'");
        groups.push_back({text.substr(0, equals), text.substr(equals + 1)});
    }
    return groups;
}

// `indent` -1: on one line. Names of a program may be in any encoding; what is not UTF-8 is replaced.
void write(const std::string& to, const json& what, int indent = 2) {
    program::write_or_print(to, what.dump(indent, ' ', false, json::error_handler_t::replace) + "\n");
}

void summarise_all(const options& chosen) {
    json all = json::array();
    for (const std::string& trace : chosen.traces) all.push_back(summarise(trace));
    write(chosen.json_to, all);
}

void refuse(bool is_wrong, const char* why) {
    if (is_wrong) throw program::failure(program::usage, why);
}

void check(const options& chosen) {
    refuse(chosen.summary && !chosen.contexts_to.empty(), "--summary looks at no context: drop it, or --contexts");
    refuse(chosen.summary && !(chosen.scopes_to.empty() && chosen.observed.empty()),
           "--summary looks at no scope: drop it, or --scopes-out and --observed");
    refuse(!chosen.summary && chosen.traces.size() > 1,
           "several traces can only be summarised: add --summary, or name one trace");
    refuse(chosen.summary && !chosen.plan_out.empty(),
           "--summary looks at no subsystem, so that there are no plans to write: drop one of the two");
}

void run(const options& chosen) {
    const std::vector<millpond::symbols::owner_group> groups = parse_groups(chosen.groups);
    check(chosen);
    if (chosen.summary) return summarise_all(chosen);
    characterisation found(chosen.traces.front(), groups);
    std::optional<characterisation> observed;
    if (!chosen.observed.empty()) found.take_observations(observed.emplace(chosen.observed, groups));
    if (!chosen.scopes_to.empty()) program::write_whole(chosen.scopes_to, scope_list(found));
    if (!chosen.plan_out.empty()) write_candidate_plans(candidate_plans(found), chosen.plan_out);
    if (!chosen.contexts_to.empty()) write(chosen.contexts_to, contexts_json(found), -1);
    write(chosen.json_to, found.to_json());
}

}  // namespace

int main(int argc, char** argv) {
    options chosen;
    CLI::App app("What the subsystems of a recorded program do with memory: figures, DVLUC, legality, candidate plans.",
                 "millpond-characterise");
    app.add_option("--json", chosen.json_to, "where the result goes, \"-\" for standard output")->capture_default_str();
    app.add_option("--contexts", chosen.contexts_to, "also write the tree of contexts with its counts to this file");
    app.add_option("--plan-out", chosen.plan_out, "write candidate plans into this folder");
    app.add_option(
        "--scopes-out", chosen.scopes_to,
        "write the functions whose activations a second recording should observe (millpond-record --scopes)");
    app.add_option("--observed", chosen.observed,
                   "take the legality of scopes from this trace of the same program, in which they were observed");
    app.add_option("--group", chosen.groups, "NAME=PATTERN: owners that the pattern (*, ?) fits are one subsystem")
        ->expected(1)
        ->take_all();
    app.add_flag("--summary", chosen.summary, "only the trace and the process, an array with an object for each trace");
    app.add_option("trace", chosen.traces, "the trace (*.mpt)")->required();
    return program::guarded_main(
        app, argc, argv,
        [&] {
            try {
                run(chosen);
                return program::ok;
            } catch (const std::bad_alloc&) {
                throw program::failure(program::environment,
                                       "out of memory: the trace has more contexts or live objects than fit");
            }
        },
        " (--help lists the options)");
}
