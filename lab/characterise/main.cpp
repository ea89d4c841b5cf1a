// SPDX-License-Identifier: BSL-1.0
// millpond-characterise: describes how the subsystems of a recorded program use memory.
//
//   millpond-characterise [--json FILE] [--contexts FILE] [--plan-out DIR] [--group NAME=PATTERN …]
//                         [--scopes-out FILE] [--observed TRACE] [--cache DESCRIPTION] [--window WINDOW]
//                         [--phases] [--patterns] TRACE
//   millpond-characterise --summary [--json FILE] TRACE…
//   millpond-characterise --sizes [--granule BYTES] [--largest BYTES] [--moments N] [--short-sites FILE] [--json FILE]
//                         TRACE…
//
// Exit status: 0 ok (a trace without events too) · 2 usage · 3 a trace missing, damaged beyond use or empty · 4 a place
// that cannot be written, or no memory.

#include <bit>
#include <new>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lab/characterise/candidate_plans.hpp"
#include "lab/characterise/characterisation.hpp"
#include "lab/characterise/characterisation_json.hpp"
#include "lab/characterise/scope_list.hpp"
#include "lab/characterise/size_series.hpp"
#include "lab/plan/strict_json.hpp"
#include "lab/program/aside_file.hpp"
#include "lab/program/command_line.hpp"
#include "lab/program/json.hpp"
#include "lab/program/regular_file.hpp"
#include "lab/trace/wholeness.hpp"

