// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/event_counts.hpp"

#include <algorithm>

namespace millpond::characterise {
namespace {

bool ends_object(trace::operation op) { return op == trace::operation::free || op == trace::operation::realloc_free; }

// Surveys of pages visit every live object, but look at the pages of a sample only. The limit is one look for each
// eight events, or free_looks in all if that is more, spread over the whole trace. Skipping an object costs an eighth
// of a look.
constexpr std::uint64_t free_looks = std::uint64_t{1} << 21;
constexpr std::uint64_t looks_a_survey = std::uint64_t{1} << 18;

}  // namespace

event_counts::event_counts(const symbols::subsystem_map& subsystems, const scope_tree& scopes,
                           const std::vector<trace::context_node>& nodes, std::uint64_t events, double ticks_per_ns)
    : scopes_(scopes),
      nodes_(nodes),
      ns_per_tick_(1 / ticks_per_ns),
      counts_(subsystems.subsystems().size()),
      contexts_(std::max<std::size_t>(nodes.size(), 1)),
      legality_(scopes, subsystems.subsystems().size()),
      next_survey_(std::max<std::uint64_t>(1, events / diffusion_points_max)),
      survey_interval_(events / diffusion_points_max + 1),
      looks_an_event_(std::max(0.125, static_cast<double>(free_looks) / static_cast<double>(events + 1))) {
    for (std::uint32_t i = 0; i < contexts_.size(); ++i) {
        const std::uint32_t scope = scopes.innermost(i);
        const auto depth = static_cast<std::uint16_t>(scopes.depth(scope));
        contexts_[i] = {subsystems.subsystem_of(i), scope, depth, depth};
    }
}

void event_counts::consume(const trace::event* batch, std::size_t count) {
    if (count == 0) return;
    if (totals_.events == 0 && totals_.first_tick == 0) totals_.first_tick = batch[0].time_ticks;
    const auto part = [&](std::size_t at) {
        return std::span(batch + std::min(at, count), std::min(at + chunk, count) - std::min(at, count));
    };
    fetch_objects(part(0));
    fetch_objects(part(chunk));
    look_ahead ahead[2];
    fetch_contexts(part(0), ahead[0]);
    for (std::size_t at = 0, turn = 0; at < count; at += chunk, turn ^= 1) {
        const std::span<const trace::event> now = part(at);
        fetch_objects(part(at + 2 * chunk));
        fetch_counts(now.size(), ahead[turn]);
        fetch_contexts(part(at + chunk), ahead[turn ^ 1]);
        for (std::size_t i = 0; i < now.size(); ++i) take(now[i], ahead[turn].position[i]);
    }
    totals_.last_tick = std::max(totals_.last_tick, batch[count - 1].time_ticks);
}

inline void event_counts::take(const trace::event& e, std::size_t position) {
    if (ends_object(e.op))
        end(e, position);
    else if (e.op == trace::operation::note)
        return note(e);
    else
        allocate(e);
    if (++totals_.events >= next_survey_) [[unlikely]]
        survey_pages();
}

inline void event_counts::fetch_objects(std::span<const trace::event> events) const {
    for (const trace::event& e : events) live_.prefetch(e.address);
}

inline void event_counts::fetch_contexts(std::span<const trace::event> events, look_ahead& ahead) const {
    for (std::size_t i = 0; i < events.size(); ++i) {
        const trace::event& e = events[i];
        std::uint32_t context = e.context;
        if (ends_object(e.op)) {
            ahead.position[i] = live_.locate(e.address);
            context = live_.payload_at(ahead.position[i]).context();  // a hint: a wrong one does no harm
        }
        __builtin_prefetch(&contexts_[context], 1);
        ahead.context[i] = context;
    }
}

inline void event_counts::fetch_counts(std::size_t count, const look_ahead& ahead) const {
    for (std::size_t i = 0; i < count; ++i) {
        const context_counts& context = contexts_[ahead.context[i]];
        __builtin_prefetch(&counts_[context.subsystem], 1);
        __builtin_prefetch(&counts_[context.subsystem].lifetimes_ns, 1);
        legality_.prefetch(context.outlived, context.depth);
    }
}

inline event_counts::thread_state& event_counts::thread(std::uint32_t number) {
    if (number != recent_number_) [[unlikely]]
        find_thread(number);
    return *recent_thread_;
}

void event_counts::find_thread(std::uint32_t number) {
    const std::uint32_t kept = std::min(number, packed_object::thread_max);
    while (kept >= threads_.size()) threads_.emplace_back();
    recent_number_ = number;
    recent_thread_ = &threads_[kept];
}

inline thread_share& event_counts::share(thread_state& t, std::uint32_t number, std::uint32_t subsystem) {
    if (subsystem < t.share_of.size() && t.share_of[subsystem] != nullptr) [[likely]]
        return *t.share_of[subsystem];
    return add_share(t, number, subsystem);
}

thread_share& event_counts::add_share(thread_state& t, std::uint32_t number, std::uint32_t subsystem) {
    shares_.push_back({std::min(number, packed_object::thread_max), subsystem, {}, 0, 0, 0, {}});
    if (subsystem >= t.share_of.size()) t.share_of.resize(subsystem + 1, nullptr);
    return *(t.share_of[subsystem] = &shares_.back());
}

inline void event_counts::add_operation(thread_share& s, const trace::event& e, std::uint64_t bytes) {
    // A realloc is one operation in two events; either may carry its duration.
    operation_kind kind = operation_kind::reallocation;
    if (bytes >= operation_durations::large_bytes)
        kind = operation_kind::large;
    else if (e.op == trace::operation::allocate)
        kind = operation_kind::allocation;
    else if (e.op == trace::operation::free)
        kind = operation_kind::deallocation;
    s.operations[static_cast<std::size_t>(kind)] += e.op != trace::operation::realloc_free;
    if (s.first_tick == 0) s.first_tick = e.time_ticks;
    s.last_tick = e.time_ticks;
    if (e.duration_ticks != 0) [[unlikely]]
        counts_[s.subsystem].durations.add(kind, e.duration_ticks);
}

void event_counts::allocate(const trace::event& e) {
    const std::uint64_t bytes = std::min(e.bytes, packed_object::bytes_max);
    context_counts& context = contexts_[e.context];
    subsystem_counts& s = counts_[context.subsystem];
    thread_state& t = thread(e.thread);
    t.active.enter(context.scope, scopes_, clock_);
    t.last_context = e.context;
    t.facts.add(e);
    (void)freeings_.take_first(e.address, 0);  // of an earlier block there whose free is not in the trace
    if (t.resized != no_context) [[unlikely]] {
        if (e.op == trace::operation::realloc_allocate) {
            freeings_.add_resize(e.context, t.resized);
            if (t.resized != context.subsystem) freeings_.resized_from(e.address, t.resized);
        }
        t.resized = no_context;
    }

    if (s.peak_objects == 0) s.first_tick = e.time_ticks;
    s.last_tick = e.time_ticks;
    s.live_bytes += bytes;
    s.peak_bytes = std::max(s.peak_bytes, s.live_bytes);
    s.peak_objects = std::max(s.peak_objects, ++s.live_objects);
    s.reallocations += e.op == trace::operation::realloc_allocate;
    ++s.sizes[size_class_of(bytes)];
    ++context.objects;
    context.bytes += bytes;
    see_peak(context);
    context.live_bytes += bytes;
    totals_.live_bytes += bytes;
    if (totals_.live_bytes > totals_.peak_bytes) {
        totals_.peak_bytes = totals_.live_bytes;
        ++peaks_;
    }
    totals_.peak_objects = std::max(totals_.peak_objects, ++totals_.live_objects);
    if (search_ != nullptr) search_->began(context.subsystem, bytes);

    thread_share& mine = share(t, e.thread, context.subsystem);
    add_operation(mine, e, bytes);
    ++mine.objects;
    mine.of_activations.add(bytes, t.active, scopes_, [&](std::uint32_t function, std::uint64_t of_instance) {
        legality_.instance(context.subsystem, function, of_instance);
    });
    const std::uint64_t tick = e.time_ticks > totals_.first_tick ? e.time_ticks - totals_.first_tick : 0;
    const packed_object born(bytes, tick, clock_, e.context, e.thread);
    live_.begin(e.address, born, {e.time_ticks, e.thread},
                [this](const packed_object& o, std::uint64_t, trace::moment at, trace::ending how) {
                    object_ended(o, at, how, nullptr);
                });
}

inline void event_counts::end(const trace::event& e, std::size_t position) {
    thread(e.thread).facts.add(e);
    totals_.frees += e.op == trace::operation::free;
    const bool has_object = live_.end(
        e.address, {e.time_ticks, e.thread},
        [&](const packed_object& o, std::uint64_t, trace::moment at, trace::ending how) {
            if (search_ != nullptr) search_->ended(contexts_[o.context()].subsystem, o.bytes());
            object_ended(o, at, how, &e);
        },
        position);
    if (!has_object && search_ != nullptr) [[unlikely]]
        search_->ended_unknown();
}

void event_counts::object_ended(const packed_object& o, trace::moment at, trace::ending how,
                                const trace::event* event) {
    context_counts& context = contexts_[o.context()];
    subsystem_counts& s = counts_[context.subsystem];
    if (at.time_ticks > s.last_tick) s.last_tick = at.time_ticks;
    s.live_bytes -= o.bytes();
    see_peak(context);
    context.live_bytes -= o.bytes();
    totals_.live_bytes -= o.bytes();
    --totals_.live_objects;
    if (--s.live_objects == 0) {
        if (s.first_empty_tick == 0) s.first_empty_tick = at.time_ticks;
        s.last_empty_tick = at.time_ticks;
    }
    const std::uint64_t born_tick = totals_.first_tick + o.tick();
    // Signed, because that conversion is one instruction.
    const auto ticks = static_cast<std::int64_t>(at.time_ticks > born_tick ? at.time_ticks - born_tick : 0);
    s.lifetimes_ns.add(
        static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<double>(ticks) * ns_per_tick_)));
    if (how == trace::ending::freed) {
        if (event != nullptr && event->op == trace::operation::realloc_free) {
            ++s.realloc_frees;
            thread(at.thread).resized = freeings_.take_first(event->address, context.subsystem);
        } else {
            ++s.frees;
            const std::uint32_t freed_at = thread(at.thread).freed_at;
            if (event != nullptr) {
                const std::uint32_t first = freeings_.take_first(event->address, context.subsystem);
                if (freed_at != no_context) freeings_.add_free(freed_at, first);
            }
        }
        if (at.thread != o.thread()) ++s.freed_by_others;
        // The operation counts for the object's subsystem, and for the thread that performs it.
        thread_share& whose = share(thread(at.thread), at.thread, context.subsystem);
        if (event != nullptr)
            add_operation(whose, *event, o.bytes());
        else
            ++whose.operations[static_cast<std::size_t>(operation_kind::deallocation)];
    }

    const thread_state& born_on = thread(o.thread());
    const std::size_t surviving = born_on.active.surviving(o.birth());
    if (surviving == context.depth && !born_on.ended) return;
    const bool wanted = surviving < context.depth && legality_.outlived(context, surviving);
    if (!wanted && !born_on.ended) [[likely]]
        return;
    const witness seen{o.context(), o.thread(), o.bytes(), born_tick, at.time_ticks, at.thread};
    if (wanted) legality_.offer(context, surviving, seen);
    if (born_on.ended) {
        ++s.outlived_thread;
        legality_.outlived_thread(context.subsystem, seen);
    }
}

