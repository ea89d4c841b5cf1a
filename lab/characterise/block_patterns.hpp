// SPDX-License-Identifier: BSL-1.0
// block_patterns: counts, by context, three uses of the heap that a change of the source avoids.
//
//   left        a block that is live when the trace ends, by the quarter of the trace in which it began
//   temporary   allocate(p) … free(p)        by one thread, with fewer than temporary_events events of it in between
//   growth      allocate(8) … allocate(16) free(8) … allocate(32) free(16)       a vector without reserve
//               allocate(8) … realloc(16)            realloc(32)                 a chain of two steps, too
//
// A block replaces another one of its context if one thread allocated both and frees the older one, and its last event
// in that context was the allocation of the newer one. That is a step of growth if the newer block is larger; so is a
// realloc to a larger size in any context. Steps that follow one another are a chain. It counts for the context of its
// last block. A block that a step replaced, and one from realloc, is no temporary.
//
// consume() every batch of reader::for_each_batch, then finish(). An event costs O(1): one look-up in a table of live
// objects, and one more if two threads take turns in a context. Memory grows with contexts, live objects and threads
// that meet in a context, never with events. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "lab/trace/live_objects.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::characterise {

struct temporary_counts {
    // Position i: blocks with fewer than 2^i events of their thread in between.
    static constexpr std::size_t limits = 7;
    std::array<std::uint64_t, limits> objects{};
    std::uint64_t bytes = 0, largest_bytes = 0;  // of those below block_patterns::temporary_events
};

struct growth_counts {
    std::uint64_t chains = 0, steps = 0, resizes = 0;    // resizes: the steps by realloc
    std::uint64_t replaced_bytes = 0, copied_bytes = 0;  // of replaced blocks; without those that realloc left in place
    std::uint64_t first_bytes_min = ~std::uint64_t{0}, final_bytes_min = ~std::uint64_t{0};
    std::uint64_t final_bytes_max = 0, final_bytes = 0;
    std::uint64_t not_larger = 0;  // replacements that were no step, because the newer block is not larger
};

// The counts of one context. `left`: objects by quarter; `lost`: those of them that a scan has not reached.
struct context_patterns {
    std::uint32_t context = 0;
    std::array<std::uint64_t, 4> left{};
    std::uint64_t lost = 0, lost_bytes = 0;
    temporary_counts temporaries;
    growth_counts growth;
};

class block_patterns {
  public:
    static constexpr unsigned temporary_limit_log2 = 4;
    static constexpr std::uint64_t temporary_events = std::uint64_t{1} << temporary_limit_log2;

    // `contexts`: the number of nodes. `events`: the number of events with notes, except those from outside the process;
    // it decides the length of a quarter.
    block_patterns(std::size_t contexts, std::uint64_t events)
        : row_of_(std::max<std::size_t>(contexts, 1)),
          events_(std::max<std::uint64_t>(events, 1)),
          quarter_end_(end_of(0)) {}

    void consume(const trace::event* batch, std::size_t count);
    void finish();

    // Contexts that allocated, in the order in which they first did.
    const std::vector<context_patterns>& contexts() const { return rows_; }
    // Returns whether the heap was scanned at the process's end, so that `lost` is known.
    bool is_scanned() const { return is_scanned_; }

  private:
    // The record of a live object. Trivially copyable, 24 bytes.
    //
    //   bits   thread 20 │ bytes 44     context 32 │ chain 32     is_resized 1 │ quarter 2 │ is_lost 1 │ born 60
    class block {
      public:
        block() = default;
        block(std::uint64_t bytes, std::uint32_t thread, std::uint32_t context, std::uint64_t born, unsigned quarter,
              bool is_resized)
            : what_(std::uint64_t{thread} << 44 | std::min(bytes, bytes_max)),
              context_(context),
              when_(std::uint64_t{is_resized} << 63 | std::uint64_t{quarter} << 61 | born) {}

        std::uint64_t bytes() const { return what_ & bytes_max; }
        std::uint32_t thread() const { return static_cast<std::uint32_t>(what_ >> 44); }
        std::uint32_t context() const { return context_; }
        std::uint64_t born() const { return when_ & (lost_bit - 1); }  // events of its thread
        unsigned quarter() const { return when_ >> 61 & 3; }
        bool is_resized() const { return when_ >> 63 != 0; }
        bool is_lost() const { return (when_ & lost_bit) != 0; }
        void lose() { when_ |= lost_bit; }

        std::uint32_t chain = 0;  // position in chains_; 0: none

      private:
        static constexpr std::uint64_t bytes_max = (std::uint64_t{1} << 44) - 1, lost_bit = std::uint64_t{1} << 60;
        std::uint64_t what_;
        std::uint32_t context_;
        std::uint64_t when_;
    };

    struct chain {
        std::uint64_t first_bytes = 0, steps = 0, resizes = 0, replaced_bytes = 0, copied_bytes = 0;
    };

    struct thread_state {
        std::uint64_t events = 0;
        bool is_resizing = false;  // its last event was the first half of a realloc, of `resized`
        block resized{};
        std::uint64_t resized_address = 0;
    };

    // The last event of a thread in a context: the address that it allocated, or 0 after any other event.
    struct last_event {
        std::uint32_t thread = 0;
        std::uint64_t address = 0;
    };

    static constexpr std::size_t events_ahead = 16;
    static constexpr std::uint32_t thread_max = (1u << 20) - 1;

    // The number of events that have passed when a quarter ends.
    std::uint64_t end_of(unsigned quarter) const { return ((quarter + 1) * events_ + 3) / 4; }
    void take(const trace::event& e, std::size_t position);
    void allocate(const trace::event& e, thread_state& t);
    void take_from_outside(const trace::event& note);
    // `position`: of its block in live_, as a hint.
    void end(const trace::event& e, std::size_t position);
    // `event`: the event that ends the block; null for an end that arrived too early and meets its block now.
    void ended(const block& b, std::uint64_t address, trace::moment at, trace::ending how, const trace::event* event);
    void freed(const block& b, std::uint64_t address, std::uint32_t by);
    // Continues the chain of `old`, or begins one. Returns the chain of the block that replaces it.
    std::uint32_t grown(const block& old, std::uint64_t copied_bytes, bool is_resize);
    void settle(const block& last);
    void drop_resize(thread_state& t);
    thread_state& thread(std::uint32_t number);
    std::uint32_t row_of(std::uint32_t context);
    // The last event of this thread in this context. Valid until the next call.
    std::uint64_t& last_address(std::uint32_t row, std::uint32_t thread);

    std::vector<std::uint32_t> row_of_;  // by context: position in rows_ + 1; 0: it has allocated nothing
    std::vector<context_patterns> rows_;
    std::vector<last_event> last_;                             // by row: of the thread that was here last
    std::unordered_map<std::uint64_t, std::uint64_t> others_;  // by row and thread: of all others
    std::deque<thread_state> threads_;                         // by number
    thread_state* recent_thread_ = nullptr;
    std::uint32_t recent_number_ = ~std::uint32_t{0};
    std::vector<chain> chains_{{}};
    std::vector<std::uint32_t> free_chains_;
    trace::live_objects<block> live_;
    std::uint64_t events_, seen_ = 0, quarter_end_;
    unsigned quarter_ = 0;
    bool is_scanned_ = false;
};

}  // namespace millpond::characterise