namespace {

using namespace millpond::characterise;
namespace program = millpond::program;

struct options {
    std::string json_to = "-", plan_out, contexts_to, scopes_to, observed, window;
    std::vector<std::string> groups, traces;
    std::string short_sites;
    std::string cache = millpond::attribution::cache_shape::standard;
    bool summary = false, sizes = false, accepts_damaged = false;
    further_passes further;
    size_request of_sizes;
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

// `indent` -1: on one line. Names in a program may contain any bytes.
void write(const std::string& to, const json& what, int indent = 2) {
    program::write_or_print(to, program::json_text(what, indent) + "\n");
}

// Returns the nodes that lie on the way from the outside to an allocation.
std::vector<char> on_the_way(const characterisation& all) {
    const std::vector<context_counts>& counts = all.counts().contexts();
    std::vector<char> wanted(all.functions().node_count(), 0);
    for (std::uint32_t node = 1; node < wanted.size(); ++node) {
        if (counts[node].objects == 0) continue;
        for (std::uint32_t at = node; at != 0 && !wanted[at]; at = all.functions().node(at).parent) wanted[at] = 1;
    }
    return wanted;
}

// The tree of contexts with the allocations in each, for profiles (schema "millpond.contexts/1").
//
//   nodes   [parent, function, subsystem, objects, bytes, live_objects, live_bytes], parents before children;
//           node 1 is the first; parent 0 is the outside. Subsystem -1 and zeros: this node itself allocated nothing.
//           live_*: when the trace ended.
//   peak_bytes   of each node: live at the peak of all live bytes
//
// Only nodes that lead to an allocation are listed. O(nodes).
json contexts_json(const characterisation& all) {
    const std::vector<context_counts>& counts = all.counts().contexts();
    std::vector<std::int64_t> position(counts.empty() ? 0 : all.counts().subsystems().size(), -1);
    json subsystems = json::array();
    for (const std::uint32_t s : all.order()) {
        position[s] = static_cast<std::int64_t>(subsystems.size());
        subsystems.push_back(all.subsystems().subsystems()[s].name);
    }
    const std::vector<char> wanted = on_the_way(all);
    std::vector<std::uint32_t> number(wanted.size(), 0);
    std::unordered_map<std::string, std::uint32_t> known;
    json functions = json::array(), nodes = json::array(), peak_bytes = json::array();
    const auto row = [&](std::uint32_t node, std::string name) {
        const auto [function, is_new] = known.try_emplace(name, static_cast<std::uint32_t>(known.size()));
        if (is_new) functions.push_back(std::move(name));
        const bool allocates = counts[node].objects > 0;
        const live_counts left = allocates ? all.counts().left()[node] : live_counts{};
        const std::uint32_t parent = node == 0 ? 0 : number[all.functions().node(node).parent];
        nodes.push_back(json::array({parent, function->second, allocates ? position[counts[node].subsystem] : -1,
                                     counts[node].objects, counts[node].bytes, left.objects, left.bytes}));
        peak_bytes.push_back(counts[node].peak_bytes);
        number[node] = static_cast<std::uint32_t>(nodes.size());
    };
    for (std::uint32_t node = 1; node < wanted.size(); ++node) {
        if (wanted[node]) row(node, all.frame_name(node));
    }
    if (!counts.empty() && counts[0].objects > 0) row(0, "[unknown]");
    return program::json_object({{"schema", "millpond.contexts/1"},
                                 {"functions", functions},
                                 {"subsystems", subsystems},
                                 {"nodes", nodes},
                                 {"peak_bytes", peak_bytes}});
}

// Returns the strings of a JSON array.
std::vector<std::string> names_in(const std::string& path) {
    try {
        const json names = millpond::plan::parse_strict(program::read_regular(path, std::size_t{64} << 20));
        std::vector<std::string> found;
        for (const json& name : names) found.push_back(name.text());
        return found;
    } catch (const std::runtime_error&) {
        throw program::failure(program::input, path + " is not a JSON array of strings");
    }
}

// Writes the summary of each trace, or its sizes.
void write_all(const options& chosen) {
    json all = json::array();
    size_request request = chosen.of_sizes;
    if (!chosen.short_sites.empty()) request.short_sites = names_in(chosen.short_sites);
    for (const std::string& trace : chosen.traces)
        all.push_back(chosen.sizes ? sizes_json(trace, request, chosen.accepts_damaged)
                                   : summarise(trace, chosen.accepts_damaged));

    write(chosen.json_to, all, chosen.sizes ? -1 : 2);
}

void refuse(bool is_wrong, const char* why) {
    if (is_wrong) throw program::failure(program::usage, why);
}

void check_sizes(const options& chosen) {
    refuse(chosen.summary || chosen.further.phases || !chosen.contexts_to.empty() || !chosen.scopes_to.empty() ||
               !chosen.observed.empty() || !chosen.plan_out.empty() || !chosen.groups.empty(),
           "--sizes looks at sizes only: drop it, or the options of subsystems, contexts and scopes");
    refuse(!std::has_single_bit(chosen.of_sizes.granule_bytes), "--granule takes a power of two");
    refuse(chosen.of_sizes.largest_bytes % chosen.of_sizes.granule_bytes != 0,
           "--largest takes a multiple of --granule");
}

void check(const options& chosen) {
    refuse((chosen.sizes || chosen.summary) && chosen.further.patterns,
           "--patterns needs contexts, which --summary and --sizes do not read: drop one of the two");
    refuse((chosen.sizes || chosen.summary) && !chosen.window.empty(),
           "--window applies to the dimensions, which --summary and --sizes do not measure: drop one of the two");
    if (chosen.sizes) return check_sizes(chosen);
    refuse(chosen.summary && chosen.further.phases, "--summary counts nothing by phase: drop one of the two");
    refuse(chosen.summary && !chosen.contexts_to.empty(), "--summary reads no contexts: drop it, or --contexts");
    refuse(chosen.summary && !(chosen.scopes_to.empty() && chosen.observed.empty()),
           "--summary reads no scopes: drop it, or --scopes-out and --observed");
    refuse(!chosen.summary && chosen.traces.size() > 1,
           "several traces need --summary or --sizes; otherwise name one trace");
    refuse(chosen.summary && !chosen.plan_out.empty(),
           "--summary reads no subsystems, so there are no plans to write: drop one of the two");
}

void require_whole(const std::string& path, const characterisation& found, bool accepts) {
    const bool in_references = found.reader().damages().empty();
    millpond::trace::require_whole(path, in_references ? found.reference_damages() : found.reader().damages(), accepts);
}

void run(const options& chosen) {
    const std::vector<millpond::symbols::owner_group> groups = parse_groups(chosen.groups);
    check(chosen);
    if (chosen.summary || chosen.sizes) return write_all(chosen);
    const auto cache = millpond::attribution::cache_shape::of(chosen.cache);
    std::optional<window_request> window;
    if (!chosen.window.empty()) window = window_request::parse(chosen.window);
    characterisation found(chosen.traces.front(), groups, window, chosen.further);
    const bool needs_all = window || !(chosen.scopes_to.empty() && chosen.plan_out.empty() && chosen.observed.empty() &&
                                       chosen.contexts_to.empty());
    if (found.estimates() != nullptr && needs_all)
        throw program::failure(program::input, chosen.traces.front() +
                                                   " is a sample of the allocations; plans, scopes, windows and trees "
                                                   "of contexts need every one: record without --sample");
    found.count_references(cache);
    require_whole(chosen.traces.front(), found, chosen.accepts_damaged);
    std::optional<characterisation> observed;
    if (!chosen.observed.empty()) {
        found.take_observations(observed.emplace(chosen.observed, groups));
        require_whole(chosen.observed, *observed, chosen.accepts_damaged);
    }
    if (!chosen.scopes_to.empty()) program::write_whole(chosen.scopes_to, scope_list(found));
    if (!chosen.plan_out.empty()) write_candidate_plans(candidate_plans(found), chosen.plan_out);
    if (!chosen.contexts_to.empty()) write(chosen.contexts_to, contexts_json(found), -1);
    write(chosen.json_to, to_json(found));
}

}  // namespace

int main(int argc, char** argv) {
    options chosen;
    program::command_line app(
        "Describes how a program's subsystems use memory: figures, DVLUC, legality, candidate plans.",
        "millpond-characterise", " (--help lists the options)");
    app.option("--json", chosen.json_to, "write the result to FILE, \"-\" for standard output").shows_default();
    app.option("--contexts", chosen.contexts_to, "also write the tree of contexts with its counts to this file");
    app.option("--plan-out", chosen.plan_out, "write candidate plans into this directory");
    app.option("--scopes-out", chosen.scopes_to,
               "write the functions whose activations a second recording should observe (millpond-record --scopes)");
    app.option("--observed", chosen.observed,
               "take the legality of scopes from this trace of the same program, in which they were observed");
    app.option("--group", chosen.groups,
               "NAME=PATTERN: treat the owners that match the pattern (*, ?) as one subsystem")
        .repeated();
    app.option("--cache", chosen.cache,
               "the cache whose misses are counted, if the trace has references: attributed, fifo or random, as "
               "millpond-simulate takes them")
        .value_name("DESCRIPTION")
        .shows_default();
    app.option("--window", chosen.window,
               "measure the dimensions over this part of the trace: events=FROM:TO, seconds=FROM:TO or scope=FUNCTION, "
               "an observed function from its first call to the end of its last; default: each subsystem from its "
               "first operation to the end of its last object")
        .value_name("WINDOW");
    app.flag(
        "--phases", chosen.further.phases,
        "also count by phase: those that the program marks (millpond/phase.h), else those that are found where the "
        "mix of events or the growth of live bytes changes; a second pass over a trace that has some");
    app.flag("--patterns", chosen.further.patterns,
             "also count what is alive at the end, temporaries and growth, which takes nearly as long as all else");
    app.flag("--summary", chosen.summary, "only the trace and the process, an array with an object for each trace");
    app.flag("--sizes", chosen.sizes, "only the requested sizes, an array with an object for each trace");
    app.option("--granule", chosen.of_sizes.granule_bytes, "round sizes up to this power of two")
        .within(8, 4096)
        .shows_default();
    app.option("--largest", chosen.of_sizes.largest_bytes, "count larger sizes together")
        .within(8, 1 << 20)
        .shows_default();
    app.option("--moments", chosen.of_sizes.moments, "the number of moments for which live blocks are reported")
        .within(1, 1 << 16)
        .shows_default();
    app.option("--short-sites", chosen.short_sites, "with --sizes: try an arena for the call sites that FILE names")
        .value_name("FILE");
    app.flag(millpond::trace::damaged_option, chosen.accepts_damaged, millpond::trace::damaged_help);
    app.option("trace", chosen.traces, "the trace (*.mpt)").required();
    return program::guarded_main(app, argc, argv, [&] {
        try {
            run(chosen);
            return program::ok;
        } catch (const std::bad_alloc&) {
            throw program::failure(program::environment,
                                   "out of memory: the trace has more contexts or live objects than fit");
        }
    });
}
