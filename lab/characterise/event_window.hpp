// SPDX-License-Identifier: BSL-1.0
// event_window: the part of a trace over which the dimensions of its subsystems are measured.
//
//   events=1000:5000     from the 1000th event to the 5000th, both included; events are counted from 1, without notes
//   seconds=0.5:2        from half a second after the trace's beginning to two seconds after it
//   scope=parser::run    from the first call of an observed function to the end of its last
//
// Either end of a range may be left out. parse() reads the text of an option, find() searches a trace, for_each_part()
// passes on the events of a batch before the window and in it. find: one pass over the trace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "lab/symbols/context_functions.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::characterise {

struct window_request {
    enum class unit { events, seconds, scope };

    unit of = unit::events;
    double from = 0, to = 0;  // to: infinity if it is left out
    std::string scope;
    std::string text;  // as it was given

    // Throws program::failure (usage) for anything else than the three forms.
    static window_request parse(const std::string& text);
};

class event_window {
  public:
    // Throws program::failure (usage) if the trace has no such part, or no event lies in it.
    static event_window find(const window_request& wanted, trace::reader& reader,
                             const symbols::context_functions& functions);

    const std::string& text() const { return text_; }
    std::uint64_t first_event() const { return first_event_; }  // from 1
    std::uint64_t last_event() const { return last_event_; }
    std::uint64_t begin_tick() const { return begin_tick_; }
    std::uint64_t end_tick() const { return end_tick_; }

    // Calls before(events, count), then begins() once, then within(events, count), with the parts of each batch.
    // Batches come in the order of the trace; events behind the window are dropped.
    template <class Before, class Begins, class Within>
    void for_each_part(const trace::event* batch, std::size_t count, const Before& before, const Begins& begins,
                       const Within& within) {
        const std::size_t first = passed(batch, 0, count, first_event_ - 1);
        if (first > 0) before(batch, first);
        if (!begun_ && seen_ + 1 >= first_event_) {
            begun_ = true;
            begins();
        }
        const std::size_t last = passed(batch, first, count, last_event_);
        if (begun_ && last > first) within(batch + first, last - first);
        passed(batch, last, count, ~std::uint64_t{0});
    }

  private:
    // Counts events from `at` on until `until` of the trace have been seen; returns the position behind them.
    std::size_t passed(const trace::event* batch, std::size_t at, std::size_t count, std::uint64_t until) {
        for (; at < count && seen_ < until; ++at) seen_ += batch[at].op != trace::operation::note;
        return at;
    }

    std::string text_;
    std::uint64_t first_event_ = 1, last_event_ = ~std::uint64_t{0}, begin_tick_ = 0, end_tick_ = 0;
    std::uint64_t seen_ = 0;
    bool begun_ = false;
};

}  // namespace millpond::characterise
