// SPDX-License-Identifier: BSL-1.0
// column_splitter: turns events from rows, as a recorder writes them, into columns, as a finished trace stores them.
//
//   │ tag time address bytes context │ tag address │ …   ──▶   tags │ addresses │ sizes │ contexts │ times │ durations
//
// The fields keep their bytes, so they are copied by length; only steps (stack_follower) become contexts. Columns
// compress to about two thirds of rows, and decode faster. O(bytes).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/trace/event_decoder.hpp"
#include "lab/trace/stack_follower.hpp"

namespace millpond::trace {

class column_splitter {
  public:
    struct result {
        std::span<const std::uint8_t> payload;  // valid until the next split
        std::uint32_t events;
        std::size_t rows_bytes;  // bytes taken: fewer than given if the rest cannot be decoded
    };

    // `rows` needs the padding of payload_buffer behind it. `follower`: turns steps into contexts; without it rows with
    // steps cannot be decoded.
    result split(std::span<const std::uint8_t> rows, stack_follower* follower = nullptr);

  private:
    struct cursors {
        const std::uint8_t* from;
        std::uint8_t* to[column_count];
    };

    static std::uint32_t take_plain(cursors& now, const std::uint8_t* end, stack_follower* follower);
    static bool take_event(cursors& now, stack_follower* follower);

    std::vector<std::uint8_t> columns_[column_count];
    std::vector<std::uint8_t> payload_;
};

}  // namespace millpond::trace
