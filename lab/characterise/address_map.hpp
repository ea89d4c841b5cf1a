// SPDX-License-Identifier: BSL-1.0
// address_map: a heat map of time × address, which shows where each subsystem's objects lie.
//
//   high │ . . b b B b      a column for each survey of pages, a row for each range of used addresses;
//        │ a A A A a .      in each cell the subsystem that touches most of its pages, its share, and how full it is
//   low  │ A A A C C C ──▶ time
//
// Addresses that no survey found in use are left out. Use: add() after each survey, then to_json(). add: O(pairs of
// page and subsystem). Memory: at most entries_max entries a survey; if there are more, granules become larger. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "lab/characterise/page_survey.hpp"
#include "lab/program/json.hpp"

namespace millpond::characterise {

class address_map {
  public:
    static constexpr std::size_t entries_max = 16384, rows_max = 96;
    static constexpr unsigned granule_pages_log2 = 4;  // 64 KiB

    void add(const page_survey& survey, std::uint64_t tick, std::uint64_t live_bytes);

    // `seconds(tick)` converts a tick; `position(subsystem)` is its place in the list that the reader sees. Null if
    // nothing was added.
    program::json to_json(const std::function<double(std::uint64_t)>& seconds,
                          const std::function<std::size_t(std::uint32_t)>& position) const;

  private:
    struct entry {
        std::uint64_t granule;
        std::uint32_t subsystem, pages;
    };
    struct column {
        std::uint64_t tick, live_bytes;
        unsigned granule_pages_log2;
        std::vector<entry> entries;  // by granule, then subsystem
    };
    struct cell {
        std::size_t row, column;
        std::uint32_t subsystem;
        double share, fill;
    };
    struct layout {
        unsigned granule_pages_log2 = 0;
        std::size_t granules_a_row = 1;
        std::vector<std::uint64_t> granules;  // in use at any moment, ascending
    };

    static void coarsen(std::vector<entry>& entries, unsigned shift);
    layout rows() const;
    static program::json rows_json(const layout& all);
    std::vector<cell> cells(const layout& all) const;

    std::vector<column> columns_;
    page_survey gathered_;
};

}  // namespace millpond::characterise
