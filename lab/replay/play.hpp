// SPDX-License-Identifier: BSL-1.0
// play: one round of a replay: a script under one strategy, in this process, which should be a fresh one.
//
//   script ─▶ check a block (not timed) ─▶ play it (CPU clock around it) ─▶ next …      total order
//          └▶ each thread's records to a thread of its own                             dependency order
//
// CPU time is that of playing the records: allocation, and the touches, which the null strategy has, too. In dependency
// order waiting for other threads is subtracted. The round runs once in a process and leaves the heap as it is. Throws
// failure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/replay/touch.hpp"

namespace millpond::replay {

enum class strategy : std::uint8_t { recorded, null, multipool, monotonic, multipool_monotonic };
enum class order : std::uint8_t { total, dependency };

// "plan" is multipool, for a script of a plan.
std::optional<strategy> strategy_of(std::string_view name);
std::string strategies_accepted();

struct play_request {
    const char* script = nullptr;
    strategy chosen = strategy::recorded;
    bool of_a_plan = false;  // refuse a script that was prepared without a plan
    order in = order::total;
    touch touching = touch::line;
    bool paced = false;           // total order: wait, off the clock, until the trace's own time of each block
    std::uint32_t diffusion = 0;  // points of an untimed pass in the place of the timed one; 0: none
};

struct diffusion_point {
    double event_share, time_seconds;
    std::uint64_t live_bytes, page_bytes;
};

struct play_result {
    const char* why = nullptr;  // a half-sentence; null: all of it was played
    std::uint64_t records = 0;
    double cpu_seconds = 0, wall_seconds = 0;
    std::uint64_t peak_bytes = 0, end_bytes = 0, page_faults = 0;
    std::uint64_t peak_live_bytes = 0, end_live_bytes = 0;
    std::optional<std::uint64_t> held_bytes, held_end_bytes;  // of allocators of ours; at the end also of the C library
    std::vector<diffusion_point> diffusion;
};

play_result play(const play_request& request);

}  // namespace millpond::replay
