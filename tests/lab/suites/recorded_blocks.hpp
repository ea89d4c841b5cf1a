// SPDX-License-Identifier: BSL-1.0
// recorded_blocks: the heap requests of one round of a suite, as our own recorder saw them.
//
//   millpond-record -o FILE -- SUITE --contender … ──▶ blocks: size, when allocated and freed, by which thread
//
// The program's own bookkeeping is in the trace, too: more_in subtracts it by comparing rounds of different length.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../trace/recording.hpp"
#include "suite_run.hpp"

namespace millpond::test {

struct block {
    std::uint64_t bytes;
    std::size_t begin;  // its place among the events that are no notes
    std::uint32_t thread;
    std::optional<std::size_t> end = {};
    std::uint32_t freed_by = 0;
};

inline std::vector<block> recorded(const std::string& recorder, const std::string& round) {
    using trace::operation;
    const scratch_folder folder;
    const std::string file = folder.path("trace.mpt");
    const ended done = run(recorder, "-o " + file + " -- " + round);
    EXPECT_EQ(done.status, 0) << done.out;
    const std::vector<trace::event> events = read_all(file);
    EXPECT_FALSE(events.empty());
    std::vector<block> blocks;
    std::map<std::uint64_t, std::size_t> live;
    std::size_t i = 0;  // Notes are not counted: the recorder writes them when it likes.
    for (const trace::event& e : events) {
        if (e.op == operation::note) continue;
        if (e.op == operation::allocate || e.op == operation::realloc_allocate) {
            live[e.address] = blocks.size();
            blocks.push_back({e.bytes, i, e.thread});
        } else if (const auto found = live.find(e.address); found != live.end()) {
            blocks[found->second].end = i;
            blocks[found->second].freed_by = e.thread;
            live.erase(found);
        }
        ++i;
    }
    return blocks;
}

inline std::vector<block> of_size(const std::vector<block>& all, std::uint64_t least, std::uint64_t most) {
    std::vector<block> found;
    std::copy_if(all.begin(), all.end(), std::back_inserter(found),
                 [&](const block& each) { return each.bytes >= least && each.bytes <= most; });
    return found;
}

inline std::size_t most_live(const std::vector<block>& blocks) {
    std::map<std::size_t, int> changes;
    for (const block& each : blocks) {
        ++changes[each.begin];
        if (each.end) --changes[*each.end];
    }
    int live = 0;
    int most = 0;
    for (const auto& [place, change] : changes) most = std::max(most, live += change);
    return static_cast<std::size_t>(most);
}

// Returns the number of additional blocks of each size in the second trace. Sizes that are no multiple of a word are
// left out: they are texts, some of them printed ones, whose growth depends on the number of digits before a name.
inline std::map<std::uint64_t, std::int64_t> more_in(const std::vector<block>& second,
                                                     const std::vector<block>& first) {
    std::map<std::uint64_t, std::int64_t> counts;
    for (const block& each : second) ++counts[each.bytes];
    for (const block& each : first) --counts[each.bytes];
    std::erase_if(counts, [](const auto& entry) { return entry.second == 0 || entry.first % sizeof(void*) != 0; });
    return counts;
}

}  // namespace millpond::test
