// SPDX-License-Identifier: BSL-1.0
// library_ranks: sets that know ranks, used for percentiles of request latencies in a sliding window.
//
// The window is a queue of iterators: those of counted_multiset stay valid, so the oldest entry is erased without a
// search. The table of scores is a B-tree, which is smaller and faster; the program keeps no iterators to it.
#include <cstdint>
#include <cstdio>
#include <deque>
#include <millpond/container/counted_set.hpp>
#include <millpond/container/ordered_map.hpp>

namespace {

std::uint32_t next_random(std::uint32_t& state) { return state = state * 1664525 + 1013904223; }

}  // namespace

int main() {
    millpond::pooled_counted_multiset<std::uint32_t> latencies;
    std::deque<millpond::pooled_counted_multiset<std::uint32_t>::iterator> window;
    std::uint32_t state = 1;
    for (int request = 0; request < 100'000; ++request) {
        window.push_back(latencies.insert(next_random(state) % 1000));
        if (window.size() <= 10'000) continue;
        latencies.erase(window.front());
        window.pop_front();
    }
    const std::uint32_t median = *latencies.nth(latencies.size() / 2);
    const std::uint32_t p99 = *latencies.nth(latencies.size() * 99 / 100);
    std::printf("median %u, 99th percentile %u, %zu of %zu below 250\n", median, p99, latencies.rank(250u),
                latencies.size());

    millpond::ordered_multimap<int, const char*, std::greater<>> scores{
        {310, "Ada"}, {120, "Bo"}, {470, "Cai"}, {250, "Dee"}, {310, "Eli"}};
    for (const auto& [score, name] : scores.ranks(0, 3)) std::printf("%s %d\n", name, score);
    scores.erase_ranks(3, scores.size());  // only the first three stay on the table
    return median > 400 && median < 600 && p99 > 950 && scores.size() == 3 && scores.rank(310) == 1 ? 0 : 1;
}
