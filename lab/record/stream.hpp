// SPDX-License-Identifier: BSL-1.0
// stream: writes the events of one thread into the trace.
//
//   hook ─▶ stamp, find the context ─▶ writer ─▶ open block in a slot ─(full)▶ seal it there, open the next slot
//
// One thread owns a stream; nothing here is shared or locked. When nothing can be written any more, events are dropped
// and counted, and the program continues. Sampling: one operation in 64 is timed, one allocation in check_interval is
// compared with an uncached walk. Both have random distances, so that no loop of the program can fall into step with
// them. The thread's CPU time is noted at a timed operation, at most every millisecond or two.
#pragma once

#include <sys/single_threaded.h>

#include <cstdint>

#include "lab/record/output.hpp"
#include "lab/record/system.hpp"
#include "lab/trace/writer.h"
#include "preload/context_finder.hpp"

namespace millpond::record {

class stream {
  public:
    // Makes a stream in a zeroed page range; null without memory. `is_needed`: as for output::take_slot; if false, null
    // also if only a slot is lacking.
    static stream* create(output& out, preload::context_space& space, std::uint32_t number,
                          bool is_needed = true) noexcept;
    // Call at the thread's end: writes the open block and releases memory and slot.
    static void destroy(stream* s) noexcept;
    // In the child of a fork, for the copy of the parent's stream: only releases memory and mapping.
    static void forget(stream* s) noexcept;

    // Used by thread_register.
    std::uintptr_t register_thread = 0;
    stream* register_next = nullptr;

    [[nodiscard]] const output& out() const noexcept { return out_; }
    void isolate() noexcept { output::isolate(slot_); }

    // Time for an event: now, or 0 (no time of its own) for 15 of 16 events while the process has one thread, unless
    // the recording is sampled: its events are far apart.
    [[gnu::always_inline]] std::uint64_t stamp() noexcept {
        if (__libc_single_threaded != 0 && (++stamps_ & untimed_) != 0) return 0;
        return ticks();
    }
    // Returns whether this operation is to be timed.
    [[gnu::always_inline]] bool time_this() noexcept { return --until_timed_ == 0; }
    void timed(std::uint64_t own_ticks) noexcept {
        overhead_ticks_ += own_ticks;
        until_timed_ = random_up_to(2 * timed_interval - 1);
        if (ticks() - cpu_noted_tick_ > cpu_interval_ticks) note_cpu();
    }
    // Notes the CPU time that the calling thread, whose stream this is, has used so far. One system call.
    [[gnu::noinline, gnu::cold]] void note_cpu() noexcept;

    [[gnu::always_inline]] void allocated(unsigned operation, unsigned flags, void* p, std::size_t bytes,
                                          unsigned alignment_log2, const preload::call_site& site, std::uint64_t time,
                                          std::uint64_t duration) noexcept {
        const std::uint32_t context = finder_.find_or_step(site);
        if (--until_check_ == 0) [[unlikely]]
            check(site, context);
        if (context == preload::context_finder::stepped)
            return allocated_by_steps(operation, flags, p, bytes, alignment_log2, time, duration);
        mpt_write_allocate(&writer_, operation, flags, reinterpret_cast<std::uint64_t>(p), bytes, context,
                           alignment_log2, time, duration);
        if (mpt_full(&writer_)) [[unlikely]]
            flush();
    }

    [[gnu::always_inline]] void freed(unsigned operation, void* p, std::uint64_t time,
                                      std::uint64_t duration) noexcept {
        mpt_write_free(&writer_, operation, reinterpret_cast<std::uint64_t>(p), time, duration);
        if (mpt_full(&writer_)) [[unlikely]]
            flush();
    }

    // Notes where the following blocks are freed, unless that is where the last one was.
    void place_frees(const preload::call_site& site) noexcept {
        const std::uint32_t context = finder_.find(site);
        if (context == freed_at_) return;
        const std::uint32_t node = space_.tree.child(context, preload::context_tree::frees);
        freed_at_ = context;  // first: with the note, the next block may begin, which knows of none
        noted(mpt_note_freed_at, node, 0);
    }

    // Notes the words in the caller's registers and on its stack, for all of the first allocations and then for some:
    // one of the words may be the owner of the next object.
    void sample_words(const preload::call_site& site) noexcept {
        if (--until_words_ == 0) write_words(site);
    }
    void noted(unsigned subject, std::uint64_t value, std::uint64_t time) noexcept {
        mpt_write_note(&writer_, subject, value, time);
        if (mpt_full(&writer_)) [[unlikely]]
            flush();
    }

    // Begins a phase of the process: its name, then the note that counts. All have one time, which is always taken,
    // because it orders this note among the events of other threads.
    void began_phase(const char* name, std::size_t bytes) noexcept;

    // Counts an allocation that returned null.
    void failed() noexcept { __atomic_add_fetch(&out_.count().allocations_failed, 1, __ATOMIC_RELAXED); }
    void lost(std::uint64_t events) noexcept {
        __atomic_add_fetch(&out_.count().events_lost, events, __ATOMIC_RELAXED);
    }

  private:
    static constexpr std::uint32_t timed_interval = 64;
    static constexpr std::uint32_t words_doubled_after = 32768;
    static constexpr std::uint64_t cpu_interval_ticks = std::uint64_t{1} << 22;  // one to two milliseconds
    static constexpr std::uint32_t no_context = ~std::uint32_t{0};

    stream(output& out, preload::context_space& space, std::uint32_t number, bool is_needed) noexcept;
    static void dispose(stream* s) noexcept;
    [[gnu::noinline, gnu::cold]] void flush() noexcept;
    [[gnu::noinline]] void allocated_by_steps(unsigned operation, unsigned flags, void* p, std::size_t bytes,
                                              unsigned alignment_log2, std::uint64_t time,
                                              std::uint64_t duration) noexcept;
    [[gnu::noinline]] void write_words(const preload::call_site& site) noexcept;
    [[gnu::noinline, gnu::cold]] void check(const preload::call_site& site, std::uint32_t context) noexcept;
    void open_block() noexcept;
    std::uint32_t close_block() noexcept;
    [[nodiscard]] std::uint32_t overhead_in_header() const noexcept;

    std::uint32_t random_up_to(std::uint32_t limit) noexcept {  // 1 … limit
        random_ ^= random_ << 13;
        random_ ^= random_ >> 7;
        random_ ^= random_ << 17;
        return static_cast<std::uint32_t>((random_ >> 32) * limit >> 32) + 1;
    }

    mpt_writer writer_{};
    std::uint32_t stamps_ = 15;   // the first event has a time
    std::uint32_t untimed_ = 15;  // a mask: of so many and one more, one has a time
    std::uint32_t until_timed_ = 1;
    std::uint32_t until_check_ = 1;
    std::uint32_t freed_at_ = no_context;  // the value in this block
    std::uint32_t until_words_ = 1, words_interval_ = 1, words_sampled_ = 0;
    preload::context_finder finder_;
    preload::context_space& space_;
    output& out_;
    slot slot_;  // empty: nothing can be written any more
    std::uint64_t random_;
    std::uint64_t overhead_ticks_ = 0;
    std::uint64_t cpu_noted_tick_ = 0;
    std::uint32_t number_;
    std::uint32_t sequence_ = 0;
    // The place for events that cannot be written.
    alignas(8) std::uint8_t sink_[mpt_header_bytes + 2 * mpt_event_bytes_max];
};

}  // namespace millpond::record
