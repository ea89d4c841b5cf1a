// SPDX-License-Identifier: BSL-1.0
// sampler: the backend of the malloc layer for a sampled recording: it chooses the blocks that the recorder hears of.
//
//   interpose_exports ─▶ sampler ─┬─ not chosen, or not followed ─▶ the program's own malloc: nine instructions
//                                 └─ chosen (byte_countdown) or followed (followed_blocks) ─▶ recorder ─▶ trace
//
// A chosen block is followed until its free, so the trace has its whole life. A realloc ends the old block if that was
// followed; the new one is chosen or not by itself. Asleep, and in a process that is not recorded, nothing is chosen.
// A library of its own (libmillpond-sample.so) has this backend, so that whole recordings do not pay for it.
// A thread that was sampled before, by an earlier recording that was attached, notices a new one after 1 MiB at most
// (byte_countdown), and draws again. Thread-safe; safe in signal handlers.
#pragma once

#include <cstddef>

#include "lab/record/byte_countdown.hpp"
#include "lab/record/followed_blocks.hpp"
#include "lab/record/recorder.hpp"

namespace millpond::record {

class sampler {
  public:
    // The malloc layer's contract: see preload/interpose_exports.hpp.
    using call_site = preload::call_site;
    [[gnu::always_inline]] static bool passes(std::size_t bytes) noexcept { return thread_.countdown.passes(bytes); }
    [[gnu::always_inline]] static bool passes(void* p) noexcept { return !followed_.may_have(p); }
    [[gnu::always_inline]] static bool passes(void* old, std::size_t bytes) noexcept {
        return passes(old) && passes(bytes);
    }
    static void* allocate(std::size_t bytes, const call_site& site) noexcept;
    static void* allocate_zeroed(std::size_t bytes, const call_site& site) noexcept;
    static void* allocate_aligned(std::size_t alignment, std::size_t bytes, const call_site& site) noexcept;
    static void* reallocate(void* old, std::size_t bytes, const call_site& site) noexcept;
    static void deallocate(void* p, const call_site& site) noexcept;
    static std::size_t usable_size(void* p) noexcept { return preload::real::usable_size(p); }

    // The same as recorder::join. Blocks of an earlier recording are not followed any more.
    static int join(const char* partial, bool places_frees) noexcept;

  private:
    struct per_thread {
        byte_countdown countdown;
        int process_number = 0;       // of fork_mark: a child of fork draws numbers of its own
        std::uint32_t recording = 0;  // sample_request::recording
    };

    static bool chooses(std::size_t bytes) noexcept;
    static void begin_thread(const sample_request& request) noexcept;
    static void* follow(void* p) noexcept;

    [[gnu::visibility("hidden")]] static constinit followed_blocks followed_;
    [[gnu::visibility("hidden")]] static constinit std::uint64_t threads_;  // atomic; that have begun to choose
    [[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]] static constinit thread_local per_thread thread_;
};

}  // namespace millpond::record
