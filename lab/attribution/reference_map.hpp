// SPDX-License-Identifier: BSL-1.0
// reference_map: counts references and misses by address and time, for the picture of a run.
//
//   high │ . . 9 9 9 9      a column for each part of the instructions, a row for each range of addresses in use;
//        │ 2 8 8 8 . .      in each cell the references, and how many of them missed
//   low  │ 7 7 . . . 1 ──▶ time
//
// Addresses are grouped into granules of one page, or larger ones if the program touches more than granules_max pages.
// add: O(1). Memory: 1.2 KiB a granule, 10 MiB at most. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace millpond::attribution {

class reference_map {
  public:
    static constexpr unsigned columns = 64, rows_max = 64, places_max = 8;
    static constexpr std::size_t granules_max = 8192;

    struct row {
        std::uint64_t first, bytes, gap_bytes;
        unsigned place;  // of most of its references
    };
    struct cell {
        std::size_t row, column;
        std::uint64_t references, misses;
    };
    struct picture {
        std::uint64_t granule_bytes = 0;
        std::vector<row> rows;    // by address
        std::vector<cell> cells;  // by row and column; empty cells are left out
    };

    // `instructions`: the number in the whole run.
    explicit reference_map(std::uint64_t instructions)
        : column_instructions_((instructions + columns - 1) / columns + (instructions == 0)) {}

    // Sets the current time: this many instructions have been executed.
    void pass_to(std::uint64_t instructions) {
        const std::uint64_t column = instructions / column_instructions_;
        column_ = static_cast<unsigned>(column < columns ? column : columns - 1);
    }

    void add(std::uint64_t address, unsigned place, bool missed) {
        const std::uint64_t name = address >> granule_log2_;
        known_granule& known = known_[name & (known_granules - 1)];
        if (known.name != name || known.in == nullptr) [[unlikely]]
            find(known, name);
        counts& at = known.in->of_column[column_];
        ++at.references;
        at.misses += missed;
        ++known.in->of_place[place];
    }

    std::uint64_t column_instructions() const { return column_instructions_; }
    picture draw() const;

  private:
    static constexpr std::size_t known_granules = 1 << 10;
    // A gap of more bytes than this ends a row, unless there are too many such gaps.
    static constexpr std::uint64_t gap_max = 1 << 20;

    struct counts {
        std::uint64_t references = 0, misses = 0;
    };
    struct granule {
        std::array<counts, columns> of_column{};
        std::array<std::uint64_t, places_max> of_place{};

        void add(const granule& other);
    };
    struct known_granule {
        std::uint64_t name = 0;
        granule* in = nullptr;
    };

    void find(known_granule& known, std::uint64_t name);
    void coarsen();
    std::vector<std::size_t> row_beginnings(const std::vector<std::uint64_t>& names) const;

    std::uint64_t column_instructions_;
    unsigned column_ = 0, granule_log2_ = 12;
    std::unordered_map<std::uint64_t, std::unique_ptr<granule>> granules_;
    std::vector<known_granule> known_ = std::vector<known_granule>(known_granules);
};

}  // namespace millpond::attribution
