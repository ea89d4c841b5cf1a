// SPDX-License-Identifier: BSL-1.0
// recorder: the backend of the malloc layer that writes every heap event of the process into its trace.
//
//   interpose_exports ─▶ recorder ─┬▶ the stream of this thread        the usual way: no lock
//                                  ├▶ the late stream, under a lock    inside a signal handler that interrupted us,
//                                  │                                   after the thread's end, before a thread could
//                                  │                                   be given a stream
//                                  └▶ nothing but the real call        not recording
//
// A free is stamped and written before the real call, an allocation after it. Recording starts at the first event or in
// the constructor, whichever comes first, and never ends: the finishing pass salvages open blocks, so no exit handler
// is needed. If a thread's first event comes after its last destructor, the next thread on its stack closes its stream.
// fork_mark identifies a forked child, which starts a trace of its own at its first event. It takes no lock that its
// parent had, and continues with the inherited mapping of FILE.partial. So no lock of ours is held while the C library
// forks. A handler that forks inside a hook may return into that hook; in the child it then works on a private copy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/record/description.hpp"
#include "lab/record/output.hpp"
#include "lab/record/stream.hpp"
#include "preload/call_site.hpp"
#include "preload/context_finder.hpp"
#include "preload/real.hpp"

namespace millpond::record {

class recorder {
  public:
    // The malloc layer's contract: see preload/interpose_exports.hpp.
    using call_site = preload::call_site;
    static void* allocate(std::size_t bytes, const preload::call_site& site) noexcept;
    static void* allocate_zeroed(std::size_t bytes, const preload::call_site& site) noexcept;
    static void* allocate_aligned(std::size_t alignment, std::size_t bytes, const preload::call_site& site) noexcept;
    static void* reallocate(void* old, std::size_t bytes, const preload::call_site& site) noexcept;
    static void deallocate(void* p, const preload::call_site& site) noexcept;
    static std::size_t usable_size(void* p) noexcept { return preload::real::usable_size(p); }

    // Called before main, and at the first event. May be called again.
    static void start() noexcept;
    // The process exits normally.
    static void exiting() noexcept;
    // A module may have been unloaded.
    static void after_unload() noexcept;
    // The program is about to forbid itself system calls.
    static void before_filter() noexcept;
    // Begins a phase of the process, in the order of time among the events of all threads; no bytes: ends the last one.
    // `name` may have any bytes; those after the first mpt_phase_name_max are dropped. Returns false if nothing is
    // recorded. Any thread and signal handler may call it. O(bytes), no allocation.
    static bool begin_phase(const char* name, std::size_t bytes) noexcept;
    // For the probes: see lab/probes/probe_link.hpp.
    static bool note(unsigned subject, std::uint64_t value, bool anywhere) noexcept;
    static std::uint32_t scope(std::uintptr_t entry, unsigned number) noexcept;
    static void* probes_room() noexcept;

  private:
    enum states : int { not_started, recording_on, off };

    struct per_thread {
        stream* own;   // null before the first event and after the thread's end
        stream* busy;  // the one that a hook of this thread is using
        int process;   // by fork_mark's number: whose `own` and `attached` are; a thread may be a copy of its parent's
        bool attached;
        bool starting;
    };

    // The state of the process image, shared with forked children.
    struct image_state;

    // The state of one process. A forked child gets another one.
    struct process;

    // Reserves this thread's stream during a hook; a signal handler's events find it busy.
    class hold;

    template <class Call>
    static void* record_allocation(unsigned flags, std::size_t bytes, std::size_t alignment,
                                   const preload::call_site& site, const Call& call,
                                   bool has_registers = false) noexcept;
    static void watch(const preload::call_site& site) noexcept;
    static bool is_recording() noexcept;
    static bool start_process() noexcept;
    static void begin_image() noexcept;
    static void begin_child() noexcept;
    static bool begin_process() noexcept;
    static void attach() noexcept;
    static stream* exchange_stream(process& p, stream* fresh) noexcept;
    static void detach(void* round) noexcept;
    static void failed() noexcept;
    static void start_probes() noexcept;
    static void on_new_context(std::uint32_t id, std::uint32_t parent, std::uintptr_t return_address) noexcept;
    static void after_fork_in_child() noexcept;

    static image_state image_;
    static process first_;
    static process* now_;
    [[gnu::tls_model("initial-exec")]] static thread_local per_thread thread_;
};

}  // namespace millpond::record
