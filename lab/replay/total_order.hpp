// SPDX-License-Identifier: BSL-1.0
// total_order: plays a whole script on this thread, in the order of the trace, timed or with surveys of pages.
//
//   block ─▶ play │clock│ ─▶ block ─▶ play │clock│ …       timed: the time between two blocks is not counted
//   block ─▶ play, note sizes ─▶ … ─▶ survey ─▶ …          untimed: the pages that live objects touch, N times
//
// Paced: no block is played before its time in the trace. So a malloc that returns pages by the wall clock keeps as
// much as in the program. The clock stops during waits, and a round takes as long as the program did.
//
// Memory: the slots, and for the survey a size and two pages for each. Throws failure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lab/measure/clocks.hpp"
#include "lab/program/model_page.hpp"
#include "lab/replay/page_array.hpp"
#include "lab/replay/play.hpp"
#include "lab/replay/player.hpp"
#include "lab/replay/script_source.hpp"

namespace millpond::replay {

inline void wait_until(double time) noexcept {
    const double left = time - measure::wall_seconds();
    if (left <= 0) return;
    timespec nap;
    nap.tv_sec = static_cast<time_t>(left);
    nap.tv_nsec = static_cast<long>((left - static_cast<double>(nap.tv_sec)) * 1e9);
    ::nanosleep(&nap, nullptr);
}

template <class Heap, touch Touch>
void play_in_total_order(Heap& heap, script_source& script, bool paced, play_result& result) {
    page_array<void*> slots(script.header().slots + std::size_t{1});
    page_array<record> pending(script.header().threads + std::size_t{1});
    player<Heap, Touch> plays(heap, slots.data(), pending.data());
    const std::uint64_t faults = measure::page_faults();
    const double begin = measure::wall_seconds();
    for (auto records = script.next(); !records.empty(); records = script.next()) {
        if (paced) wait_until(begin + static_cast<double>(script.time_ns()) * 1e-9);
        const double wall = measure::wall_seconds(), cpu = measure::process_cpu_seconds();
        const std::size_t played = plays.play(records);
        result.cpu_seconds += measure::process_cpu_seconds() - cpu;
        result.wall_seconds += measure::wall_seconds() - wall;
        result.records += played;
        if (played < records.size()) break;
    }
    result.page_faults = measure::page_faults() - faults;
    result.why = words_of(plays.state());
}

// The bytes of live objects, and those of the pages that they touch, at a moment of a replay.
//
//   slots ─▶ addresses and sizes of what lives ─▶ first and last pages, sorted, each once; those between are its own
//
// Diffusion is page_bytes / live_bytes. note(): O(1). survey(): O(slots · log slots). Not thread-safe.
class page_surveyor {
  public:
    static constexpr std::uint64_t page_bytes = program::model_page_bytes;

    explicit page_surveyor(std::size_t slots) : bytes_(slots + 1), pages_(2 * slots + 2) {}

    void note(const record& r) {
        if (r.op() == operation::allocate || r.op() == operation::resize_to) bytes_[r.slot()] = r.bytes() + 1;
        if (r.op() == operation::free || r.op() == operation::drop) bytes_[r.slot()] = 0;
    }

    diffusion_point survey(void* const* slots) {
        diffusion_point point{};
        std::size_t edges = 0;
        std::uint64_t inside = 0;
        for (std::size_t i = 0; i < bytes_.size(); ++i) {
            if (bytes_[i] <= 1) continue;
            const std::uint64_t bytes = bytes_[i] - 1;
            const auto address = reinterpret_cast<std::uintptr_t>(slots[i]);
            const std::uint64_t first = address / page_bytes, last = (address + bytes - 1) / page_bytes;
            point.live_bytes += bytes;
            pages_[edges++] = first;
            if (last == first) continue;
            pages_[edges++] = last;
            inside += last - first - 1;  // pages inside an object are not shared
        }
        std::sort(pages_.data(), pages_.data() + edges);
        const auto distinct = std::unique(pages_.data(), pages_.data() + edges) - pages_.data();
        point.page_bytes = (static_cast<std::uint64_t>(distinct) + inside) * page_bytes;
        return point;
    }

  private:
    page_array<std::uint64_t> bytes_;  // indexed by slot; one more, because 0 means empty
    page_array<std::uint64_t> pages_;
};

template <class Heap>
void survey_diffusion(Heap& heap, script_source& script, std::uint32_t points, play_result& result) {
    page_array<void*> slots(script.header().slots + std::size_t{1});
    page_array<record> pending(script.header().threads + std::size_t{1});
    page_surveyor surveyor(script.header().slots);
    player<Heap, touch::none> plays(heap, slots.data(), pending.data());
    result.diffusion.reserve(points);
    for (auto records = script.next(); !records.empty(); records = script.next()) {
        result.records += plays.play(records);
        if (plays.state() != play_state::going) break;
        for (const record& r : records) surveyor.note(r);
        const double share = static_cast<double>(result.records) / static_cast<double>(script.header().records);
        if (share * points < static_cast<double>(result.diffusion.size() + 1)) continue;
        diffusion_point point = surveyor.survey(slots.data());
        point.event_share = share;
        point.time_seconds = static_cast<double>(script.time_ns()) * 1e-9;
        result.diffusion.push_back(point);
    }
    result.why = words_of(plays.state());
}

}  // namespace millpond::replay
