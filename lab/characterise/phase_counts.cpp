// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/phase_counts.hpp"

#include <algorithm>

namespace millpond::characterise {
namespace {

constexpr std::size_t ahead = 16;  // events, for prefetching

bool begins_object(trace::operation op) {
    return op == trace::operation::allocate || op == trace::operation::realloc_allocate;
}

}  // namespace

phase_counts::phase_counts(const phase_boundaries& found, const symbols::subsystem_map& subsystems,
                           std::size_t contexts)
    : is_marked_(found.are_marked),
      boundaries_(found.boundaries),
      subsystem_of_(std::max<std::size_t>(contexts, 1)),
      live_of_(subsystems.subsystems().size()) {
    for (std::uint32_t i = 0; i < subsystem_of_.size(); ++i) subsystem_of_[i] = subsystems.subsystem_of(i);
}

void phase_counts::consume(const trace::event* batch, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        if (i + ahead < count) live_.prefetch(batch[i + ahead].address);
        if (batch[i].op != trace::operation::note)
            take(batch[i]);
        else if (marks_.take(batch[i]))
            begin(marks_.name(), batch[i].time_ticks);
    }
}

void phase_counts::take(const trace::event& e) {
    const bool is_boundary = next_ < boundaries_.size() && events_ == boundaries_[next_];
    next_ += is_boundary;
    if (is_boundary || now_ == none) begin({}, e.time_ticks);
    last_tick_ = std::max(last_tick_, e.time_ticks);
    ++events_;
    ++phases_[now_].events;
    if (begins_object(e.op)) return allocate(e);
    live_.end(e.address, {e.time_ticks, e.thread},
              [this](const live_block& o, std::uint64_t, trace::moment, trace::ending) { ended(o); });
}

void phase_counts::allocate(const trace::event& e) {
    const std::uint32_t subsystem = subsystem_of_[e.context];
    live_of_[subsystem] += e.bytes;
    live_bytes_ += e.bytes;
    phase& now = phases_[now_];
    ++now.allocations;
    now.bytes += e.bytes;
    now.peak_bytes = std::max(now.peak_bytes, live_bytes_);
    phase_share& s = now.shares[subsystem];
    if (s.stretch != stretches_) s.stretch_bytes = 0;
    s.stretch = stretches_;
    ++s.objects;
    s.bytes += e.bytes;
    s.stretch_bytes += e.bytes;
    s.stretch_bytes_max = std::max(s.stretch_bytes_max, s.stretch_bytes);
    s.peak_bytes = std::max(s.peak_bytes, live_of_[subsystem]);
    live_.begin(e.address, {e.bytes, subsystem, stretches_}, {e.time_ticks, e.thread},
                [this](const live_block& o, std::uint64_t, trace::moment, trace::ending) { ended(o); });
}

void phase_counts::ended(const live_block& o) {
    live_of_[o.subsystem] -= o.bytes;
    live_bytes_ -= o.bytes;
    if (o.stretch == stretches_) ++phases_[now_].shares[o.subsystem].ended_within;
}

void phase_counts::begin(const std::string& name, std::uint64_t tick) {
    end(tick);
    now_ = number_of(name);
    begin_tick_ = tick;
    ++stretches_;
    phase& now = phases_[now_];
    if (now.stretches++ == 0) {
        now.first_event = events_;
        now.begin_bytes = live_bytes_;
    }
    now.peak_bytes = std::max(now.peak_bytes, live_bytes_);
}

void phase_counts::end(std::uint64_t tick) {
    if (now_ == none) return;
    phases_[now_].end_bytes = live_bytes_;
    phases_[now_].ticks += std::max(tick, begin_tick_) - begin_tick_;
}

std::size_t phase_counts::number_of(const std::string& name) {
    std::string kept = name;
    if (is_marked_) {
        if (const auto known = numbers_.find(name); known != numbers_.end()) return known->second;
        if (phases_.size() == phases_max) return phases_max - 1;
        if (phases_.size() + 1 == phases_max)
            kept = others;
        else
            numbers_.emplace(name, phases_.size());
    }
    phases_.emplace_back().name = kept;
    phases_.back().shares.resize(live_of_.size());
    return phases_.size() - 1;
}

void phase_counts::finish() {
    live_.settle([this](const live_block& o, std::uint64_t, trace::moment, trace::ending) { ended(o); });
    end(last_tick_);
    live_.for_each([this](std::uint64_t, const live_block& o) {
        if (o.stretch == stretches_) ++phases_[now_].shares[o.subsystem].running_at_end;
    });
}

std::vector<const phase*> phase_counts::phases() const {
    std::vector<const phase*> all;
    for (const phase& each : phases_) {
        if (each.events > 0) all.push_back(&each);
    }
    return all;
}

}  // namespace millpond::characterise
