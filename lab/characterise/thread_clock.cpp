// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/thread_clock.hpp"

#include <algorithm>

namespace millpond::characterise {
namespace {

// Returns the median over a thread's blocks of the recorder's measured ticks for each event.
double usual_overhead(const std::vector<mpt_block_header>& headers) {
    std::vector<double> each;
    for (const mpt_block_header& h : headers) {
        if (h.count > 0) each.push_back(static_cast<double>(h.overhead_ticks) / h.count);
    }
    if (each.empty()) return 0;
    const auto middle = each.begin() + static_cast<std::ptrdiff_t>(each.size() / 2);
    std::nth_element(each.begin(), middle, each.end());
    return *middle;
}

constexpr double unusual = 2;  // times the usual overhead: the thread was descheduled during a measurement

}  // namespace

thread_clock::thread_clock(const std::vector<trace::block_record>& blocks, const std::vector<stream_facts>& streams,
                           std::uint64_t process_first_tick, double ticks_per_ns) {
    std::unordered_map<std::uint32_t, std::vector<mpt_block_header>> by_thread;
    for (const trace::block_record& block : blocks) {
        if (block.header.kind == mpt_events) by_thread[block.header.thread].push_back(block.header);
    }
    for (const stream_facts& stream : streams) {
        std::vector<mpt_block_header>& headers = by_thread[stream.thread];
        if (!headers.empty()) add_stream(stream, headers, process_first_tick, ticks_per_ns);
    }
}

void thread_clock::add_stream(const stream_facts& stream, std::vector<mpt_block_header>& headers,
                              std::uint64_t process_first_tick, double ticks_per_ns) {
    std::sort(headers.begin(), headers.end(),
              [](const mpt_block_header& a, const mpt_block_header& b) { return a.sequence < b.sequence; });
    // Stream 1 is the thread that the process began with; a later thread begins about when it first allocates.
    const bool is_first = stream.thread == 1 && process_first_tick != 0;
    const std::uint64_t start = is_first ? std::min(process_first_tick, headers.front().first) : headers.front().first;
    std::vector<point>& points = points_[stream.thread];
    points.push_back({start, 0.0, 0.0});
    // No clock runs backward, so a value known for an earlier moment is a lower bound for a later one.
    const auto add = [&points](std::uint64_t tick, double cpu_ns, double recorder_ns) {
        const point& last = points.back();
        points.push_back({std::max(tick, last.tick), std::max(cpu_ns - recorder_ns, last.ns), recorder_ns});
    };
    const double scale =
        stream.timed == 0 ? 0.0
                          : static_cast<double>(stream.operations) / static_cast<double>(stream.timed) / ticks_per_ns;
    const double most = unusual * usual_overhead(headers);
    double recorder_ns = 0;
    std::uint64_t records = 0;
    auto note = stream.notes.begin();
    for (std::size_t i = 0; i < headers.size(); ++i) {
        const std::uint64_t end = i + 1 < headers.size() ? headers[i + 1].first : stream.last_tick;
        const double measured = headers[i].overhead_ticks, count = headers[i].count;
        const double own = scale * (most > 0 ? std::min(measured, most * count) : measured);
        for (; note != stream.notes.end() && note->records < records + headers[i].count; ++note) {
            const double share = static_cast<double>(note->records - records) / count;
            add(note->tick, static_cast<double>(note->cpu_ns), recorder_ns + share * own);
        }
        recorder_ns += own;
        records += headers[i].count;
        // 0: salvaged from a block that was never closed. Such a block may hold the CPU time at its begin.
        if (headers[i].cpu_ns != 0) add(end, static_cast<double>(headers[i].cpu_ns), recorder_ns);
    }
    cpu_ns_ += points.back().ns;
    recorder_ns_ += recorder_ns;
}

double thread_clock::between(std::uint32_t thread, std::uint64_t tick, double point::* value) const {
    const auto found = points_.find(thread);
    if (found == points_.end()) return 0;
    const std::vector<point>& points = found->second;
    const auto after = std::upper_bound(points.begin(), points.end(), tick,
                                        [](std::uint64_t at, const point& p) { return at < p.tick; });
    if (after == points.begin()) return 0;
    if (after == points.end()) return points.back().*value;
    const point& before = *(after - 1);
    const double share = static_cast<double>(tick - before.tick) /
                         static_cast<double>(std::max<std::uint64_t>(1, after->tick - before.tick));
    return before.*value + share * ((*after).*value - before.*value);
}

}  // namespace millpond::characterise
