// SPDX-License-Identifier: BSL-1.0
// counters: events of the processor between two moments of this process, or the kernel's reason why not.
//
//   open each ── start ── work of all threads ── stop ── read: │instructions 8 201 334│l1d_misses null: forbidden …│
//
// Every event is a group of its own: what does not fit beside the others is counted for a share of the time, and its
// value is scaled by that share (time enabled / time running). Of user space alone, since most kernels allow no more,
// and of the threads that the opening thread starts later. start and stop are one system call each; one thread.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millpond::measure {

struct event {
    std::string_view name;
    std::uint32_t type;         // as perf_event_open has it: PERF_TYPE_…
    std::uint64_t config;       // and what of that type
    bool always_moves = false;  // a zero is then a counter that does not count
};

constexpr std::uint64_t cache_reads(std::uint64_t cache, std::uint64_t result) noexcept {
    return cache | (std::uint64_t{PERF_COUNT_HW_CACHE_OP_READ} << 8) | (result << 16);
}

inline constexpr event instructions_event{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, true};
inline constexpr event cycles_event{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true};
inline constexpr event l1d_misses_event{"l1d_misses", PERF_TYPE_HW_CACHE,
                                        cache_reads(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_RESULT_MISS)};

// What a benchmark's window counts: misses are those of reads.
inline constexpr event window_events[] = {
    instructions_event,
    cycles_event,
    {"l1d_loads", PERF_TYPE_HW_CACHE, cache_reads(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_RESULT_ACCESS), true},
    l1d_misses_event,
    {"llc_misses", PERF_TYPE_HW_CACHE, cache_reads(PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_RESULT_MISS)},
    {"stalled_cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
};

struct count {
    std::string name;
    std::optional<std::uint64_t> value;
    std::string why_null;      // a half-sentence; empty where there is a value
    double running_share = 0;  // of the time between start and stop; below 1 the value is scaled
};

class counters {
  public:
    // Effects: opens the events, none of them counting yet. What cannot be opened is known to read. The names must
    // outlive the object.
    explicit counters(std::vector<event> wanted);
    counters(const counters&) = delete;
    counters& operator=(const counters&) = delete;
    ~counters();

    // From the thread that opened them.
    void start() noexcept;
    void stop() noexcept;
    // Returns: one for each event, in the order given. After stop.
    [[nodiscard]] std::vector<count> read() const;

  private:
    struct opened {
        event of;
        int file;
        int error;
    };

    std::vector<opened> all_;
};

}  // namespace millpond::measure
