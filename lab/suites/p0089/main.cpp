// SPDX-License-Identifier: BSL-1.0
// millpond-p0089-suite: Benchmarks I to IV of P0089R0: one point under one strategy, one round in a fresh process.
//
//   millpond-p0089-suite --list
//   millpond-p0089-suite --workload W --strategy S [--PARAMETER VALUE]... [--seed N] [--litter F]
//                        [--memory-limit-bytes N]
//
// The conductor interleaves rounds and judges. A round that runs out of memory has "status": "bad_alloc". Exit status:
// 0 done, that included · 2 usage, an unknown name or value · 4 no room to write, or the environment lacks something.
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "base_pool.hpp"
#include "command_line.hpp"
#include "litter.hpp"
#include "millpond/block/chunk_cache.hpp"
#include "report.hpp"
#include "workload.hpp"

namespace {

using namespace millpond::p0089;

int fail(int status, const std::string& message) {
    std::fprintf(stderr, "millpond: %s\n", message.c_str());
    return status;
}

int print(const std::string& line) {
    std::puts(line.c_str());
    return std::fflush(stdout) == 0 ? 0 : fail(4, "cannot write the result");
}

// Returns: what is wrong with the line, or nothing.
std::string read_point(const command_line& line, point& asked) {
    std::string known;
    for (const workload* each : all_workloads()) {
        if (each->name == line.workload) asked.of = each;
        known.append(known.empty() ? "" : ", ").append(each->name);
    }
    if (asked.of == nullptr) return "no workload \"" + std::string(line.workload) + "\"; there are: " + known;
    const auto by = find_strategy(line.strategy);
    if (!by || !asked.of->takes(*by)) {
        known.clear();
        for (const strategy each : all_strategies()) {
            if (asked.of->takes(each)) known.append(known.empty() ? "" : ", ").append(name_of(each));
        }
        return "no strategy \"" + std::string(line.strategy) + "\" of " + std::string(line.workload) +
               "; there are: " + known;
    }
    asked.by = *by;
    const std::string wrong = read_values(line, asked);
    return wrong.empty() ? asked.of->misfit(asked) : wrong;
}

int run(const command_line& line) {
    point asked;
    const std::string wrong = read_point(line, asked);
    if (!wrong.empty()) return fail(2, wrong);
    if (line.memory_limit_bytes && asked.of->least_bytes(asked) > *line.memory_limit_bytes) {
        return print(failure_as_json(asked, "predicted_bad_alloc"));
    }
    try {
        const littered_heap heap(asked, line.litter);
        choose_base(asked.by.pool);
        const outcome measured = asked.of->run(asked);
        std::optional<std::uint64_t> held;
        if (asked.by.is_local() && asked.by.pool != pool_kind::multipool_2015)
            held = millpond::chunk_cache::held_bytes();
        return print(round_as_json(asked, measured, held));
    } catch (const std::bad_alloc&) {
        return print(failure_as_json(asked, "bad_alloc"));
    }
}

}  // namespace

int main(int argc, char** argv) {
    const command_line line = read_command_line(argc, argv);
    if (!line.error.empty()) return fail(2, line.error + "; see --help");
    if (line.help) return std::fputs(usage, stdout) < 0 ? 4 : 0;
    try {
        if (line.list) return print(list_as_json());
        if (line.workload.empty() || line.strategy.empty()) {
            return fail(2, "--workload and --strategy are needed, or --list; see --help");
        }
        return run(line);
    } catch (const std::exception& error) {
        return fail(4, error.what());
    }
}
