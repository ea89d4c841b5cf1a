// SPDX-License-Identifier: BSL-1.0
#include "lab/record/stream.hpp"

#include <string.h>
#include <time.h>

#include <new>

#include "lab/record/phase_notes.hpp"
#include "lab/trace/seal.h"
#include "preload/caller_words.hpp"
#include "preload/pages.hpp"

namespace millpond::record {
namespace {

std::uint64_t thread_cpu_ns() noexcept {
    struct timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace

stream* stream::create(output& out, preload::context_space& space, std::uint32_t number, bool is_needed) noexcept {
    void* const memory = space.pages.take(sizeof(stream));
    if (memory == nullptr) return nullptr;
    auto* const made = new (memory) stream(out, space, number, is_needed);
    if (made->slot_ || is_needed || __atomic_load_n(&out.count().stopped, __ATOMIC_RELAXED) != 0) return made;
    dispose(made);
    return nullptr;
}

void stream::dispose(stream* s) noexcept {
    preload::context_space& space = s->space_;
    s->~stream();
    space.pages.give(s, sizeof(stream));
}

stream::stream(output& out, preload::context_space& space, std::uint32_t number, bool is_needed) noexcept
    : finder_(space), space_(space), out_(out), slot_(out.take_slot(is_needed)), random_(ticks() | 1), number_(number) {
    random_ ^= std::uint64_t{number} * 0x9E3779B97F4A7C15u;
    if (out_.shared().sample_bytes != 0) untimed_ = 0;
    until_timed_ = random_up_to(2 * timed_interval - 1);
    until_check_ = random_up_to(2 * out_.shared().check_interval - 1);
    open_block();
}

void stream::forget(stream* s) noexcept {
    if (s->slot_ && !s->out_.is_mapped_ahead()) preload::give_pages(s->slot_.begin, mpt_slot_bytes);
    dispose(s);
}

void stream::destroy(stream* s) noexcept {
    if (!s->slot_) {
        s->lost(s->writer_.count);
    } else {
        mpt_write_note(&s->writer_, mpt_note_thread_end, 0, ticks());
        // Short threads would leave a slot each, so small blocks are copied together.
        constexpr std::uint32_t small_bytes = mpt_slot_bytes / 4;
        const std::uint32_t bytes = s->close_block();
        const bool copied =
            bytes <= small_bytes ? s->out_.append(s->slot_.block(), bytes) : s->out_.write_out(s->slot_, bytes);
        if (copied)
            s->out_.give_slot(s->slot_);
        else
            s->out_.leave(s->slot_);
    }
    dispose(s);
}

void stream::open_block() noexcept {
    finder_.forget_told();  // each block is read independently
    freed_at_ = no_context;
    if (!slot_) {
        // Full after every event.
        mpt_open_block(&writer_, sink_, mpt_header_bytes + mpt_event_bytes_max, number_, sequence_, ticks());
        return;
    }
    mpt_open_block(&writer_, slot_.block(), slot_.block_bytes(), number_, sequence_++, ticks());
    auto* const header = reinterpret_cast<mpt_block_header*>(slot_.block());
    header->cpu_ns = out_.is_mapped_ahead() ? 0 : thread_cpu_ns();  // in case this block is never closed
}

void stream::note_cpu() noexcept {
    cpu_noted_tick_ = ticks();
    // The late stream belongs to several threads. A program that forbids itself system calls would be killed.
    if (number_ == 0 || !slot_ || out_.is_mapped_ahead()) return;
    const std::uint64_t used_ns = thread_cpu_ns();
    auto* const header = reinterpret_cast<mpt_block_header*>(slot_.block());
    header->cpu_ns = used_ns;  // in case this block is never closed
    header->overhead_ticks = overhead_in_header();
    noted(mpt_note_cpu, used_ns, cpu_noted_tick_);
}

std::uint32_t stream::overhead_in_header() const noexcept {
    return overhead_ticks_ > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(overhead_ticks_);
}

std::uint32_t stream::close_block() noexcept {
    auto* const header = reinterpret_cast<mpt_block_header*>(slot_.block());
    header->cpu_ns = out_.is_mapped_ahead() ? 0 : thread_cpu_ns();
    header->overhead_ticks = overhead_in_header();
    overhead_ticks_ = 0;
    return mpt_seal_block(header, writer_.count);
}

void stream::flush() noexcept {
    if (!out_.is_live()) {  // the copy in a child, inside the hook in which the parent was interrupted
        writer_.cursor = writer_.block + mpt_header_bytes;
        return;
    }
    if (!slot_) {
        lost(writer_.count);
    } else {
        if (out_.make_ready(slot_)) {
            writer_.limit = slot_.block() + slot_.block_bytes() - mpt_event_bytes_max;
            return;
        }
        if (!out_.write_out(slot_, close_block())) {
            out_.leave(slot_);
            slot_ = out_.take_slot();
        }
    }
    open_block();
}

// A new block begins with an empty stack, so the whole stack is written again.
void stream::allocated_by_steps(unsigned operation, unsigned flags, void* p, std::size_t bytes, unsigned alignment_log2,
                                std::uint64_t time, std::uint64_t duration) noexcept {
    while (true) {
        if (!slot_) [[unlikely]] {
            if (out_.is_live()) lost(1);
            return;
        }
        const unsigned entered = finder_.untold();
        const bool fits = entered <= mpt_entered_with_event_max;
        std::uint8_t* to = writer_.cursor;
        if (fits) [[likely]]
            to = mpt_put_stepped_allocate(&writer_, operation, flags, reinterpret_cast<std::uint64_t>(p), bytes,
                                          alignment_log2, time, duration);
        else
            *to++ = mpt_steps;
        const unsigned told = fits || entered < mpt_entered_max ? entered : unsigned{mpt_entered_max};
        to = mpt_put_steps(to, finder_.returned(), told);
        for (unsigned i = 0; i < told; ++i) to = mpt_put(to, finder_.untold_frame(i));
        finder_.told(told);
        if (fits && alignment_log2 != 0) [[unlikely]]
            *to++ = static_cast<std::uint8_t>(alignment_log2);
        mpt_commit(&writer_, to);
        writer_.count -= !fits;  // steps do not count as an event
        if (mpt_full(&writer_)) [[unlikely]]
            flush();
        if (fits) return;
    }
}

// The interval doubles, so that a long program's samples do not fill the disk; its distances are random.
void stream::write_words(const preload::call_site& site) noexcept {
    using preload::caller_words;
    if (++words_sampled_ == words_doubled_after) {
        words_sampled_ = 0;
        words_interval_ *= 2;
    }
    until_words_ = words_interval_ == 1 ? 1 : random_up_to(2 * words_interval_ - 1);
    const unsigned positions = caller_words::readable(site);
    noted(mpt_note_word, std::uint64_t{site.stack} << 5 | caller_words::count, 0);
    for (unsigned i = 0; i < positions; ++i) {
        const std::uintptr_t word = caller_words::at(i, site);
        if (caller_words::is_address(word)) noted(mpt_note_word, std::uint64_t{word} << 5 | i, 0);
    }
}

void stream::began_phase(const char* name, std::size_t bytes) noexcept {
    std::uint64_t time = ticks();
    write_phase(name, bytes, [&](unsigned subject, std::uint64_t value) {
        noted(subject, value, time);
        time = 0;  // they all have that of the first
    });
}

void stream::check(const preload::call_site& site, std::uint32_t context) noexcept {
    constexpr unsigned compared = 16;  // frames that must agree; deeper ones are counted separately
    until_check_ = random_up_to(2 * out_.shared().check_interval - 1);
    std::uintptr_t truth[2 * compared];
    const unsigned depth = preload::context_finder::walk_uncached(site, truth, 2 * compared);
    std::uintptr_t found[2 * compared];
    unsigned known = 0, agreeing = 0;
    if (context == preload::context_finder::stepped) {
        known = finder_.last_walk(found, 2 * compared);
    } else {
        for (std::uint32_t id = context; known < 2 * compared && id != 0; id = space_.tree.at(id).parent)
            found[known++] = space_.tree.at(id).return_address;
    }
    while (agreeing < depth && agreeing < known && found[agreeing] == truth[agreeing]) ++agreeing;
    mpt_slot_process& c = out_.count();
    __atomic_add_fetch(&c.aliasing_sampled, 1, __ATOMIC_RELAXED);
    if (agreeing < depth) __atomic_add_fetch(&c.aliasing_differed_deep, 1, __ATOMIC_RELAXED);
    if (agreeing < depth && agreeing < compared) __atomic_add_fetch(&c.aliasing_differed, 1, __ATOMIC_RELAXED);
}

}  // namespace millpond::record
