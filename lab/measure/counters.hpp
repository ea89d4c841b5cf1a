// SPDX-License-Identifier: BSL-1.0
// counters: events of the processor between two moments of this process, or the kernel's reason why not.
//
//   open each ── start ── work of all threads ── stop ── read: │instructions 8 201 334│l1d_misses null: forbidden …│
//
// Every event is a group of its own: what does not fit beside the others is counted for a share of the time, and its
// value is scaled by that share (time enabled / time running). Of user space alone, since most kernels allow no more,
// unless an event says otherwise, and of the threads that the opening thread starts later. start and stop are one
// system call each; one thread.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millpond::measure {

struct event {
    // What is not counted, added up.
    static constexpr std::uint8_t user = 1, kernel = 2, hypervisor = 4;

    std::string_view name;
    std::uint32_t type = 0;     // as perf_event_open has it: PERF_TYPE_…
    std::uint64_t config = 0;   // and what of that type
    bool always_moves = false;  // a zero is then a counter that does not count
    std::uint64_t config1 = 0, config2 = 0;
    std::optional<std::uint8_t> excludes = {};  // without: all but user space; of the kernel's own events, nothing
    std::string_view counted_as = {};           // libpfm's name of what stands behind; empty where it gave none
    std::string_view why_null = {};             // known beforehand: it is not even opened
};

// What is not counted of an event that does not say it.
constexpr std::uint8_t excluded(const event& of) noexcept {
    constexpr std::uint8_t all_but_user = event::kernel | event::hypervisor;
    return of.excludes.value_or(of.type == PERF_TYPE_SOFTWARE ? event::hypervisor : all_but_user);
}

// An event that this processor's manual gives the code of.
constexpr event raw_event(std::string_view name, std::uint64_t code) noexcept {
    return {.name = name, .type = PERF_TYPE_RAW, .config = code};
}

struct count {
    std::string name;
    std::optional<std::uint64_t> value;
    std::string why_null;      // a half-sentence; empty where there is a value
    double running_share = 0;  // of the time between start and stop; below 1 the value is scaled
    std::string counted_as;
};

// What the kernel says of an event: the count, and for how long it was enabled and running.
struct counter_reading {
    std::uint64_t value, enabled_ns, running_ns;
};

// Returns: the count, scaled up where the event ran for a share of the time only; null with the reason where it never
// ran, or stays at zero and cannot.
count count_of(const event& of, const counter_reading& read);

class counters {
  public:
    // Effects: opens the events, none of them counting yet. What cannot be opened is known to read. The names must
    // outlive the object.
    explicit counters(const std::vector<event>& wanted);
    counters(const counters&) = delete;
    counters& operator=(const counters&) = delete;
    ~counters();

    // From the thread that opened them.
    void start() noexcept;
    void stop() noexcept;
    // Returns: one for each event, in the order given. After stop.
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