// The object is live when the trace ends; the scopes that are active then have not ended.
void event_counts::object_left(std::uint64_t address, const packed_object& o) {
    context_counts& context = contexts_[o.context()];
    ++left_[o.context()].objects;
    left_[o.context()].bytes += o.bytes();
    const thread_state& born_on = thread(o.thread());
    const std::size_t surviving = born_on.active.surviving(o.birth());
    if (!born_on.ended && o.thread() == first_thread_) ++counts_[context.subsystem].left_on_first_thread;
    if (surviving == context.depth && !born_on.ended) return;
    const witness seen{o.context(), o.thread(), o.bytes(), totals_.first_tick + o.tick(), 0, 0};
    if (left_objects_.size() < left_objects_max)
        left_objects_.push_back({address, o.bytes(), seen.allocated_tick, o.context(), o.thread()});
    if (surviving < context.depth && legality_.left(context, surviving)) legality_.offer(context, surviving, seen);
    if (!born_on.ended) return;
    ++counts_[context.subsystem].left_by_thread;
    legality_.outlived_thread(context.subsystem, seen);
}

void event_counts::touched(const left_object& object, std::size_t surviving, bool thread_ended) {
    context_counts& context = contexts_[object.context];
    const witness seen{object.context, object.thread, object.bytes, object.tick, 0, 0, true};
    if (surviving < context.depth) {
        legality_.outlived(context, surviving);
        legality_.offer(context, surviving, seen);
    }
    if (!thread_ended) return;
    ++counts_[context.subsystem].outlived_thread;
    legality_.outlived_thread(context.subsystem, seen);
}

