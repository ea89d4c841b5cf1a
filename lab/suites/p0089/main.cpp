// SPDX-License-Identifier: BSL-1.0
// millpond-p0089-suite: runs Benchmarks I to IV of P0089R0 under every strategy of the paper, and some more.
#include <deque>
#include <string>
#include <vector>

#include "base_pool.hpp"
#include "lab/suites/frame/suite.hpp"
#include "millpond/block/chunk_cache.hpp"
#include "workload.hpp"

namespace {

using namespace millpond;

frame::contender contender_of(p0089::strategy each, const std::string& name, const std::string& alias) {
    if (!each.is_local()) return {.name = name, .alias = alias, .kind = "malloc", .from = &frame::packages::libc};
    if (each.is_of_2015()) return {.name = name, .alias = alias, .kind = "pool_peer"};
    return {.name = name, .alias = alias, .source = "default", .held_bytes = chunk_cache::held_bytes};
}

std::span<const frame::contender> contenders() {
    static std::deque<std::string> texts;  // holds the text of the contenders' names
    static const std::vector<frame::contender> all = [] {
        std::vector<frame::contender> found;
        for (const p0089::strategy each : p0089::all_strategies())
            found.push_back(contender_of(each, texts.emplace_back(name_of(each)), texts.emplace_back(alias_of(each))));
        return found;
    }();
    return all;
}

constexpr const frame::workload* workloads[] = {&p0089::structures, &p0089::locality, &p0089::utilization,
                                                &p0089::contention, &p0089::dials};
constexpr frame::suite suite{.name = "p0089",
                             .of = "a benchmark of P0089R0",
                             .workloads = workloads,
                             .contenders = contenders,
                             .note_blocks = p0089::note_blocks,
                             .prepare = [](const frame::point& asked) { p0089::choose_base(p0089::by(asked).pool); }};

}  // namespace

int main(int argc, char** argv) { return frame::run_suite(suite, argc, argv); }
