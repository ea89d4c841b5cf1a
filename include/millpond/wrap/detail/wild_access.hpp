// SPDX-License-Identifier: BSL-1.0
// wild_access: explains faults outside all known ranges: which fill pattern was used as a pointer, and which block was
// given to the C library.
//
//   0xdbdbdbdbdbdbdbdb + a little   use after free: freed memory holds such bytes          (guarded_block.hpp)
//   0xb5b5b5b5b5b5b5b5 + a little   overrun: guards do
//   0xa5a5a5a5a5a5a5a5 + a little   unwritten memory: new blocks do
//   free(block), realloc(block)     the C library looks for the head of a heap at 64 MiB and faults
//
// The values are found in the registers of the thread that faulted. An unknown fault is passed on. If src/os is not
// linked, nothing is watched. watch: O(1), once in a process. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "../../core/abi.hpp"
#include "../../os/faults.hpp"
#include "../../os/optional_calls.hpp"
#include "../call_site.hpp"
#include "../misuse.hpp"
#include "block_record.hpp"
#include "block_report.hpp"
#include "guarded_block.hpp"
#include "registered_table.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class wild_access {
  public:
    // Effects: from now on such faults are reported to misuse_handler before they end the program.
    static void watch() noexcept {
        if (is_watched_.load(std::memory_order_relaxed) || is_watched_.exchange(true)) return;
        if (const auto* const calls = os::optional_calls::linked()) calls->watch_faults(&explain);
    }

  private:
    static constexpr std::uintptr_t reach_bytes = 1 << 16;  // reach of members and elements behind a pointer
    static constexpr std::uintptr_t heap_bytes = std::uintptr_t{64} << 20;
    static constexpr std::uintptr_t head_bytes = 4096;
    static constexpr std::uintptr_t chunk_header_bytes = 2 * sizeof(std::size_t);

    static bool explain(const os::fault& what) noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(what.address);
        if (at != 0 && at % heap_bytes < head_bytes && sizeof(void*) == 8 && report_block_given_to_free(at, what))
            return false;
        if (report_pattern(at, what)) return false;
        for (std::size_t i = 0; at == 0 && i < what.register_count; ++i) {
            if (report_pattern(what.registers[i], what)) break;
        }
        return false;
    }

    static bool report_block_given_to_free(std::uintptr_t head, const os::fault& what) noexcept {
        const std::uintptr_t floor = head & ~(heap_bytes - 1);
        for (std::size_t i = 0; i < what.register_count; ++i) {
            for (const std::uintptr_t candidate : {what.registers[i], what.registers[i] + chunk_header_bytes}) {
                if ((candidate & ~(heap_bytes - 1)) != floor) continue;
                block_record found;
                if (registered_table::owner_of(reinterpret_cast<const void*>(candidate), found) == nullptr) continue;
                report_block(misuse_kind::operator_deleted, found, site_of(what),
                             "was given to free, realloc or operator delete of the C library");
                return true;
            }
        }
        return false;
    }

    static bool report_pattern(std::uintptr_t value, const os::fault& what) noexcept {
        if (is_near(value, guarded_block::dead_byte)) {
            report(misuse_kind::use_after_free, value, "freed memory", what);
        } else if (is_near(value, guarded_block::guard_byte)) {
            report(misuse_kind::overrun, value, "the memory before and behind blocks", what);
        } else if (is_near(value, guarded_block::new_byte)) {
            report(misuse_kind::unwritten_memory, value, "a new block", what);
        } else {
            return false;
        }
        return true;
    }

    [[nodiscard]] static bool is_near(std::uintptr_t value, unsigned char byte) noexcept {
        const std::uintptr_t pattern = ~std::uintptr_t{0} / 255 * byte;
        return value - pattern + reach_bytes < 2 * reach_bytes;
    }

    static void report(misuse_kind kind, std::uintptr_t value, const char* place, const os::fault& what) noexcept {
        misuse found{.kind = kind, .detected_at = site_of(what)};
        std::snprintf(found.details, sizeof found.details, "%p was used as a pointer; such bytes fill %s",
                      reinterpret_cast<const void*>(value), place);
        misuse_handler(found);
    }

    [[nodiscard]] static call_site site_of(const os::fault& what) noexcept {
        return call_site(static_cast<const char*>(what.instruction) + 1);
    }

    static inline constinit std::atomic<bool> is_watched_{false};
};

}  // namespace millpond::inline MILLPOND_ABI::detail
