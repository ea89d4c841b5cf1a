// SPDX-License-Identifier: BSL-1.0
// line_use: counts the bytes of each cached line that were accessed since its fetch, and for whom it was fetched.
//
//   fetch ──▶ │ ▓▓▓▓········▓▓▓▓ │ accesses until it is evicted ──▶ fetched 64 bytes, useful 8
//
// A line belongs to the subject whose reference fetched it; an accessed byte counts as useful, whoever accesses it.
// Lines of more than 64 bytes are counted in sixty-fourths. O(1) a line. Memory: 48 to 96 bytes for each different
// line. Not thread-safe.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "lab/simulate/attributed_cache.hpp"
#include "lab/simulate/process_system.hpp"

namespace millpond::attribution {

struct line_bytes {
    std::uint64_t fetched = 0, useful = 0;
};

class line_use {
  public:
    explicit line_use(std::uint32_t line_bytes)
        : line_bytes_(line_bytes),
          line_log2_(static_cast<unsigned>(std::countr_zero(line_bytes))),
          part_log2_(line_log2_ > 6 ? line_log2_ - 6 : 0),
          lines_(simulate::process_system) {}

    // Takes a reference to the line; `outcome` says what the cache did with the line.
    void take(std::uint64_t line, const simulate::attributed_cache::line_outcome& outcome,
              const millpond_reference& r) {
        if (outcome.kind != simulate::attributed_cache::hit) [[unlikely]] {
            if (outcome.evicted != simulate::no_line) settle(lines_[outcome.evicted]);
            known_line& known = find(line);
            *known.in = {parts(line, r), r.subject + 1};
            return;
        }
        known_line& known = known_[line & (known_lines - 1)];
        state* const in = known.line == line ? known.in : find(line).in;
        in->used |= parts(line, r);
    }

    // Also counts the lines that are still in the cache. Call take() no more afterwards.
    void finish() {
        lines_.for_each([this](std::uint64_t, state& each) { settle(each); });
    }

    line_bytes of(std::uint32_t subject) const {
        return subject < of_subject_.size() ? of_subject_[subject] : line_bytes{};
    }

  private:
    struct state {
        std::uint64_t used;
        std::uint32_t fetched_by;  // subject + 1; 0: not in the cache
    };

    // Remembers the place of a line's state until the table grows.
    static constexpr std::size_t known_lines = 1 << 9;
    struct known_line {
        std::uint64_t line = simulate::no_line;
        state* in = nullptr;
    };

    known_line& find(std::uint64_t line) {
        const std::size_t bytes = lines_.bytes();
        state* const in = &lines_[line];
        if (lines_.bytes() != bytes) std::fill(known_.begin(), known_.end(), known_line{});
        known_line& known = known_[line & (known_lines - 1)];
        known = {line, in};
        return known;
    }

    std::uint64_t parts(std::uint64_t line, const millpond_reference& r) const {
        if (r.bytes == 0) return 0;
        const std::uint64_t begin = line << line_log2_, final = begin + (line_bytes_ - 1);
        const std::uint64_t last = r.address + (r.bytes - 1u);
        const std::uint64_t from = (std::max(r.address, begin) - begin) >> part_log2_;
        const std::uint64_t to = ((last < r.address ? final : std::min(last, final)) - begin) >> part_log2_;
        return (~std::uint64_t{0} >> (63 - (to - from))) << from;
    }

    void settle(state& each) {
        if (each.fetched_by == 0) return;
        const std::uint32_t subject = each.fetched_by - 1;
        if (subject >= of_subject_.size()) of_subject_.resize(subject + 1);
        of_subject_[subject].fetched += line_bytes_;
        of_subject_[subject].useful += static_cast<std::uint64_t>(std::popcount(each.used)) << part_log2_;
        each.fetched_by = 0;
    }

    std::uint64_t line_bytes_;
    unsigned line_log2_, part_log2_;
    simulate::block_table<state> lines_;
    std::vector<known_line> known_ = std::vector<known_line>(known_lines);
    std::vector<line_bytes> of_subject_;
};

}  // namespace millpond::attribution
