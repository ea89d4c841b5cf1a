// SPDX-License-Identifier: BSL-1.0
// characterisation: the complete result for one trace.
//
//   reader ─▶ context_functions ─▶ subsystem_map ─▶ scope_tree ─▶ event_counts ─▶ characterisation ─▶ JSON, plans
//
// Memory and time are those of event_counts. Not thread-safe. Throws trace::trace_error if nothing can be read.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/attribution/attributed_run.hpp"
#include "lab/characterise/block_patterns.hpp"
#include "lab/characterise/event_counts.hpp"
#include "lab/characterise/event_window.hpp"
#include "lab/characterise/live_trend.hpp"
#include "lab/characterise/observed_scopes.hpp"
#include "lab/characterise/owner_keys.hpp"
#include "lab/characterise/phase_counts.hpp"
#include "lab/characterise/sample_estimates.hpp"
#include "lab/characterise/scope_tree.hpp"
#include "lab/characterise/thread_clock.hpp"
#include "lab/program/json.hpp"
#include "lab/symbols/context_functions.hpp"
#include "lab/symbols/subsystem_map.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::characterise {

using program::json;

// Passes made only on request. `phases`: the search, and counts by phase, which take half as long again if there are
// some. `patterns`: what is left, temporaries and growth, which take nearly as long as all else.
struct further_passes {
    bool phases = false, patterns = false;
};

class characterisation {
  public:
    // `window`: the part of the trace over which dimensions are measured; none: for each subsystem, from its first
    // operation to the end of its last object. `further`: what else is counted. Throws program::failure (usage) for a
    // window that does not fit.
    characterisation(const std::string& path, const std::vector<symbols::owner_group>& groups,
                     const std::optional<window_request>& window = std::nullopt, further_passes further = {});
    // From an open reader and its functions; `functions` must outlive this object.
    characterisation(const std::string& path, trace::reader&& reader, const symbols::context_functions& functions,
                     const std::vector<symbols::owner_group>& groups,
                     const std::optional<window_request>& window = std::nullopt, further_passes further = {});
    characterisation(const characterisation&) = delete;
    characterisation& operator=(const characterisation&) = delete;

    // Reads the references of the recording, if it has any, for locality, counted density and misses. Throws
    // program::failure, trace::trace_error.
    void count_references(const attribution::cache_shape& cache);
    // Null: no references were read.
    const attribution::attributed_run* references() const { return references_.get(); }
    // Places of the recording whose references could not be read.
    const std::vector<trace::damage>& reference_damages() const { return reference_damages_; }

    // Takes legality from a recording of the same program in which scopes were observed; `other` must outlive this
    // object. Without it, legality comes from this trace.
    void take_observations(const characterisation& other) { observed_ = &other; }
    const characterisation& observed() const { return *observed_; }
    const observed_scopes& observations() const { return observations_; }
    // Null: no owner was sampled.
    const owner_keys* owners() const { return owners_ ? &*owners_ : nullptr; }

    const std::string& path() const { return path_; }
    const trace::reader& reader() const { return reader_; }
    const symbols::context_functions& functions() const { return *functions_; }
    const symbols::subsystem_map& subsystems() const { return subsystems_; }
    const scope_tree& scopes() const { return scopes_; }
    const event_counts& counts() const { return counts_; }
    // Null: they were not asked for.
    const block_patterns* patterns() const { return patterns_ ? &*patterns_ : nullptr; }
    // Null: the trace cannot tell, or it was not asked for; why_no_trend() says which.
    const live_trend* trend() const { return trend_ ? &*trend_ : nullptr; }
    const std::string& why_no_trend() const { return why_no_trend_; }
    // The counts for the dimensions: those of the window if there is one, else all.
    const event_counts& measured() const { return windowed_ ? *windowed_ : counts_; }
    // Null: the dimensions are those of the whole trace.
    const event_window* window() const { return window_ ? &*window_ : nullptr; }
    // Null: the trace has every event.
    const sample_estimates* estimates() const { return estimates_ ? &*estimates_ : nullptr; }
    // Null: not counted by phase, or the trace has one phase only.
    const phase_counts* phases() const { return phases_ ? &*phases_ : nullptr; }
    const thread_clock& clock() const { return *clock_; }

    // Subsystems that had events, the one that allocated most bytes first.
    const std::vector<std::uint32_t>& order() const { return order_; }
    // The shares of each thread in a subsystem.
    const std::vector<const thread_share*>& shares(std::uint32_t subsystem) const { return shares_[subsystem]; }
    // The same, of the threads that performed operations in the window.
    std::vector<const thread_share*> measured_shares(std::uint32_t subsystem) const;
    // The subsystem's share of all events, or of all bytes if that is larger.
    double share(std::uint32_t subsystem) const;
    // Contexts of a subsystem that had allocations, the one with most bytes first.
    const std::vector<std::uint32_t>& contexts(std::uint32_t subsystem) const { return contexts_[subsystem]; }

    double seconds(std::uint64_t tick) const;  // since the beginning of the trace
    double ticks_per_ns() const { return ticks_per_ns_; }
    // Function names from the innermost frame outward, at most `frames_max`; repeats of a name in a row appear once.
    json stack(std::uint32_t context) const;
    // The name of a node's function, else its module, else its kind in brackets.
    std::string frame_name(std::uint32_t node) const;

  private:
    void run(const std::optional<window_request>& window, further_passes further);
    void put_in_order();
    void find_window(const window_request& wanted);
    void begin_trend(const further_passes& further);
    void count_phases(const phase_boundaries& found);
    void find_later_touches();

    std::string path_;
    trace::reader reader_;
    std::unique_ptr<symbols::context_functions> own_functions_;
    const symbols::context_functions* functions_;
    symbols::subsystem_map subsystems_;
    scope_tree scopes_;
    double ticks_per_ns_;
    event_counts counts_;
    std::optional<sample_estimates> estimates_;
    std::optional<phase_counts> phases_;
    std::optional<block_patterns> patterns_;
    std::optional<live_trend> trend_;
    std::string why_no_trend_;
    std::optional<event_window> window_;
    std::optional<event_counts> windowed_;
    observed_scopes observations_;
    std::optional<owner_keys> owners_;
    std::unique_ptr<attribution::attributed_run> references_;
    std::vector<trace::damage> reference_damages_;
    const characterisation* observed_ = this;
    std::unique_ptr<thread_clock> clock_;
    std::vector<std::uint32_t> order_;
    std::vector<std::vector<const thread_share*>> shares_;
    std::vector<std::vector<std::uint32_t>> contexts_;
};

}  // namespace millpond::characterise
