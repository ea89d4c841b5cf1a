// SPDX-License-Identifier: BSL-1.0
// simulation: runs several simulators under one set of rules on one stream of references.
//
//   batch ──▶ rules: modifications, long accesses, flushes ──▶ pieces of 1024 references ─┬▶ each simulator in turn
//                                                                     touched_lines ◀─────┴▶ caches of one line size
//
// A piece stays in the first-level cache while the simulators process it in turn. A simulator is any class with
//   void take(const reference*, size_t);   void flush();   void tell(const report&) const;
// or void take(const touched_lines&); one filter makes these lines for all caches of a line size.
// A flush that is due after a number of references comes exactly there. A flush that is due after a number of
// instructions comes at the end of the batch in which they were reached: for an exact flush, a source ends its batch
// there.
// Not thread-safe.
#pragma once

#include "lab/simulate/array.hpp"
#include "lab/simulate/instruction_set.hpp"
#include "lab/simulate/line_walk.hpp"
#include "lab/simulate/report.hpp"
#include "lab/simulate/touched_lines.hpp"

namespace millpond::simulate {

class simulation {
  public:
    simulation(const host& system, const millpond_rules& rules);
    simulation(const simulation&) = delete;
    simulation& operator=(const simulation&) = delete;
    ~simulation();

    // Adds a simulator. Returns null, or why the description (description.hpp) is wrong.
    const char* add(const char* description);
    void take(const reference* batch, size_t count, uint64_t instructions);
    void flush();

    size_t size() const { return count_; }
    const char* description_of(size_t simulator) const { return simulators_[simulator].text; }
    void tell(size_t simulator, const report& to) const;

  private:
    static constexpr size_t piece_max = touched_lines::references_max;

    struct operations {
        void (*take)(void*, const reference*, size_t);    // null: it takes lines
        void (*take_lines)(void*, const touched_lines&);  // null: it takes references
        void (*flush)(void*);
        void (*tell)(const void*, const report&);
        void (*destroy)(void*);
    };
    struct entry {
        void* body;
        size_t body_bytes;
        char* text;
        size_t text_bytes;
        const operations* call;
        const touched_lines* lines;  // the lines that it takes; null: it takes references
    };

    template <class Simulator>
    static const operations operations_of;
    template <class Simulator, class... Arguments>
    void place(const char* text, const touched_lines* lines, Arguments&... arguments);
    touched_lines& lines_of(const line_walk& walk);
    void take_piece(const reference* piece, size_t count);
    void take_lines(touched_lines& lines, const reference* piece, size_t count);

    host system_;
    millpond_rules rules_;
    instruction_set instructions_;
    array<entry> simulators_;
    array<reference> changed_;  // a piece after the rules were applied
    size_t count_ = 0;
    array<touched_lines*> filters_;
    size_t filter_count_ = 0;
    uint64_t references_to_flush_, instructions_to_flush_;
};

}  // namespace millpond::simulate
