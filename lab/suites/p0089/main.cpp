// SPDX-License-Identifier: BSL-1.0
// millpond-p0089-suite: Benchmarks I to IV of P0089R0 under every strategy of the paper, and some more.
#include "base_pool.hpp"
#include "lab/suites/experiment/suite.hpp"
#include "litter.hpp"
#include "millpond/block/chunk_cache.hpp"
#include "workload.hpp"

namespace {

using namespace millpond;

const std::vector<experiment::strategy_name>& names() {
    static const std::vector<experiment::strategy_name> all = [] {
        std::vector<experiment::strategy_name> found;
        found.reserve(p0089::all_strategies().size());
        for (const p0089::strategy each : p0089::all_strategies())
            found.push_back({p0089::name_of(each), p0089::alias_of(each)});
        return found;
    }();
    return all;
}

void prepare(const experiment::point& asked) { p0089::choose_base(p0089::by(asked).pool); }

void conclude(const experiment::point& asked, experiment::outcome& measured) {
    const p0089::strategy by = p0089::by(asked);
    if (by.is_local() && by.pool != p0089::pool_kind::multipool_2015) measured.held_bytes = chunk_cache::held_bytes();
}

constexpr const experiment::workload* workloads[] = {&p0089::structures, &p0089::locality, &p0089::utilization,
                                                     &p0089::contention, &p0089::dials};
constexpr experiment::suite suite{"p0089",  "a benchmark of P0089R0", workloads, names, prepare,
                                  conclude, p0089::note_blocks};

}  // namespace

int main(int argc, char** argv) { return experiment::run_suite(suite, argc, argv); }
