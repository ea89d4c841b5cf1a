// SPDX-License-Identifier: BSL-1.0
#include "suite.hpp"

#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "command_line.hpp"
#include "lab/measure/event_request.hpp"
#include "lab/measure/named_events.hpp"
#include "lab/suites/common/ending.hpp"
#include "report.hpp"
#include "window.hpp"

namespace millpond::frame {
namespace {

using suites::fail, suites::print;

// Effects: the point's contender is the one of this name or alias. Returns: whether there is one.
bool find_contender(const suite& in, std::string_view name, point& asked) {
    asked.is_kept = name.ends_with(kept_suffix);
    if (asked.is_kept) name.remove_suffix(kept_suffix.size());
    const auto known = in.contenders();
    for (std::size_t i = 0; i < known.size() && !name.empty(); ++i) {
        asked.contender = i;
        if (known[i].name == name || known[i].alias == name) return !asked.is_kept || known[i].can_be_kept;
    }
    return false;
}

void add_to_list(std::string& names, std::string_view next) { names.append(names.empty() ? "" : ", ").append(next); }

// Returns: what is wrong with the contender, or nothing.
std::string read_contender(const suite& in, const command_line& line, point& asked) {
    const bool is_known = find_contender(in, line.contender, asked);
    const auto all = in.contenders();
    if (is_known && asked.of->takes(asked.contender)) {
        if (in.peer == nullptr || all[asked.contender].name != in.peer->contender || line.peer != nullptr) return {};
        return "the contender " + std::string(in.peer->contender) + " needs --peer LIBRARY";
    }
    std::string known;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (asked.of->takes(i)) add_to_list(known, all[i].name);
    }
    return "no contender \"" + std::string(line.contender) + "\" of " + std::string(line.workload) +
           "; there are: " + known + (in.keep_chunks != nullptr ? " (peers with a source also as NAME:kept)" : "");
}

// Returns: what is wrong with the line, or nothing.
std::string read_point(const suite& in, const command_line& line, point& asked) {
    std::string known;
    for (const workload* each : in.workloads) {
        if (each->name == line.workload) asked.of = each;
        add_to_list(known, each->name);
    }
    if (asked.of == nullptr) return "no workload \"" + std::string(line.workload) + "\"; there are: " + known;
    if (line.peer != nullptr && in.peer == nullptr) return "--peer: this suite takes no library";
    const bool is_of_windows = line.litter || line.counters || line.event_count > 0 || line.control;
    if (is_of_windows && !in.measures_windows())
        return "this suite measures in passes: it has no --litter, --counters, --event and --perf-control";
    if (line.instructions > 0 && asked.of->counted_functions.empty())
        return "--instructions counts nothing in " + std::string(line.workload);
    asked.instructions = line.instructions;
    for (const std::string& wrong : {read_contender(in, line, asked), read_values(line, asked)}) {
        if (!wrong.empty()) return wrong;
    }
    return asked.of->misfit(asked);
}

// A heap in which this very workload has been running for long, the same for every contender.
void litter(const suite& in, const point& asked, double fraction, std::optional<measure::littering>& blocks) {
    point once = asked;
    once.is_for_littering = true;
    in.note_blocks(once, blocks.emplace());
    blocks->hold();
    blocks->free_fraction(fraction, asked.seed());
}

// Effects: opens what the line asks to be counted. Returns: 0, or the status to end with; what is wrong has been said.
int open_counters(const command_line& line, instruments& around) {
    static measure::event_request named;  // what it was answered outlives the counters
    if (line.counters) {
        for (const measure::named_event& each : measure::named_events()) named.add(each.generic.name.data());
    }
    std::vector<measure::event> raw;
    for (std::size_t i = 0; i < line.event_count; ++i) {
        if (const auto of = read_raw_event(line.events[i])) {
            raw.push_back(*of);
        } else if (line.counters && measure::find_named_event(line.events[i]) != nullptr) {
            return fail(2, "--event " + std::string(line.events[i]) + " is one of those that --counters counts");
        } else {
            named.add(line.events[i]);
        }
    }
    if (const int status = named.ask(); status != 0) return status;
    std::vector<measure::event> events(named.answers().begin(), named.answers().end());
    events.insert(events.end(), raw.begin(), raw.end());
    if (!events.empty()) around.counters.emplace(std::move(events));
    return 0;
}

// Effects: adds what the contender kept, once everything was freed.
void note_held(const suite& in, const point& asked, outcome& measured) {
    const auto held_bytes = asked.is_kept ? in.kept_bytes : in.contenders()[asked.contender].held_bytes;
    if (held_bytes != nullptr) measured.set_count("held_bytes", held_bytes());
}

// Returns: the exit status. Throws: std::bad_alloc, peer_error.
int measure(const suite& in, const command_line& line, const point& asked) {
    instruments around;
    if (const int status = open_counters(line, around); status != 0) return status;
    around.control = line.control;
    if (line.peer != nullptr) in.peer->load(line.peer);
    if (asked.is_kept) in.keep_chunks();
    std::optional<measure::littering> blocks;
    if (line.litter) litter(in, asked, *line.litter, blocks);
    if (in.prepare != nullptr) in.prepare(asked);
    in_use = &around;  // from now on around every window, and no littering
    outcome measured = asked.of->run(asked);
    note_held(in, asked, measured);
    return print(round_as_json(in, asked, measured));
}

int run(const suite& in, const command_line& line) {
    point asked;
    for (const contender& each : in.contenders()) {
        if (each.name == line.contender && !each.from->is_built_in)
            return fail(4, "this program was built without " + std::string(each.name) + ": install " +
                               std::string(each.from->name) + " and build it again");
    }
    const std::string wrong = read_point(in, line, asked);
    if (!wrong.empty()) return fail(2, wrong);
    if (line.memory_limit_bytes && asked.of->least_bytes(asked) > *line.memory_limit_bytes) {
        return print(failure_as_json(in, asked, "predicted_bad_alloc"));
    }
    try {
        return measure(in, line, asked);
    } catch (const std::bad_alloc&) {
        return print(failure_as_json(in, asked, "bad_alloc"));
    }
}

}  // namespace

int run_suite(const suite& of, int argc, char** argv) noexcept {
    try {
        const command_line line = read_command_line(argc, argv);
        if (!line.error.empty()) return fail(2, line.error + "; see --help");
        if (line.help) return std::fputs(usage_of(of).c_str(), stdout) < 0 ? 4 : 0;
        if (line.list) return print(list_as_json(of));
        if (line.workload.empty() || line.contender.empty()) {
            return fail(2, "--workload and --contender are needed, or --list; see --help");
        }
        return run(of, line);
    } catch (const peer_error& error) {
        return fail(3, error.what());
    } catch (const std::exception& error) {
        return fail(4, error.what());
    }
}

}  // namespace millpond::frame