void event_counts::note(const trace::event& e) {
    const std::uint64_t subject = e.bytes, value = e.address;
    if (subject == mpt_note_phase && search_ != nullptr) search_->marked();
    if (e.thread == mpt_stream_outside) return;
    thread_state& t = thread(e.thread);
    t.facts.add_note(e);
    if (subject == mpt_note_thread_end || subject == mpt_note_cpu) t.facts.last_tick = e.time_ticks;
    if (subject == mpt_note_thread_end) {
        t.active.leave_all();
        t.ended = true;
    } else if (subject == mpt_note_lost) {
        totals_.lost_by_notes += value;
    } else if (subject == mpt_note_word) {
        ++totals_.words_noted;
    } else if (subject == mpt_note_freed_at) {
        t.freed_at = value < nodes_.size() ? nodes_[static_cast<std::uint32_t>(value)].parent : 0;
        totals_.frees_are_placed = true;
    } else if (subject == mpt_note_returned) {
        std::uint32_t node = t.last_context;
        for (std::uint64_t i = 0; i < value && node != 0; ++i) node = nodes_[node].parent;
        t.active.enter(contexts_[node].scope, scopes_, clock_);
    }
}

void event_counts::survey_pages() {
    next_survey_ = totals_.events + survey_interval_;
    const std::uint64_t objects = live_.size();
    unsigned sample_log2 = 0;
    while (objects >> sample_log2 > looks_a_survey) ++sample_log2;
    const std::uint64_t looks = looks_ + (objects >> sample_log2) + objects / 8;
    if (static_cast<double>(looks) > looks_an_event_ * static_cast<double>(totals_.events)) return;
    looks_ = looks;
    survey_.start(counts_.size(), survey_.used(), sample_log2);
    std::uint64_t now = totals_.last_tick;
    live_.for_each([&](std::uint64_t address, const packed_object& o) {
        now = std::max(now, totals_.first_tick + o.tick());
        if (!survey_.wants(address, o.bytes())) return;
        survey_.add(contexts_[o.context()].subsystem, address, o.bytes());
    });
    survey_.finish();
    for (std::uint32_t i = 0; i < counts_.size(); ++i) {
        if (counts_[i].live_objects > 0) counts_[i].diffusion.push_back({now, counts_[i].live_bytes, survey_.bytes(i)});
    }
    addresses_.add(survey_, now, totals_.live_bytes);
    pinning_.add(survey_, now, totals_.live_bytes);
}

