// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/characterisation.hpp"

#include <algorithm>

#include "lab/characterise/later_touches.hpp"
#include "lab/characterise/phase_search.hpp"
#include "lab/program/program.hpp"

namespace millpond::characterise {
namespace {

constexpr std::size_t frames_max = 12;
constexpr double trend_seconds_min = 10;

}  // namespace

characterisation::characterisation(const std::string& path, const std::vector<symbols::owner_group>& groups,
                                   const std::optional<window_request>& window, further_passes further)
    : path_(path),
      reader_(path, trace::sampled_traces::accepted),
      own_functions_(std::make_unique<symbols::context_functions>(reader_.contexts(), reader_.modules())),
      functions_(own_functions_.get()),
      subsystems_(*functions_, groups),
      scopes_(*functions_, subsystems_),
      ticks_per_ns_(reader_.ticks_per_ns()),
      counts_(subsystems_, scopes_, reader_.contexts(), reader_.event_count(), ticks_per_ns_),
      observations_(*functions_, subsystems_) {
    run(window, further);
}

characterisation::characterisation(const std::string& path, trace::reader&& reader,
                                   const symbols::context_functions& functions,
                                   const std::vector<symbols::owner_group>& groups,
                                   const std::optional<window_request>& window, further_passes further)
    : path_(path),
      reader_(std::move(reader)),
      functions_(&functions),
      subsystems_(*functions_, groups),
      scopes_(*functions_, subsystems_),
      ticks_per_ns_(reader_.ticks_per_ns()),
      counts_(subsystems_, scopes_, reader_.contexts(), reader_.event_count(), ticks_per_ns_),
      observations_(*functions_, subsystems_) {
    run(window, further);
}

void characterisation::find_window(const window_request& wanted) {
    const auto has_references = [](const trace::block_record& block) { return block.header.kind == mpt_references; };
    if (std::any_of(reader_.blocks().begin(), reader_.blocks().end(), has_references))
        throw program::failure(program::usage,
                               "--window " + wanted.text +
                                   ": a recording with references has the window that it was captured in "
                                   "(`millpond trace record --with references --window FUNCTION`)");
    window_ = event_window::find(wanted, reader_, *functions_);
    windowed_.emplace(subsystems_, scopes_, reader_.contexts(), reader_.event_count(), ticks_per_ns_);
}

// A second pass, only if the first one found phases.
void characterisation::count_phases(const phase_boundaries& found) {
    if (!found.are_marked && found.boundaries.empty()) return;
    phases_.emplace(found, subsystems_, reader_.contexts().size());
    reader_.for_each_batch([this](const trace::event* batch, std::size_t count) { phases_->consume(batch, count); });
    phases_->finish();
}

// The time of a trace with references is a position in a stream, and a line through a few seconds tells nothing.
void characterisation::begin_trend(const further_passes& further) {
    const trace::process_record& process = reader_.process();
    const std::uint64_t first = process.cut_tick != 0 ? process.cut_tick : process.start_ticks;
    const double seconds_in_all =
        process.end_ticks > first ? static_cast<double>(process.end_ticks - first) / ticks_per_ns_ * 1e-9 : 0;
    const bool has_references = std::any_of(reader_.blocks().begin(), reader_.blocks().end(), [](const auto& block) {
        return block.header.kind == mpt_references || block.header.kind == mpt_counts;
    });
    if (has_references)
        why_no_trend_ = "the times of a trace with references are positions, not seconds";
    else if (process.end_ns <= process.start_ns || process.start_ns == 0)
        why_no_trend_ = "the trace has no clock at its end, as after a kill of the recorder";
    else if (seconds_in_all < trend_seconds_min)
        why_no_trend_ = "the trace is shorter than 10 s";
    else if (!estimates_ && !further.patterns)
        why_no_trend_ = "patterns were not asked for";
    else
        trend_.emplace(subsystems_, first, process.end_ticks, process.sample_bytes);
}

// Phases and patterns need every event, so a sampled trace has none.
void characterisation::run(const std::optional<window_request>& window, further_passes further) {
    if (const std::uint64_t interval = reader_.process().sample_bytes; interval != 0) {
        estimates_.emplace(subsystems_, reader_.contexts().size(), interval, ticks_per_ns_, reader_.process().cut_tick);
        further = {};
    }
    begin_trend(further);
    if (window) find_window(*window);
    if (further.patterns) {
        std::uint64_t events = 0;
        for (const trace::stream_record& stream : reader_.streams())
            if (stream.is_of_program()) events += stream.events;
        patterns_.emplace(reader_.contexts().size(), events);
    }
    phase_search search(subsystems_.subsystems().size(), reader_.event_count());
    if (further.phases) counts_.search_phases(search);
    reader_.for_each_batch([this](const trace::event* batch, std::size_t count) {
        counts_.consume(batch, count);
        if (estimates_) estimates_->consume(batch, count);
        if (patterns_) patterns_->consume(batch, count);
        if (trend_) trend_->consume(batch, count);
        observations_.consume(batch, count);
        if (!window_) return;
        const auto consume = [this](const trace::event* part, std::size_t of) { windowed_->consume(part, of); };
        window_->for_each_part(batch, count, consume, [this] { windowed_->begin_window(); }, consume);
    });
    count_phases(search.finish());
    counts_.finish();
    if (estimates_) {
        estimates_->finish();
        counts_.take_estimates(*estimates_);
    }
    if (patterns_) patterns_->finish();
    if (trend_) trend_->finish();
    if (windowed_) windowed_->finish();
    if (counts_.totals().words_noted > 0) owners_.emplace(reader_, subsystems_);
    observations_.finish(std::max(reader_.process().events_lost, counts_.totals().lost_by_notes));

    const std::vector<event_counts::thread_facts> threads = counts_.threads();
    std::vector<thread_clock::stream_facts> facts;
    for (std::uint32_t number = 0; number < threads.size(); ++number) {
        const event_counts::thread_facts& t = threads[number];
        if (t.last_tick != 0) facts.push_back({number, t.last_tick, t.operations, t.timed, t.cpu.all()});
    }
    clock_ = std::make_unique<thread_clock>(reader_.blocks(), facts, reader_.process().first_tick, ticks_per_ns_);
    put_in_order();
}

void characterisation::put_in_order() {
    const std::vector<subsystem_counts>& counts = counts_.subsystems();
    for (std::uint32_t s = 0; s < counts.size(); ++s) {
        if (counts[s].objects > 0 || counts[s].live_objects > 0) order_.push_back(s);
    }
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
        if (counts[a].bytes != counts[b].bytes) return counts[a].bytes > counts[b].bytes;
        if (counts[a].events() != counts[b].events()) return counts[a].events() > counts[b].events();
        return subsystems_.subsystems()[a].name < subsystems_.subsystems()[b].name;
    });
    shares_.resize(counts.size());
    for (const thread_share& share : counts_.shares()) shares_[share.subsystem].push_back(&share);
    for (std::vector<const thread_share*>& of_one : shares_) {
        std::sort(of_one.begin(), of_one.end(), [](const auto* a, const auto* b) { return a->thread < b->thread; });
    }
    const std::vector<context_counts>& contexts = counts_.contexts();
    contexts_.resize(counts.size());
    for (std::uint32_t c = 0; c < contexts.size(); ++c) {
        if (contexts[c].objects > 0 || contexts[c].live_bytes > 0) contexts_[contexts[c].subsystem].push_back(c);
    }
    for (std::vector<std::uint32_t>& of_one : contexts_) {
        std::sort(of_one.begin(), of_one.end(), [&](std::uint32_t a, std::uint32_t b) {
            if (contexts[a].bytes != contexts[b].bytes) return contexts[a].bytes > contexts[b].bytes;
            return contexts[a].objects != contexts[b].objects ? contexts[a].objects > contexts[b].objects : a < b;
        });
    }
}

