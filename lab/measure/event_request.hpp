// SPDX-License-Identifier: BSL-1.0
// event_request: asks millpond-events, which lies beside this program, what the kernel calls some events.
//
//   this program ── millpond-events --resolve instructions MEM_LOAD_RETIRED:L3_MISS ──▶ a line for each ──▶ events
//
// Another process, because libpfm's tables and what it allocates would be part of a heap that is to be measured. The
// line, tab in the middle: `TYPE CONFIG CONFIG1 CONFIG2 EXCLUDES ALWAYS_MOVES⇥NAME OF WHAT STANDS BEHIND`, numbers
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

    // Effects: adds an event that millpond-events is asked for. `name` ends with a zero, and outlives the counters, as
    // what is answered does. Returns: false if there is no room.
    bool add(const char* name) noexcept;
    // Effects: asks. Returns: 0, or the status with which it ended: 2 for a name that is none, which it has said on
    // standard error. Throws: std::runtime_error if it cannot be started or answers something else.
    int ask();
    // Returns: an event for each that was asked for, in their order.
    [[nodiscard]] std::span<const event> answers() const noexcept { return {answers_.data(), count_}; }

  private:
    void read_answer(std::string_view text);

    std::array<const char*, most> names_{};
    std::array<event, most> answers_{};
    std::size_t count_ = 0;
    std::array<char, 16384> text_{};
};

// Returns: the line of one event, as ask() reads it; without the line's end.
std::string answer_line(const event& of, std::string_view counted_as, std::string_view why_null);
// Effects: reads it. Returns: false if it is none. The texts of `into` lie in `line`.
bool read_answer_line(std::string_view line, event& into) noexcept;

}  // namespace millpond::measure