void event_counts::begin_window() {
    for (subsystem_counts& s : counts_) {
        s.opening_bytes = s.peak_bytes = s.live_bytes;
        s.peak_objects = s.live_objects;
        s.frees = s.realloc_frees = s.reallocations = 0;
        std::fill(s.sizes.begin(), s.sizes.end(), 0);
    }
    for (context_counts& context : contexts_) context.objects = context.bytes = 0;
    for (thread_share& each : shares_) {
        each.operations = {};
        each.first_tick = each.last_tick = 0;
    }
}

void event_counts::finish() {
    live_.settle([this](const packed_object& o, std::uint64_t, trace::moment at, trace::ending how) {
        object_ended(o, at, how, nullptr);
    });
    totals_.unmatched_frees = live_.unmatched_frees();
    totals_.lost_frees = live_.lost_frees();
    totals_.mended = live_.mended();
    left_.resize(contexts_.size());
    const auto has_events = [](const thread_state& t) { return t.facts.last_tick != 0; };
    first_thread_ =
        static_cast<std::uint32_t>(std::find_if(threads_.begin(), threads_.end(), has_events) - threads_.begin());
    live_.for_each([this](std::uint64_t address, const packed_object& o) { object_left(address, o); });
    for (context_counts& context : contexts_) {
        see_peak(context);
        counts_[context.subsystem].objects += context.objects;
        counts_[context.subsystem].bytes += context.bytes;
        totals_.bytes += context.bytes;
        totals_.allocations += context.objects;
    }
    for (const subsystem_counts& s : counts_) totals_.reallocations += s.reallocations;
    totals_.allocations -= totals_.reallocations;
    for (thread_state& t : threads_) t.active.leave_all();
    for (thread_share& s : shares_) {
        s.of_activations.settle(threads_[s.thread].active, scopes_, [&](std::uint32_t function, std::uint64_t bytes) {
            legality_.instance(s.subsystem, function, bytes);
        });
    }
    for (const subsystem_counts& s : counts_) totals_.durations.add(s.durations);
}

