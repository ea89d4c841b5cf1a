// SPDX-License-Identifier: BSL-1.0
// code_table: holds the superblocks of a captured process, collected from the blocks of its trace.
//
// Pass it every superblocks block before decoding words that name its exits. Memory: 16 bytes for each access of the
// program's code, 20 for each exit. Throws trace_error if a block contradicts itself; earlier blocks stay.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/references/stream.h"
#include "lab/trace/fields.hpp"
#include "lab/trace/format.h"

namespace millpond::references {

class code_table {
  public:
    // Takes the payload of a block of kind mpt_superblocks, and its header.
    void take(std::span<const std::uint8_t> payload, const mpt_block_header& header);

    // Valid until the next take().
    const millpond_table& view() const { return view_; }

  private:
    void take_one(trace::field_cursor& from);

    std::vector<millpond_superblock> superblocks_;
    std::vector<millpond_exit> exits_;
    std::vector<millpond_access> accesses_;
    millpond_table view_{};
};

}  // namespace millpond::references
