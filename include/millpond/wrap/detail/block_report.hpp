// SPDX-License-Identifier: BSL-1.0
// block_report: describes a misuse of a known block, with its size and sites, and passes it to misuse_handler.
//
// O(1). Thread-safe as the handler is.
#pragma once

#include <cstdio>

#include "../../core/abi.hpp"
#include "../misuse.hpp"
#include "block_record.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// Effects: calls misuse_handler. `format` and `numbers`: what happened to the block, as for printf.
template <class... Numbers>
void report_block(misuse_kind kind, const block_record& record, call_site site, const char* format,
                  Numbers... numbers) noexcept {
    misuse found{.kind = kind,
                 .block = record.start,
                 .is_known = true,
                 .bytes = record.bytes,
                 .alignment = record.alignment,
                 .allocated_at = record.allocated_at,
                 .ended_at = record.ended_at,
                 .detected_at = site};
    if constexpr (sizeof...(numbers) == 0) {
        std::snprintf(found.details, sizeof found.details, "%s", format);
    } else {
        std::snprintf(found.details, sizeof found.details, format, numbers...);
    }
    misuse_handler(found);
}

// Returns: the kind of misuse that a use of a block is after such an ending.
[[nodiscard]] constexpr misuse_kind kind_after(block_ending ending) noexcept {
    switch (ending) {
        case block_ending::reset:
            return misuse_kind::use_after_reset;
        case block_ending::released:
            return misuse_kind::use_after_release;
        case block_ending::rewound:
            return misuse_kind::use_after_rewind;
        default:
            return misuse_kind::use_after_free;
    }
}

}  // namespace millpond::inline MILLPOND_ABI::detail
