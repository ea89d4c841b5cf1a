// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/block_patterns.hpp"

namespace millpond::characterise {
namespace {

bool ends_block(const trace::event& e) {
    return e.op == trace::operation::free || e.op == trace::operation::realloc_free;
}

}  // namespace

// The slot of a block is prefetched first, and later what its end touches behind it.
void block_patterns::consume(const trace::event* batch, std::size_t count) {
    std::array<std::size_t, events_ahead> position{};
    for (std::size_t i = 0; i < count + events_ahead; ++i) {
        if (i + events_ahead < count) live_.prefetch(batch[i + events_ahead].address);
        if (i >= events_ahead) take(batch[i - events_ahead], position[i % events_ahead]);
        if (i < count && ends_block(batch[i])) position[i % events_ahead] = live_.locate(batch[i].address);
    }
}

void block_patterns::take(const trace::event& e, std::size_t position) {
    if (e.thread == mpt_stream_outside) return take_from_outside(e);
    for (++seen_; seen_ > quarter_end_ && quarter_ < 3;) quarter_end_ = end_of(++quarter_);
    if (e.op == trace::operation::note) return;
    thread_state& t = thread(e.thread);
    ++t.events;
    if (t.is_resizing && e.op != trace::operation::realloc_allocate) [[unlikely]]
        drop_resize(t);
    if (ends_block(e))
        end(e, position);
    else
        allocate(e, t);
}

void block_patterns::take_from_outside(const trace::event& note) {
    if (note.bytes == mpt_note_scanned) is_scanned_ = true;
    if (note.bytes != mpt_note_unreached) return;
    if (block* const lost = live_.find(note.address)) lost->lose();
}

void block_patterns::allocate(const trace::event& e, thread_state& t) {
    const std::uint32_t number = std::min(e.thread, thread_max), row = row_of(e.context);
    const bool is_resized = e.op == trace::operation::realloc_allocate;
    block made(e.bytes, number, e.context, t.events, quarter_, is_resized);
    if (is_resized && t.is_resizing) {
        const block& old = t.resized;
        if (made.bytes() > old.bytes()) {
            made.chain = grown(old, t.resized_address == e.address ? 0 : old.bytes(), true);
            t.is_resizing = false;
        } else {
            drop_resize(t);
        }
    }
    last_address(row, number) = is_resized ? 0 : e.address;
    live_.begin(e.address, made, {e.time_ticks, e.thread},
                [this](const block& b, std::uint64_t address, trace::moment at, trace::ending how) {
                    ended(b, address, at, how, nullptr);
                });
}

void block_patterns::end(const trace::event& e, std::size_t position) {
    live_.end(
        e.address, {e.time_ticks, e.thread},
        [&](const block& b, std::uint64_t address, trace::moment at, trace::ending how) {
            ended(b, address, at, how, &e);
        },
        position);
}

void block_patterns::ended(const block& b, std::uint64_t address, trace::moment at, trace::ending how,
                           const trace::event* event) {
    if (how == trace::ending::lost_free || event == nullptr) return settle(b);
    const std::uint32_t by = std::min(at.thread, thread_max);
    if (event->op == trace::operation::free) return freed(b, address, by);
    last_address(row_of(b.context()), by) = 0;
    thread_state& t = thread(by);
    t.is_resizing = true;
    t.resized = b;
    t.resized_address = address;
}

void block_patterns::freed(const block& b, std::uint64_t address, std::uint32_t by) {
    const std::uint32_t row = row_of(b.context());
    std::uint64_t& last = last_address(row, by);
    const std::uint64_t newer_address = last;
    last = 0;
    if (b.thread() != by) return settle(b);
    if (newer_address != 0 && newer_address != address) {
        block* const newer = live_.find(newer_address);
        if (newer != nullptr && newer->context() == b.context() && newer->thread() == by) {
            if (newer->bytes() > b.bytes()) {
                newer->chain = grown(b, b.bytes(), false);
                return;
            }
            ++rows_[row].growth.not_larger;
        }
    }
    settle(b);
    if (b.is_resized()) return;
    const std::uint64_t between = thread(by).events - b.born() - 1;
    temporary_counts& counts = rows_[row].temporaries;
    for (std::size_t i = temporary_counts::limits; i-- > 0 && between < std::uint64_t{1} << i;) ++counts.objects[i];
    if (between >= temporary_events) return;
    counts.bytes += b.bytes();
    counts.largest_bytes = std::max(counts.largest_bytes, b.bytes());
}

std::uint32_t block_patterns::grown(const block& old, std::uint64_t copied_bytes, bool is_resize) {
    std::uint32_t at = old.chain;
    if (at == 0) {
        if (free_chains_.empty()) {
            at = static_cast<std::uint32_t>(chains_.size());
            chains_.emplace_back();
        } else {
            at = free_chains_.back();
            free_chains_.pop_back();
        }
        chains_[at] = {};
        chains_[at].first_bytes = old.bytes();
    }
    chain& one = chains_[at];
    ++one.steps;
    one.resizes += is_resize;
    one.replaced_bytes += old.bytes();
    one.copied_bytes += copied_bytes;
    return at;
}

void block_patterns::settle(const block& last) {
    if (last.chain == 0) return;
    const chain& one = chains_[last.chain];
    growth_counts& counts = rows_[row_of(last.context())].growth;
    ++counts.chains;
    counts.steps += one.steps;
    counts.resizes += one.resizes;
    counts.replaced_bytes += one.replaced_bytes;
    counts.copied_bytes += one.copied_bytes;
    counts.first_bytes_min = std::min(counts.first_bytes_min, one.first_bytes);
    counts.final_bytes_min = std::min(counts.final_bytes_min, last.bytes());
    counts.final_bytes_max = std::max(counts.final_bytes_max, last.bytes());
    counts.final_bytes += last.bytes();
    free_chains_.push_back(last.chain);
}

void block_patterns::drop_resize(thread_state& t) {
    settle(t.resized);
    t.is_resizing = false;
}

block_patterns::thread_state& block_patterns::thread(std::uint32_t number) {
    if (number != recent_number_) [[unlikely]] {
        const std::uint32_t kept = std::min(number, thread_max);
        while (kept >= threads_.size()) threads_.emplace_back();
        recent_number_ = number;
        recent_thread_ = &threads_[kept];
    }
    return *recent_thread_;
}

std::uint32_t block_patterns::row_of(std::uint32_t context) {
    std::uint32_t& at = row_of_[context];
    if (at == 0) [[unlikely]] {
        rows_.emplace_back().context = context;
        last_.emplace_back();
        at = static_cast<std::uint32_t>(rows_.size());
    }
    return at - 1;
}

std::uint64_t& block_patterns::last_address(std::uint32_t row, std::uint32_t thread) {
    last_event& last = last_[row];
    if (last.thread != thread) [[unlikely]] {
        const auto key = [row](std::uint32_t of) { return std::uint64_t{row} << 32 | of; };
        if (last.address != 0) others_[key(last.thread)] = last.address;
        last = {thread, 0};
        if (const auto known = others_.find(key(thread)); known != others_.end()) {
            last.address = known->second;
            others_.erase(known);
        }
    }
    return last.address;
}

void block_patterns::finish() {
    live_.settle([this](const block& b, std::uint64_t address, trace::moment at, trace::ending how) {
        ended(b, address, at, how, nullptr);
    });
    for (thread_state& t : threads_)
        if (t.is_resizing) drop_resize(t);
    live_.for_each([this](std::uint64_t, const block& b) {
        context_patterns& row = rows_[row_of(b.context())];
        ++row.left[b.quarter()];
        row.lost += b.is_lost();
        row.lost_bytes += b.is_lost() ? b.bytes() : 0;
        settle(b);
    });
}

}  // namespace millpond::characterise
