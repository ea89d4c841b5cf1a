// SPDX-License-Identifier: BSL-1.0
// decoder: turns the payload of a block of references back into words of the stream; the reverse of encoder.h.
//
//   payload: │ words │ references │ instructions │ state │ lengths │ runs │ jumps │ operands │ codes │ misses │
//
// Call open() with a payload, then next() until it returns nothing. Memory: the prediction, 24 bytes for each root of
// the code table, and a window of words. Throws trace_error if the payload contradicts itself or the table. About 10 ns
// a word.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lab/references/encoder.h"

namespace millpond::references {

// The numbers at the beginning of a payload.
struct block_totals {
    std::uint64_t words = 0, references = 0, instructions = 0;
    std::uint64_t state = 0;  // at the first word: thread * 2 + in the allocator
};

// Reads only these numbers. Throws trace_error.
block_totals read_totals(std::span<const std::uint8_t> payload);

class decoder {
  public:
    // `payload` and `table` must outlive the use; the payload must be followed by the padding of trace::payload_buffer.
    void open(std::span<const std::uint8_t> payload, const millpond_table& table);
    const block_totals& totals() const { return totals_; }

    // Returns whole records, valid until the next call; empty at the end.
    std::span<const std::uint64_t> next();

  private:
    struct column {
        const std::uint8_t* at = nullptr;
        const std::uint8_t* end = nullptr;
    };
    static constexpr std::size_t window_words = 1 << 14;

    std::uint64_t take(millpond_column name);
    std::uint32_t next_word();
    std::uint64_t* put_roots(const millpond_exit& exit, std::uint64_t* to);
    std::uint64_t* put_operands(std::uint32_t record, std::uint64_t* to);

    const millpond_table* table_ = nullptr;
    block_totals totals_;
    std::uint64_t left_ = 0, run_ = 0;
    column columns_[millpond_columns];
    std::unique_ptr<millpond_prediction> prediction_ = std::make_unique<millpond_prediction>();
    std::vector<millpond_root_memory> roots_;
    std::vector<std::uint64_t> window_;
};

}  // namespace millpond::references
