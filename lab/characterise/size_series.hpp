// SPDX-License-Identifier: BSL-1.0
// size_series: the sizes that a trace requests, the live blocks of each over time, and the short-lived call sites.
//
//   row of 24 bytes   requests, bytes, mean blocks     live   │ 3 │ 7 │ 7 │ 2 │ …   most blocks in each moment
//   row of 32 bytes                                           │ 0 │ 1 │ 9 │ 9 │ …   (a share of the events)
//
// `millpond synthesize` chooses size classes from it: the sum of some rows, moment by moment, is the number of blocks
// that one class for all of them needs. It is exact if a moment is one event; otherwise the largest sum is too high by
// at most the blocks that one moment begins. A request is rounded up to the granule, and to its alignment if that is
// larger; requests above `largest_bytes` are counted together. Reallocation is a free and an allocation. Means are over
// events. A call site is the innermost frames of a context and the size (call_sites.hpp); an object is short-lived if
// it is freed before `short_bytes` more are requested.
//
// consume() every batch, then finish(). An event costs O(1). Memory: 4 bytes for each row and moment, and what
// contexts, distinct sizes and live objects take. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lab/program/json.hpp"
#include "lab/trace/live_objects.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::characterise {

struct size_request {
    std::uint64_t granule_bytes = 8;  // a power of two
    std::uint64_t largest_bytes = 4096;
    std::uint64_t moments = 4096;
    std::uint64_t short_bytes = 32768;
    std::vector<std::string> short_sites{};  // sites for which an arena is tried (arena_trial); empty: no trial
};

class size_series {
  public:
    static constexpr std::size_t most_frequent_max = 32;

    // `events`: the approximate number of events; it decides the length of a moment.
    size_series(const size_request& request, std::uint64_t events);

    void consume(const trace::event* batch, std::size_t count);
    void finish();

    // One entry for each row that had a request.
    program::json rows_json() const;
    program::json census_json() const;
    program::json larger_json() const;
    // `nodes`, `modules`: of the same trace. A site's name is the same in every run of the same build.
    program::json sites_json(const std::vector<trace::context_node>& nodes,
                             const std::vector<trace::module_record>& modules) const;

  private:
    struct object {
        std::uint64_t bytes, born_bytes;
        std::uint32_t row, context;
    };
    struct row {
        std::uint64_t requests = 0, bytes = 0, peak_blocks = 0, peak_bytes = 0;
        std::uint64_t live = 0, live_bytes = 0, seen = 0;
        double blocks_events = 0, bytes_events = 0;  // integrals over events
        std::vector<std::uint32_t> most;             // by moment, as far as the pass has come

        void pass_to(std::uint64_t event);
        void note(std::uint64_t moment);
    };
    struct site_counts {
        std::uint64_t objects = 0, bytes = 0, short_bytes = 0;
    };

    void take(const trace::event& e);
    void begin(const trace::event& e);
    void end(const object& ended);
    std::size_t row_of(std::uint64_t bytes, unsigned alignment_log2) const;

    size_request request_;
    std::uint64_t events_in_moment_;
    std::uint64_t events_ = 0, requested_bytes_ = 0, requests_ = 0;
    std::vector<row> rows_;  // by size in granules; [0] holds the larger requests
    std::unordered_map<std::uint64_t, std::uint64_t> frequency_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, site_counts> sites_;  // by context and row
    trace::live_objects<object> live_;
};

// Returns schema "millpond.sizes/1": everything about one trace. Throws trace::trace_error if nothing can be read, or
// for a damaged trace unless that is accepted.
program::json sizes_json(const std::string& path, const size_request& request, bool accepts_damaged = false);

}  // namespace millpond::characterise