std::vector<const thread_share*> characterisation::measured_shares(std::uint32_t subsystem) const {
    if (!windowed_) return shares_[subsystem];
    std::vector<const thread_share*> found;
    for (const thread_share& share : windowed_->shares()) {
        if (share.subsystem == subsystem && share.operations_in_all() > 0) found.push_back(&share);
    }
    std::sort(found.begin(), found.end(), [](const auto* a, const auto* b) { return a->thread < b->thread; });
    return found;
}

double characterisation::share(std::uint32_t subsystem) const {
    const subsystem_counts& own = counts_.subsystems()[subsystem];
    const auto share_of = [](std::uint64_t part, std::uint64_t whole) {
        return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(1, whole));
    };
    return std::max(share_of(own.events(), counts_.totals().events), share_of(own.bytes, counts_.totals().bytes));
}

void characterisation::count_references(const attribution::cache_shape& cache) {
    const std::vector<trace::block_record>& blocks = reader_.blocks();
    const auto has_references = [](const trace::block_record& block) { return block.header.kind == mpt_references; };
    if (std::none_of(blocks.begin(), blocks.end(), has_references)) return;
    references::reader reader(path_, {.with_system = true});
    const auto subject_of = [this](std::uint64_t context) {
        return subsystems_.subsystem_of(context < functions_->node_count() ? static_cast<std::uint32_t>(context) : 0);
    };
    std::vector<std::uint32_t> largest = order_;
    std::stable_sort(largest.begin(), largest.end(),
                     [this](std::uint32_t a, std::uint32_t b) { return share(a) > share(b); });
    references_ = std::make_unique<attribution::attributed_run>(
        static_cast<std::uint32_t>(subsystems_.subsystems().size()), subject_of, cache,
        layout::region_map::of_recording(path_, reader_), reader.totals().instructions, largest);
    attribution::take_all(reader, *references_);
    reference_damages_ = reader.damages();
    find_later_touches();
}

