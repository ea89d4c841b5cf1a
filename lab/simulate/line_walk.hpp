// SPDX-License-Identifier: BSL-1.0
// line_walk: lists the lines (or pages) that a reference touches, and defines how a reference to several lines counts.
//
//   address 62, 4 bytes, lines of 64      │ … ▓▓│▓▓ … │   lines 0 and 1
//
// once: one reference, whose cost is the worst of its lines (it misses at most once); twice: a reference for each line.
#pragma once

#include "lab/references/simulators.h"

namespace millpond::simulate {

using reference = millpond_reference;

enum class straddling : uint8_t { once, twice };

class line_walk {
  public:
    explicit line_walk(uint32_t line_bytes, straddling rule = straddling::once)
        : rule_(rule), shift_(static_cast<unsigned>(__builtin_ctz(line_bytes))), line_bytes_(line_bytes) {}

    uint32_t line_bytes() const { return line_bytes_; }
    straddling rule() const { return rule_; }

    uint64_t first(const reference& r) const { return r.address >> shift_; }

    bool is_within_one(const reference& r) const { return (r.address & (line_bytes_ - 1)) + r.bytes <= line_bytes_; }

    uint64_t last(const reference& r) const {
        const uint64_t end = r.address + (r.bytes == 0 ? 0 : r.bytes - 1);
        return (end < r.address ? ~uint64_t{0} : end) >> shift_;
    }

  private:
    straddling rule_;
    unsigned shift_;
    uint64_t line_bytes_;
};

// The largest line number is reserved: tables mark free places with it.
inline constexpr uint32_t line_bytes_min = 4;
inline constexpr uint32_t line_bytes_max = 1u << 30;
inline constexpr uint64_t no_line = ~uint64_t{0};

inline bool is_line_size(uint64_t bytes) {
    return bytes >= line_bytes_min && bytes <= line_bytes_max && (bytes & (bytes - 1)) == 0;
}

// Maps a line to its set in a cache: its low bits, or the remainder if the number of sets is not a power of two.
class set_index {
  public:
    set_index() : set_index(1) {}
    explicit set_index(uint64_t sets) : sets_(sets), is_power_((sets & (sets - 1)) == 0) {}
    uint64_t sets() const { return sets_; }
    uint64_t operator()(uint64_t line) const { return is_power_ ? line & (sets_ - 1) : line % sets_; }

  private:
    uint64_t sets_;
    bool is_power_;
};

}  // namespace millpond::simulate
