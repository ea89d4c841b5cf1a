// SPDX-License-Identifier: BSL-1.0
#include "lab/replay/preparation.hpp"

#include <algorithm>

#include "lab/program/program.hpp"

namespace millpond::replay {
namespace {

constexpr std::size_t ahead = 24;  // events whose look-ups are fetched before their turn
constexpr std::uint32_t streams_max = 1u << 20;

bool ends_object(trace::operation op) { return op == trace::operation::free || op == trace::operation::realloc_free; }

}  // namespace

void preparation::consume(const trace::event* batch, std::size_t count) {
    if (count > 0 && !began_) {
        began_ = true;
        first_tick_ = batch[0].time_ticks;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (i + ahead < count) live_.prefetch(batch[i + ahead].address);
        take(batch[i]);
    }
}

inline void preparation::take(const trace::event& e) {
    if (e.time_ticks > now_) now_ = e.time_ticks;
    thread_state& t = thread(e.thread);
    if (t.has_pending && e.op != trace::operation::realloc_allocate) [[unlikely]]
        settle_pending(t);
    if (e.op == trace::operation::note) {
        if (e.bytes == mpt_note_thread_end) end_thread(e.thread);
        return;
    }
    ++totals_.events;
    if (!ends_object(e.op)) return allocate(e, t);
    totals_.frees += e.op == trace::operation::free;
    live_.end(e.address, {e.time_ticks, e.thread},
              [&](const object& o, std::uint64_t, trace::moment at, trace::ending how) {
                  object_ended(o, at, how == trace::ending::freed ? &e : nullptr);
              });
}

void preparation::allocate(const trace::event& e, thread_state& t) {
    object born{};
    born.bytes = std::min(e.bytes, record::bytes_max);
    born.alignment_log2 = std::min<unsigned>(e.alignment_log2, record::alignment_log2_max) & 63;
    born.thread = number_of(t);
    const bool resized = t.has_pending;
    t.has_pending = false;
    if (resized) {
        born.slot = t.pending.slot;
        born.pool = t.pending.pool == malloc_pool ? malloc_pool : pools_.choose_resized(t.pending.pool, e);
    } else {
        born.slot = slots_.take(born.thread);
        born.pool = pools_.choose(e);
    }
    ++(e.op == trace::operation::realloc_allocate ? totals_.reallocations : totals_.allocations);
    live_bytes_ += born.bytes;
    totals_.peak_live_bytes = std::max(totals_.peak_live_bytes, live_bytes_);
    totals_.peak_live_objects = std::max(totals_.peak_live_objects, ++live_count_);
    write(resized ? operation::resize_to : operation::allocate, born, born.thread, e.zeroed);
    live_.begin(
        e.address, born, {e.time_ticks, e.thread},
        [this](const object& o, std::uint64_t, trace::moment at, trace::ending) { object_ended(o, at, nullptr); });
}

// `event`: the event that ends the object; null if its free was lost, or came too early and meets its object now.
void preparation::object_ended(const object& o, trace::moment at, const trace::event* event) {
    live_bytes_ -= o.bytes;
    --live_count_;
    pools_.note_free(o.pool, at.thread);
    thread_state& t = thread(at.thread);
    const std::uint16_t by = number_of(t);
    if (event != nullptr && event->op == trace::operation::realloc_free && event->thread == at.thread) {
        t.has_pending = true;
        t.pending = o;
        write(operation::resize_from, o, by);
        return;
    }
    write(operation::free, o, by);
    slots_.give(o.slot, by);
}

// The second half of a realloc never came: it failed, freed (a size of 0), or was lost.
void preparation::settle_pending(thread_state& t) {
    t.has_pending = false;
    const std::uint16_t by = number_of(t);
    write(operation::drop, t.pending, by);
    slots_.give(t.pending.slot, by);
}

void preparation::end_thread(std::uint32_t stream) {
    thread_state& t = thread(stream);
    if (t.number == none) return;
    write(operation::thread_end, object{}, static_cast<std::uint16_t>(t.number));
    free_numbers_.push_back(static_cast<std::uint16_t>(t.number));
    t.number = none;
}

preparation::thread_state& preparation::thread(std::uint32_t stream) {
    const std::uint32_t kept = std::min(stream, streams_max);
    while (kept >= threads_.size()) [[unlikely]]
        threads_.emplace_back();
    return threads_[kept];
}

std::uint16_t preparation::number_of(thread_state& t) {
    if (t.number != none) [[likely]]
        return static_cast<std::uint16_t>(t.number);
    if (!free_numbers_.empty()) {
        t.number = free_numbers_.back();
        free_numbers_.pop_back();
    } else {
        if (numbers_ > 0xffff)
            throw program::failure(program::environment, "more than 65536 threads at once cannot be replayed");
        t.number = numbers_++;
    }
    return static_cast<std::uint16_t>(t.number);
}

inline void preparation::write(operation op, const object& o, std::uint16_t thread, bool zeroed) {
    const std::uint64_t ticks = now_ - first_tick_;
    script_.add(record(op, o.slot, o.bytes, static_cast<unsigned>(o.alignment_log2), o.pool, thread, zeroed),
                static_cast<std::uint64_t>(static_cast<double>(ticks) * ns_per_tick_));
}

preparation_totals preparation::finish() {
    for (thread_state& t : threads_)
        if (t.has_pending) settle_pending(t);
    live_.settle(
        [this](const object& o, std::uint64_t, trace::moment at, trace::ending) { object_ended(o, at, nullptr); });
    totals_.unmatched = live_.unmatched_frees();
    totals_.lost_frees = live_.lost_frees();
    totals_.mended = live_.mended();
    totals_.end_live_bytes = live_bytes_;
    totals_.end_live_objects = live_count_;
    totals_.slots = slots_.count();
    totals_.threads = numbers_;
    const double span_ns = began_ ? static_cast<double>(now_ - first_tick_) * ns_per_tick_ : 0;
    totals_.span_seconds = span_ns * 1e-9;
    totals_.records = script_.records();

    script_header header{};
    header.flags = pools_.of_a_plan() ? std::uint32_t{script_header::of_a_plan} : 0;
    header.slots = slots_.count();
    header.threads = numbers_;
    header.peak_live_bytes = totals_.peak_live_bytes;
    header.peak_live_objects = totals_.peak_live_objects;
    header.end_live_bytes = totals_.end_live_bytes;
    header.span_ns = static_cast<std::uint64_t>(span_ns);
    std::vector<script_pool> pools;
    for (const plan::pool_choice::pool& p : pools_.pools()) pools.push_back({p.shared ? 1u : 0u, 0, p.objects});
    script_.finish(header, pools);
    return totals_;
}

}  // namespace millpond::replay
