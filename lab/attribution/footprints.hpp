// SPDX-License-Identifier: BSL-1.0
// footprints: the number of cache lines that hold the touched bytes of each subsystem's live objects (M).
//
//   lines   │ a a · · b │ · a · · · · │ b b b b b │      a: on 2 lines now, 3 bytes, which would fit on 1
//
// Lines have 64 bytes. M is the largest number of lines at any one time: memory that is freed and used again counts
// once. `packed_bytes` is the largest number of touched bytes on M lines. touch: O(1) if nothing is new. Memory: 32 to
// 64 bytes for each pair of line and subsystem ever touched. Not thread-safe.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "lab/layout/object_map.hpp"
#include "lab/simulate/block_table.hpp"

namespace millpond::attribution {

struct footprint {
    std::uint64_t lines_now = 0, bytes_now = 0;
    std::uint64_t lines = 0, packed_bytes = 0;  // at the peak
    std::uint64_t lines_touched = 0;            // different lines, in the whole run
};

class footprints {
  public:
    explicit footprints(layout::object_map& objects);

    // Notes that the program touches bytes of an object. Bytes beyond the object's end are ignored.
    void touch(const layout::object_map::found& at, std::uint64_t address, std::uint64_t bytes) {
        const std::uint64_t offset = address & (line_bytes - 1);
        const std::uint64_t bits = bits_from(offset, bytes);
        if ((bits & ~at.in->touched_at(address)) != 0 || offset + bytes > line_bytes) [[unlikely]]
            touch_new(at.id, address, bytes);
    }
    // Ends the object and takes it off its lines.
    void end(std::uint32_t id);

    // Returns the footprint of a subject; zeros if it has touched nothing.
    footprint of(std::uint32_t subject) const {
        return subject < of_subject_.size() ? of_subject_[subject] : footprint{};
    }

  private:
    static constexpr std::uint64_t line_bytes = 64;
    using line_table = simulate::block_table<std::uint8_t>;

    static std::uint64_t bits_from(std::uint64_t offset, std::uint64_t bytes) {
        if (bytes == 0) return 0;
        return (bytes >= line_bytes ? ~std::uint64_t{0} : (std::uint64_t{1} << bytes) - 1) << offset;
    }
    void touch_new(std::uint32_t id, std::uint64_t address, std::uint64_t bytes);
    bool holds(const layout::object_map::page& in, std::uint64_t line_address, std::uint32_t subject) const;
    footprint& own(std::uint32_t subject);

    layout::object_map* objects_;
    std::vector<footprint> of_subject_;
    std::vector<std::unique_ptr<line_table>> lines_of_;  // by subject
};

}  // namespace millpond::attribution
