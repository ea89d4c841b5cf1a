// SPDX-License-Identifier: BSL-1.0
#include "suite.hpp"

#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "command_line.hpp"
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

// From now on every window has them around it, and no littering.
void use(const command_line& line, instruments& around) {
    around.control = line.control;
    std::vector<measure::event> events(line.raw_events.begin(), line.raw_events.begin() + line.raw_event_count);
    if (line.counters)
        events.insert(events.begin(), std::begin(measure::window_events), std::end(measure::window_events));
    if (!events.empty()) around.counters.emplace(std::move(events));
    in_use = &around;
}

int run(const suite& in, const command_line& line) {
    point asked;
    const std::string wrong = read_point(in, line, asked);
    if (!wrong.empty()) return fail(2, wrong);
    if (line.memory_limit_bytes && asked.of->least_bytes(asked) > *line.memory_limit_bytes) {
        return print(failure_as_json(in, asked, "predicted_bad_alloc"));
    }
    try {
        std::optional<measure::littering> blocks;
        if (line.litter) litter(in, asked, *line.litter, blocks);
        in.prepare(asked);
        instruments around;
        use(line, around);
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