void characterisation::find_later_touches() {
    if (counts_.left_objects().empty()) return;
    references::reader reader(path_, {.with_system = true});
    later_touches touches(scopes_, counts_.contexts(), counts_.left_objects());
    for (references::step step; reader.next(step);) touches.take(step);
    for (const touched_object& one : touches.touched()) counts_.touched(one.object, one.surviving, one.thread_ended);
}

double characterisation::seconds(std::uint64_t tick) const {
    const trace::process_record& process = reader_.process();
    std::uint64_t origin = counts_.totals().first_tick;
    if (process.first_tick != 0) origin = std::min(origin, process.first_tick);
    if (process.cut_tick != 0) origin = process.cut_tick;
    const double ticks = tick > origin ? static_cast<double>(tick - origin) : 0.0;
    return ticks / ticks_per_ns_ * 1e-9;
}

std::string characterisation::frame_name(std::uint32_t node) const {
    const std::uint32_t id = functions_->function_of(node);
    if (id != symbols::context_functions::none && !functions_->function(id).near.empty())
        return "near " + functions_->function(id).near + " (" + functions_->function(id).name + ")";
    std::string name =
        id != symbols::context_functions::none ? functions_->function(id).name : functions_->module_name(node);
    if (name.empty()) name = functions_->node(node).offset == 0 ? "[generated code]" : "[stack cut here]";
    return name;
}

json characterisation::stack(std::uint32_t context) const {
    json frames = json::array();
    for (std::uint32_t at = context; at != 0 && frames.size() < frames_max; at = functions_->node(at).parent) {
        std::string name = frame_name(at);
        if (frames.empty() || frames.back() != name) frames.push_back(std::move(name));
    }
    return frames;
}

}  // namespace millpond::characterise
