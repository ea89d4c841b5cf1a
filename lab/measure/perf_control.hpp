// SPDX-License-Identifier: BSL-1.0
// perf_control: tells an outer `perf stat --delay=-1 --control fd:CTL,ACK` when to count.
//
//   "enable\n" ──CTL──▶ perf ──ACK──▶ "ack\n" ── the window ── "disable\n" ──CTL──▶ … "ack\n"
//
// Use it for events that perf knows and we do not. Each call is a write and a read; one thread.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace millpond::measure {

class perf_control {
  public:
    // Reads "CTL,ACK", or "CTL" if nothing answers. Returns: empty if the text is neither. `patience`: the longest wait
    // for an answer; perf's own comes at once.
    static std::optional<perf_control> parse(std::string_view text,
                                             std::chrono::milliseconds patience = std::chrono::seconds(30)) noexcept;

    // Effects: returns when perf counts. Throws: std::runtime_error if no process reads or answers. SIGPIPE is ignored
    // meanwhile, in the whole process.
    void enable() const { say("enable\n"); }
    void disable() const { say("disable\n"); }

  private:
    perf_control(int control, int acknowledgement, std::chrono::milliseconds patience) noexcept
        : control_(control), acknowledgement_(acknowledgement), patience_(patience) {}
    void say(std::string_view command) const;
    void wait_for_answer() const;

    int control_;
    int acknowledgement_;  // below 0: no descriptor
    std::chrono::milliseconds patience_;
};

}  // namespace millpond::measure
