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

namespace millpond::experiment {
namespace {

using suites::fail, suites::print;

std::optional<std::size_t> find_strategy(const suite& in, std::string_view name) {
    const auto& known = in.strategies();
    for (std::size_t i = 0; i < known.size() && !name.empty(); ++i) {
        if (known[i].name == name || known[i].alias == name) return i;
    }
    return std::nullopt;
}

// Returns: what is wrong with the line, or nothing.
std::string read_point(const suite& in, const command_line& line, point& asked) {
    std::string known;
    for (const workload* each : in.workloads) {
        if (each->name == line.workload) asked.of = each;
        known.append(known.empty() ? "" : ", ").append(each->name);
    }
    if (asked.of == nullptr) return "no workload \"" + std::string(line.workload) + "\"; there are: " + known;
    const auto by = find_strategy(in, line.strategy);
    if (!by || !asked.of->takes(*by)) {
        known.clear();
        for (std::size_t i = 0; i < in.strategies().size(); ++i) {
            if (asked.of->takes(i)) known.append(known.empty() ? "" : ", ").append(in.strategies()[i].name);
        }
        return "no strategy \"" + std::string(line.strategy) + "\" of " + std::string(line.workload) +
               "; there are: " + known;
    }
    asked.strategy = *by;
    const std::string wrong = read_values(line, asked);
    return wrong.empty() ? asked.of->misfit(asked) : wrong;
}

// A heap in which this very workload has been running for long, the same for every strategy.
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

int run(const suite& in, const command_line& line) {
    point asked;
    const std::string wrong = read_point(in, line, asked);
    if (!wrong.empty()) return fail(2, wrong);
    if (line.memory_limit_bytes && asked.of->least_bytes(asked) > *line.memory_limit_bytes) {
        return print(failure_as_json(in, asked, "predicted_bad_alloc"));
    }
    try {
        instruments around;
        if (const int status = open_counters(line, around); status != 0) return status;
        around.control = line.control;
        std::optional<measure::littering> blocks;
        if (line.litter) litter(in, asked, *line.litter, blocks);
        in.prepare(asked);
        in_use = &around;  // from now on around every window, and no littering
        outcome measured = asked.of->run(asked);
        in.conclude(asked, measured);
        return print(round_as_json(in, asked, measured));
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
        if (line.workload.empty() || line.strategy.empty()) {
            return fail(2, "--workload and --strategy are needed, or --list; see --help");
        }
        return run(of, line);
    } catch (const std::exception& error) {
        return fail(4, error.what());
    }
}

}  // namespace millpond::experiment
