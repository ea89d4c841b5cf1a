// SPDX-License-Identifier: BSL-1.0
// legality_record: counts the objects that outlived each scope, and keeps witnesses.
//
//   scopes around a context   main(1) ─ run(2) ─ parse(3) ─ add(4)
//   outlived, row of context    [0]       [1]      [2]        [3]      [d]: d scopes were still active
//                                                                           when the object ended
//
// An object of [d] has outlived every scope deeper than d. So each object touches one counter, and every function can
// be judged afterwards. A second row of each context counts the objects that were never freed: [d], d scopes were
// active when the trace ended. Objects have not outlived these. The deeper scopes ended before, and their objects could
// have died with them unless something touched them later. Use: outlived() for each object for which at least one scope
// had ended, left() for those that are live at the end. O(1), except for the first witnesses.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "lab/characterise/histogram.hpp"
#include "lab/characterise/scope_tree.hpp"

namespace millpond::characterise {

// The counters of a context of a trace, and where its objects count further.
struct context_counts {
    std::uint32_t subsystem = 0, scope = 0;
    std::uint16_t depth = 0;
    std::uint16_t witnessed = 0;  // legality: witnesses have been offered to scopes deeper than this
    std::uint32_t outlived = 0;   // legality: row of this context; 0: none
    std::uint64_t objects = 0, bytes = 0;
    // peak_bytes: live in this context at the peak of all live bytes, of the first `peaks` peaks.
    std::uint64_t live_bytes = 0, peak_bytes = 0, peaks = 0;
};

// The live objects and bytes of a context at one moment.
struct live_counts {
    std::uint64_t objects = 0, bytes = 0;
};

struct witness {
    std::uint32_t context, thread;
    std::uint64_t bytes, allocated_tick;
    std::uint64_t freed_tick;  // 0: never
    std::uint32_t freed_by;    // thread
    bool touched = false;      // never freed, but accessed after the scope had ended
};

// The record for a subsystem and a function that could own an arena for it.
struct candidate_record {
    std::uint32_t function;
    histogram instance_bytes;  // of each activation that has ended
    std::vector<witness> witnesses;
};

class legality_record {
  public:
    static constexpr std::size_t witnesses_max = 3;

    legality_record(const scope_tree& scopes, std::size_t subsystems);

    // Counts the end of an object of this context; `surviving`: the number of scopes around it that were still active,
    // fewer than all. True if a witness is wanted: offer it.
    bool outlived(context_counts& context, std::size_t surviving) {
        if (context.outlived == 0) [[unlikely]]
            open_row(context);
        ++rows_[context.outlived + surviving];
        return surviving < context.witnessed;
    }
    // Counts an object that is live when the trace ends; `surviving` as above.
    bool left(context_counts& context, std::size_t surviving) {
        if (context.outlived == 0) open_row(context);
        ++rows_[context.outlived + context.depth + surviving];
        return surviving < context.witnessed;
    }
    void offer(context_counts& context, std::size_t surviving, const witness& seen);
    void prefetch(std::uint32_t row, std::size_t depth) const {
        __builtin_prefetch(rows_.data() + row, 1);
        if (depth > 8) __builtin_prefetch(rows_.data() + row + depth - 1, 1);
    }
    // The same for an object that outlived its thread.
    void outlived_thread(std::uint32_t subsystem, const witness& seen);
    // Records that an activation of `function` has ended, during which the subsystem requested `bytes`.
    void instance(std::uint32_t subsystem, std::uint32_t function, std::uint64_t bytes) {
        const candidate_index& index = index_[subsystem];
        std::vector<candidate_record>& candidates = candidates_[subsystem];
        for (std::size_t i = index.first[function % index.first.size()]; i < candidates.size(); ++i) {
            if (candidates[i].function == function) return candidates[i].instance_bytes.add(bytes);
        }
    }

    const std::vector<candidate_record>& candidates(std::uint32_t subsystem) const { return candidates_[subsystem]; }
    const std::vector<witness>& thread_witnesses(std::uint32_t subsystem) const { return of_threads_[subsystem]; }
    // Objects of a context that outlived the scope at `depth` (1: outermost), with a witness.
    std::uint64_t outlived_depth(const context_counts& context, std::uint32_t depth) const {
        return sum(context.outlived, 0, depth);
    }
    // Objects that were never freed although that scope had ended.
    std::uint64_t left_depth(const context_counts& context, std::uint32_t depth) const {
        return sum(context.outlived, context.depth, depth);
    }

  private:
    // Finds a function among the few candidates of a subsystem by the low bits of its id, usually at once. none: no
    // candidate has these bits. If several have them, the search starts at the first.
    struct candidate_index {
        static constexpr std::uint8_t none = 0xff;
        std::array<std::uint8_t, 64> first;
    };

    void open_row(context_counts& context);
    std::uint64_t sum(std::uint32_t row, std::uint32_t from, std::uint32_t depth) const;

    const scope_tree& scopes_;
    std::vector<std::vector<candidate_record>> candidates_;
    std::vector<candidate_index> index_;
    std::vector<std::vector<witness>> of_threads_;
    std::vector<std::uint64_t> rows_{0};  // two of each context, one after another; position 0 is no row
};

}  // namespace millpond::characterise
