// SPDX-License-Identifier: BSL-1.0
// named_events: the events that have one name on every processor, with alternatives where the kernel has no generic
// event.
//
//   llc_misses ── generic: LL, read, miss ── not here? ──▶ MEM_LOAD_RETIRED:L3_MISS (Intel), DEMAND_DATA_… (Zen), …
//
// A generic event is the kernel's own choice for each processor and gives portability. An alternative is a name of
// libpfm's. The first one that this processor has and the kernel accepts counts instead, and is reported. Misses are of
// reads. An event whose exact kind matters has neither a generic event nor an approximate alternative. Plain data.
#pragma once

#include <span>
#include <string_view>

#include "lab/measure/counters.hpp"

namespace millpond::measure {

constexpr std::uint64_t cache_event(std::uint64_t cache, std::uint64_t operation, std::uint64_t result) noexcept {
    return cache | (operation << 8) | (result << 16);
}

constexpr std::uint64_t cache_reads(std::uint64_t cache, std::uint64_t result) noexcept {
    return cache_event(cache, PERF_COUNT_HW_CACHE_OP_READ, result);
}

inline constexpr event instructions_event{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, true};
inline constexpr event cycles_event{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true};
inline constexpr event l1d_misses_event{"l1d_misses", PERF_TYPE_HW_CACHE,
                                        cache_reads(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_RESULT_MISS)};
inline constexpr event branch_misses_event{"branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES};
inline constexpr event dtlb_misses_event{"dtlb_misses", PERF_TYPE_HW_CACHE,
                                         cache_reads(PERF_COUNT_HW_CACHE_DTLB, PERF_COUNT_HW_CACHE_RESULT_MISS)};

struct named_event {
    event generic;                  // without a type if the kernel has none for any processor
    std::string_view generic_name;  // libpfm's, for the same event; empty if it has no name
    std::string_view meaning;
    std::span<const char* const> alternatives = {};

    static constexpr std::uint32_t no_type = ~std::uint32_t{0};
    [[nodiscard]] constexpr bool has_generic() const noexcept { return generic.type != no_type; }
};

// The events of a benchmark's window, in the order in which they are shown.
std::span<const named_event> named_events() noexcept;

// Returns: the event with that name, or null.
const named_event* find_named_event(std::string_view name) noexcept;

}  // namespace millpond::measure
