// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/characterisation.hpp"

#include <algorithm>

#include "lab/characterise/container_list.hpp"
#include "lab/characterise/freeing_list.hpp"
#include "lab/characterise/later_touches.hpp"
#include "lab/characterise/nameless_modules.hpp"
#include "lab/characterise/reference_json.hpp"
#include "lab/characterise/subsystem_json.hpp"
#include "lab/program/json.hpp"
#include "lab/program/program.hpp"
#include "lab/trace/wholeness.hpp"

namespace millpond::characterise {
namespace {

constexpr std::size_t frames_max = 12;

}  // namespace

characterisation::characterisation(const std::string& path, const std::vector<symbols::owner_group>& groups,
                                   const std::optional<window_request>& window)
    : path_(path),
      reader_(path),
      own_functions_(std::make_unique<symbols::context_functions>(reader_.contexts(), reader_.modules())),
      functions_(own_functions_.get()),
      subsystems_(*functions_, groups),
      scopes_(*functions_, subsystems_),
      ticks_per_ns_(reader_.ticks_per_ns()),
      counts_(subsystems_, scopes_, reader_.contexts(), reader_.event_count(), ticks_per_ns_),
      observations_(*functions_, subsystems_) {
    run(window);
}

characterisation::characterisation(const std::string& path, trace::reader&& reader,
                                   const symbols::context_functions& functions,
                                   const std::vector<symbols::owner_group>& groups,
                                   const std::optional<window_request>& window)
    : path_(path),
      reader_(std::move(reader)),
      functions_(&functions),
      subsystems_(*functions_, groups),
      scopes_(*functions_, subsystems_),
      ticks_per_ns_(reader_.ticks_per_ns()),
      counts_(subsystems_, scopes_, reader_.contexts(), reader_.event_count(), ticks_per_ns_),
      observations_(*functions_, subsystems_) {
    run(window);
}

void characterisation::find_window(const window_request& wanted) {
    const auto has_references = [](const trace::block_record& block) { return block.header.kind == mpt_references; };
    if (std::any_of(reader_.blocks().begin(), reader_.blocks().end(), has_references))
        throw program::failure(program::usage,
                               "--window " + wanted.text +
                                   ": a recording with references has the window that it was captured in "
                                   "(`millpond record --references --window FUNCTION`)");
    window_ = event_window::find(wanted, reader_, *functions_);
    windowed_.emplace(subsystems_, scopes_, reader_.contexts(), reader_.event_count(), ticks_per_ns_);
}

void characterisation::run(const std::optional<window_request>& window) {
    if (window) find_window(*window);
    reader_.for_each_batch([this](const trace::event* batch, std::size_t count) {
        counts_.consume(batch, count);
        observations_.consume(batch, count);
        if (!window_) return;
        const auto consume = [this](const trace::event* part, std::size_t of) { windowed_->consume(part, of); };
        window_->for_each_part(batch, count, consume, [this] { windowed_->begin_window(); }, consume);
    });
    counts_.finish();
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

    const std::vector<subsystem_counts>& counts = counts_.subsystems();
    for (std::uint32_t s = 0; s < counts.size(); ++s) {
        if (counts[s].objects > 0) order_.push_back(s);
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
        if (contexts[c].objects > 0) contexts_[contexts[c].subsystem].push_back(c);
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

json characterisation::to_json() const {
    const trace_totals& totals = counts_.totals();
    json facts;
    facts["path"] = path_;
    facts["events"] = totals.events;
    facts["allocations"] = totals.allocations;
    facts["frees"] = totals.frees;
    facts["reallocations"] = totals.reallocations;
    facts["bytes"] = totals.bytes;
    add_trace_facts(facts, reader_);
    facts["lost"] = std::max(reader_.process().events_lost, totals.lost_by_notes);
    facts["unmatched_frees"] = totals.unmatched_frees;
    facts["frees_not_seen"] = totals.lost_frees;
    facts["mended_hand_offs"] = totals.mended;
    facts["frees_are_placed"] = totals.frees_are_placed;
    add_name_facts(facts, *this);
    std::uint64_t contexts = 0;
    for (const std::uint32_t s : order_) contexts += contexts_[s].size();
    facts["contexts"] = contexts;
    facts["cpu_seconds"] = clock_->cpu_ns() * 1e-9;
    facts["recorder_seconds"] = clock_->recorder_ns() * 1e-9;
    facts["peak_live_bytes"] = totals.peak_bytes;
    facts["peak_live_objects"] = totals.peak_objects;
    facts["end_live_bytes"] = totals.live_bytes;
    facts["end_live_objects"] = totals.live_objects;

    json all;
    all["schema"] = schema;
    all["trace"] = std::move(facts);
    all["process"] = process_json(reader_.process());
    all["subsystems"] = subsystems_json();
    std::vector<std::size_t> position(subsystems_.subsystems().size());
    for (std::size_t i = 0; i < order_.size(); ++i) position[order_[i]] = i;
    all["heat_map"] = counts_.addresses().to_json([this](std::uint64_t tick) { return seconds(tick); },
                                                  [&](std::uint32_t s) { return position[s]; });
    all["pins"] = pins_json();
    all["references"] = references_json(*this);
    all["notes"] = json::array(
        {"a function is legal only where its activations were observed; else it is not disproved at most, for a trace "
         "of allocations cannot tell two calls in a row apart",
         "an object that is live when the trace ends outlives every scope",
         "pages (diffusion, heat map, pins) are counted; above 262 144 live objects they are estimated from a sample",
         references_ ? "D, L and C are counted from the references"
                     : "D counts instructions: CPU time bounds it, and it is null where that does not tell it within a "
                       "factor of 1.5; C is estimated from the operations that were timed (1 in 64); L needs "
                       "references to memory (`millpond record --references` has what D and L need)"});
    if (window_) all["notes"].push_back("D, V, U, C, N and W are those of the window, all else is of the whole trace");
    all["window"] = window_json();
    return all;
}

json characterisation::window_json() const {
    if (!window_) return nullptr;
    return program::json_object({{"text", window_->text()},
                                 {"first_event", window_->first_event()},
                                 {"last_event", window_->last_event()},
                                 {"from_seconds", seconds(window_->begin_tick())},
                                 {"to_seconds", seconds(window_->end_tick())}});
}

// Each with its places in the source, taken from the debug information.
json characterisation::subsystems_json() const {
    json all = json::array();
    module_debug debug(*this);
    container_list containers(*this, debug);
    const freeing_list freeings(*this, debug);
    for (const std::uint32_t s : order_) {
        json one = subsystem_json(*this, s);
        one["containers"] = containers.of(s);
        one["freed_at"] = freeings.of(s);
        one["freed_elsewhere"] = freeings.left_out(s);
        for (json& scope : one["legality"]) {
            if (scope["scope"] != "function") continue;
            const symbols::source_place place = containers.declared(scope["name"].get<std::string>(), s);
            scope["file"] = place.file;
            scope["line"] = place.line;
        }
        all.push_back(std::move(one));
    }
    return all;
}

json characterisation::pins_json() const {
    const pinned_pages& pins = counts_.pinning();
    const std::vector<pinned_pair> pairs = pins.pairs();
    if (pairs.empty()) return nullptr;
    double bytes = 0;
    for (const pinned_pair& pair : pairs) bytes += pair.bytes;
    json all = program::json_object({{"time_seconds", seconds(pins.later_tick())},
                                     {"peak_seconds", seconds(pins.peak_tick())},
                                     {"dead_bytes", static_cast<std::uint64_t>(bytes)},
                                     {"pairs", json::array()}});
    const auto name = [this](std::uint32_t s) { return subsystems_.subsystems()[s].name; };
    for (std::size_t i = 0; i < std::min(pairs.size(), pairs_max); ++i) {
        const pinned_pair& pair = pairs[i];
        all["pairs"].push_back(program::json_object({{"by", name(pair.by)},
                                                     {"of", name(pair.of)},
                                                     {"bytes", static_cast<std::uint64_t>(pair.bytes)},
                                                     {"pages", pair.pages}}));
    }
    return all;
}

json process_json(const trace::process_record& process) {
    json facts;
    facts["pid"] = process.pid;
    facts["parent_pid"] = process.parent_pid;
    facts["executable"] = process.executable;
    facts["build_id"] = process.build_id;
    facts["argv"] = process.arguments;
    facts["exit_status"] = process.ended && process.signal == 0 ? json(process.exit_status) : json();
    facts["signal"] = process.signal != 0 ? json(process.signal) : json();
    facts["malloc_provider"] = process.malloc_provider.empty() ? "libc" : process.malloc_provider;
    return facts;
}

void add_trace_facts(json& facts, const trace::reader& reader) {
    const trace::process_record& process = reader.process();
    facts["lost"] = process.events_lost;
    facts["failed"] = process.allocations_failed;
    const double sampled = static_cast<double>(process.aliasing_sampled);
    facts["aliasing"] = program::json_object(
        {{"sampled", process.aliasing_sampled},
         {"differed", process.aliasing_differed},
         {"share", sampled > 0 ? json(static_cast<double>(process.aliasing_differed) / sampled) : json()}});
    facts["damages"] = json::array();
    for (const trace::damage& damage : reader.damages())
        facts["damages"].push_back(program::json_object({{"offset", damage.offset}, {"what", damage.what}}));
    facts["clean"] = process.clean;
    facts["ended"] = process.ended;
    facts["stopped_early"] = process.stopped_early != 0;
    const std::string partial = trace::partial_reason(process);
    facts["partial"] = partial.empty() ? json() : json(partial);
    const bool timed = process.end_ns > process.start_ns;
    facts["duration_seconds"] = timed ? json(static_cast<double>(process.end_ns - process.start_ns) * 1e-9) : json();
    double cpu_ns = 0;
    for (const trace::stream_record& stream : reader.streams()) cpu_ns += static_cast<double>(stream.cpu_ns);
    facts["cpu_seconds"] = cpu_ns * 1e-9;
    facts["threads"] = reader.streams().size();
}

json summarise(const std::string& path, bool accepts_damaged) {
    trace::reader reader(path);
    std::uint64_t allocations = 0, frees = 0, reallocations = 0, bytes = 0;
    reader.for_each_batch([&](const trace::event* batch, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            const trace::event& e = batch[i];
            const bool reallocated = e.op == trace::operation::realloc_allocate;
            allocations += e.op == trace::operation::allocate;
            frees += e.op == trace::operation::free;
            reallocations += reallocated;
            if (reallocated || e.op == trace::operation::allocate) bytes += e.bytes;
        }
    });
    trace::require_whole(path, reader.damages(), accepts_damaged);
    json facts;
    facts["path"] = path;
    facts["events"] = allocations + frees + 2 * reallocations;
    facts["allocations"] = allocations;
    facts["frees"] = frees;
    facts["reallocations"] = reallocations;
    facts["bytes"] = bytes;
    add_trace_facts(facts, reader);
    for (const char* unknown : {"unmatched_frees", "named_share", "peak_live_bytes", "end_live_bytes"})
        facts[unknown] = nullptr;
    facts["contexts"] = reader.contexts().size() - 1;
    return program::json_object({{"schema", characterisation::schema},
                                 {"trace", std::move(facts)},
                                 {"process", process_json(reader.process())}});
}

}  // namespace millpond::characterise
