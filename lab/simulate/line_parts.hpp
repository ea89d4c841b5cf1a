// SPDX-License-Identifier: BSL-1.0
// line_parts: the bytes of a line that a reference accesses, as a mask with a bit for each part.
//
//   line of 64 bytes, address 60, 8 bytes   │ ……… ▓▓▓▓│▓▓▓▓ ……… │   bits 60 to 63 of the first line, 0 to 3 of the next
//
// A part is a byte, and a sixty-fourth of a line of more than 64 bytes. O(1). A value; thread-safe.
#pragma once

#include "lab/simulate/line_walk.hpp"

namespace millpond::simulate {

class line_parts {
  public:
    explicit line_parts(uint32_t line_bytes)
        : line_bytes_(line_bytes),
          line_log2_(static_cast<unsigned>(__builtin_ctz(line_bytes))),
          part_log2_(line_log2_ > 6 ? line_log2_ - 6 : 0) {}

    // Returns the parts of the line that the reference accesses; the line is one of its lines.
    uint64_t of(uint64_t line, const reference& r) const {
        if (r.bytes == 0) return 0;
        const uint64_t begin = line << line_log2_, final = begin + (line_bytes_ - 1);
        const uint64_t last = r.address + (r.bytes - 1u);
        const uint64_t from = ((r.address > begin ? r.address : begin) - begin) >> part_log2_;
        const uint64_t to = ((last < r.address || last > final ? final : last) - begin) >> part_log2_;
        return (~uint64_t{0} >> (63 - (to - from))) << from;
    }

    // The same for the line of a reference that is within one.
    uint64_t within_one(const reference& r) const {
        const uint64_t begin = r.address & (line_bytes_ - 1), from = begin >> part_log2_;
        const uint64_t to = (begin + r.bytes - 1) >> part_log2_;
        return r.bytes == 0 ? 0 : (~uint64_t{0} >> (63 - (to - from))) << from;
    }

    // Returns the bytes in these parts.
    uint64_t bytes(uint64_t parts) const { return static_cast<uint64_t>(__builtin_popcountll(parts)) << part_log2_; }

  private:
    uint64_t line_bytes_;
    unsigned line_log2_, part_log2_;
};

}  // namespace millpond::simulate
