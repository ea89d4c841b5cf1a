// SPDX-License-Identifier: BSL-1.0
// event_request: asks millpond-events, which lies next to this program, for the kernel's codes of some events.
//
//   this program ── millpond-events --resolve instructions MEM_LOAD_RETIRED:L3_MISS ──▶ a line for each ──▶ events
//
// It uses another process, because libpfm's tables and allocations would become part of the measured heap. The line,
// with a tab in the middle: `TYPE CONFIG CONFIG1 CONFIG2 EXCLUDES ALWAYS_MOVES⇥NAME OF THE COUNTED EVENT`, numbers
// hexadecimal; or `-⇥WHY NOT`. Allocates nothing on the heap.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "lab/measure/counters.hpp"

namespace millpond::measure {

class event_request {
  public:
    static constexpr std::size_t most = 32;

    // Effects: adds an event to ask for. `name` ends with a zero; it and the answers must outlive the counters.
    // Returns: false if there is no room.
    bool add(const char* name) noexcept;
    // Effects: asks. Returns: 0, or the exit status of millpond-events: 2 for an unknown name, after a message on
    // standard error. Throws: std::runtime_error if it cannot be started or answers something else.
    int ask();
    // Returns: an event for each one added, in their order.
    [[nodiscard]] std::span<const event> answers() const noexcept { return {answers_.data(), count_}; }

  private:
    void read_answer(std::string_view text);

    std::array<const char*, most> names_{};
    std::array<event, most> answers_{};
    std::size_t count_ = 0;
    std::array<char, 16384> text_{};
};

// Returns: the line of one event, as ask() reads it, without the newline.
std::string answer_line(const event& of, std::string_view counted_as, std::string_view why_null);
// Effects: reads such a line. Returns: false if it is not one. The strings of `into` lie in `line`.
bool read_answer_line(std::string_view line, event& into) noexcept;

}  // namespace millpond::measure
