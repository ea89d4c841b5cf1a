// SPDX-License-Identifier: BSL-1.0
// event_decoder: turns the payload of one events block into events, a window at a time.
//
//   rows     │ tag time address bytes context │ tag address │ …            one cursor
//   columns  │ tags │ addresses │ sizes │ contexts │ times │ durations │   six cursors, which the processor
//                                                                          advances at once
//
// The merge uses it, so that it needs only a window of each stream in memory. The payload needs the padding of
// payload_buffer behind it: reads are unchecked within an event, and checked after it. O(1) an event, about 20 cycles.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/trace/format.h"
#include "lab/trace/reader.hpp"

namespace millpond::trace {

enum event_column : std::uint8_t {
    column_tags,
    column_addresses,
    column_sizes,
    column_contexts,
    column_times,
    column_durations,
    column_count
};

// Finds the six columns of a payload; false if their lengths do not add up.
bool split_columns(std::span<const std::uint8_t> payload, std::span<const std::uint8_t> (&columns)[column_count]);

class event_decoder {
  public:
    // `payload` must outlive the decoding. Contexts from `contexts` on are unknown to the trace and are replaced by 0.
    void open(const mpt_block_header& header, std::span<const std::uint8_t> payload, std::uint64_t contexts);

    // Decodes up to `capacity` events. Returns fewer, or 0, at the end of the block, or at an error.
    std::size_t decode(event* to, std::size_t capacity);

    // Returns null, or the error in the payload. Call after the last event.
    const char* flaw() const { return flaw_; }
    std::uint32_t events_left() const { return left_; }
    // The number of events whose context was replaced.
    std::uint64_t unknown_contexts() const { return unknown_contexts_; }

  private:
    struct cursors {
        const std::uint8_t* at[column_count];
        std::uint64_t time, address;
    };

    template <bool Columns>
    std::size_t decode_as(event* to, std::size_t wanted);
    template <bool Columns>
    bool take_event(cursors& now, event& e);
    std::size_t take_plain(cursors& now, event* to, std::size_t wanted);
    std::uint32_t known_context(std::uint64_t context) {
        const bool known = context < contexts_;
        unknown_contexts_ += !known;
        return known ? static_cast<std::uint32_t>(context) : 0;
    }

    const std::uint8_t* end_[column_count] = {};
    cursors now_ = {};
    bool columns_ = false;
    std::uint32_t thread_ = 0, left_ = 0;
    std::uint64_t contexts_ = 0, unknown_contexts_ = 0;
    const char* flaw_ = nullptr;
};

}  // namespace millpond::trace
