// SPDX-License-Identifier: BSL-1.0
// counters: counts processor events between two moments of this process, or gives the kernel's reason for refusing.
//
//   open each ── start ── work of all threads ── stop ── read: │instructions 8 201 334│l1d_misses null: forbidden …│
//
// Every event is a group of its own. If not all fit at once, an event is counted for a share of the time, and its value
// is scaled (time enabled / time running). Counts cover user space only, because most kernels allow no more, unless an
// event says otherwise; and also the threads that the opening thread starts later. start and stop are one system call
// each; one thread.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millpond::measure {

struct event {
    // The parts that are not counted; flags that add up.
    static constexpr std::uint8_t user = 1, kernel = 2, hypervisor = 4;

    std::string_view name;
    std::uint32_t type = 0;     // for perf_event_open: PERF_TYPE_…
    std::uint64_t config = 0;   // for perf_event_open: the event of that type
    bool always_moves = false;  // true: a zero means that the counter does not work
    std::uint64_t config1 = 0, config2 = 0;
    std::optional<std::uint8_t> excludes = {};  // default: all except user space; for the kernel's own events, nothing
    std::string_view counted_as = {};           // libpfm's name of the event that is counted; empty if unknown
    std::string_view why_null = {};             // known beforehand; the event is then not opened
};

// Returns the parts that are not counted for an event without `excludes`.
constexpr std::uint8_t excluded(const event& of) noexcept {
    constexpr std::uint8_t all_but_user = event::kernel | event::hypervisor;
    return of.excludes.value_or(of.type == PERF_TYPE_SOFTWARE ? event::hypervisor : all_but_user);
}

// Makes an event from a code in this processor's manual.
constexpr event raw_event(std::string_view name, std::uint64_t code) noexcept {
    return {.name = name, .type = PERF_TYPE_RAW, .config = code};
}

struct count {
    std::string name;
    std::optional<std::uint64_t> value;
    std::string why_null;      // a half-sentence; empty if there is a value
    double running_share = 0;  // of the time between start and stop; below 1 the value is scaled
    std::string counted_as;
};

// The kernel's result for an event: the count, and how long it was enabled and running.
struct counter_reading {
    std::uint64_t value, enabled_ns, running_ns;
};

// Returns: the count, scaled up if the event ran for only a share of the time. Null with the reason if it never ran, or
// stays at zero although it cannot be zero.
count count_of(const event& of, const counter_reading& read);

class counters {
  public:
    // Effects: opens the events without starting them. read() reports those that cannot be opened. The names must
    // outlive the object.
    explicit counters(const std::vector<event>& wanted);
    counters(const counters&) = delete;
    counters& operator=(const counters&) = delete;
    ~counters();

    // Call from the thread that opened them.
    void start() noexcept;
    void stop() noexcept;
    // Returns: a count for each event, in the given order. Call after stop.
    [[nodiscard]] std::vector<count> read() const;

  private:
    struct open_counter {
        event of;
        int file;
        int error;
    };

    std::vector<open_counter> all_;
};

}  // namespace millpond::measure
