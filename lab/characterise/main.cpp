// SPDX-License-Identifier: BSL-1.0
// millpond-characterise: what the subsystems of a recorded program do with memory.
//
//   millpond-characterise [--json FILE] [--contexts FILE] [--plan-out DIR] [--group NAME=PATTERN …]
//                         [--scopes-out FILE] [--observed TRACE] TRACE
//   millpond-characterise --summary [--json FILE] TRACE…
//
// Exit status: 0 ok (a trace without events too) · 2 usage · 3 a trace missing, damaged beyond use or empty · 4 a place
// that cannot be written, or no memory.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "candidate_plans.hpp"
#include "characterisation.hpp"
#include "context_json.hpp"
#include "lab/files/aside_file.hpp"
#include "scope_list.hpp"

namespace {

using namespace millpond::characterise;

enum exit_status { ok = 0, usage = 2, bad_input = 3, bad_environment = 4 };

struct options {
    std::string json_to = "-", plan_out, contexts_to, scopes_to, observed;
    std::vector<std::string> groups, traces;
    bool summary = false;
};

int complain(int status, const std::string& text) {
    std::fprintf(stderr, "millpond: %s\n", text.c_str());
    return status;
}

bool parse_groups(const std::vector<std::string>& texts, std::vector<millpond::symbols::owner_group>& groups) {
    for (const std::string& text : texts) {
        const std::size_t equals = text.find('=');
        if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) return false;
        groups.push_back({text.substr(0, equals), text.substr(equals + 1)});
    }
    return true;
}

// `indent` -1: on one line.
void print(const std::string& to, const json& what, int indent = 2) {
    // Names of a program may be in any encoding; what is not UTF-8 is replaced.
    const std::string text = what.dump(indent, ' ', false, json::error_handler_t::replace) + "\n";
    if (to == "-") {
        std::cout << text << std::flush;
        if (!std::cout) throw std::system_error(errno, std::generic_category(), "cannot write to standard output");
    } else {
        millpond::lab::write_whole(to, text);
    }
}

void summarise_all(const options& chosen) {
    if (chosen.traces.size() == 1) return print(chosen.json_to, summarise(chosen.traces.front()));
    json all = json::array();
    for (const std::string& trace : chosen.traces) all.push_back(summarise(trace));
    print(chosen.json_to, all);
}

int run(const options& chosen) {
    std::vector<millpond::symbols::owner_group> groups;
    if (!parse_groups(chosen.groups, groups))
        return complain(usage, "--group takes NAME=PATTERN, for example --group 'strings=*string*'");
    if (chosen.summary && !chosen.contexts_to.empty())
        return complain(usage, "--summary looks at no context: drop it, or --contexts");
    if (chosen.summary && !(chosen.scopes_to.empty() && chosen.observed.empty()))
        return complain(usage, "--summary looks at no scope: drop it, or --scopes-out and --observed");
    if (!chosen.summary && chosen.traces.size() > 1)
        return complain(usage, "several traces can only be summarised: add --summary, or name one trace");
    if (chosen.summary && !chosen.plan_out.empty())
        return complain(usage,
                        "--summary looks at no subsystem, so that there are no plans to write: drop one of the two");
    try {
        if (chosen.summary) {
            summarise_all(chosen);
            return ok;
        }
        characterisation found(chosen.traces.front(), groups);
        std::optional<characterisation> observed;
        if (!chosen.observed.empty()) found.take_observations(observed.emplace(chosen.observed, groups));
        if (!chosen.scopes_to.empty()) millpond::lab::write_whole(chosen.scopes_to, scope_list(found));
        if (!chosen.plan_out.empty()) write_candidate_plans(candidate_plans(found), chosen.plan_out);
        if (!chosen.contexts_to.empty()) print(chosen.contexts_to, contexts_json(found), -1);
        print(chosen.json_to, found.to_json());
        return ok;
    } catch (const millpond::trace::trace_error& error) {
        return complain(bad_input, error.what());
    } catch (const std::system_error& error) {
        return complain(bad_environment, std::string(error.what()) + ": choose a place that can be written");
    } catch (const std::bad_alloc&) {
        return complain(bad_environment, "out of memory: the trace has more contexts or live objects than fit");
    }
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
    app.add_flag("--summary", chosen.summary, "only the trace and the process; takes several traces");
    app.add_option("trace", chosen.traces, "the trace (*.mpt)")->required();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app.exit(error);
        return complain(usage, std::string(error.what()) + " (--help lists the options)");
    }
    return run(chosen);
}