void event_counts::take_estimates(const sample_estimates& estimates) {
    const auto take = [](auto& to, const estimated_objects& from) {
        to.reallocations = from.reallocations.rounded();
        to.frees = from.frees.rounded();
        to.bytes = from.bytes.rounded();
        to.live_bytes = from.live_bytes.rounded();
        to.live_objects = from.live_objects.rounded();
        to.peak_bytes = from.peak_bytes.rounded();
        to.peak_objects = from.peak_objects.rounded();
    };
    take(totals_, estimates.whole());
    totals_.events = estimates.whole().events.rounded();
    totals_.allocations = estimates.whole().allocations.rounded();
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        subsystem_counts& s = counts_[i];
        const estimated_subsystem& from = estimates.subsystems()[i];
        s.first_tick = std::max(s.first_tick, estimates.cut_tick());
        s.last_tick = std::max(s.last_tick, s.first_tick);
        take(s, from);
        s.objects = from.allocations.rounded() + s.reallocations;
        s.realloc_frees = from.realloc_frees.rounded();
        s.freed_by_others = from.freed_by_others.rounded();
        for (std::size_t size = 0; size < s.sizes.size(); ++size)
            s.sizes[size] = static_cast<std::uint64_t>(from.sizes[size] + 0.5);
        s.lifetimes_ns = {};
        from.lifetimes.for_each(
            [&](std::uint64_t ns, double weight) { s.lifetimes_ns.add(ns, static_cast<std::uint64_t>(weight + 0.5)); });
    }
    for (std::size_t i = 0; i < contexts_.size(); ++i) {
        const estimated_context& from = estimates.contexts()[i];
        contexts_[i].objects = from.objects.rounded();
        contexts_[i].bytes = from.bytes.rounded();
        contexts_[i].live_bytes = from.live_bytes.rounded();
        contexts_[i].peak_bytes = static_cast<std::uint64_t>(from.peak_bytes + 0.5);
        left_[i] = {from.live_objects.rounded(), from.live_bytes.rounded()};
    }
}

std::vector<event_counts::thread_facts> event_counts::threads() const {
    std::vector<thread_facts> facts;
    facts.reserve(threads_.size());
    for (const thread_state& t : threads_) facts.push_back(t.facts);
    return facts;
}

}  // namespace millpond::characterise
