// SPDX-License-Identifier: BSL-1.0
// recorder: the backend of the malloc layer that writes every heap event of the process into its trace.
//
//   interpose_exports ─▶ recorder ─┬▶ the stream of this thread        the usual way: no lock
//                                  ├▶ the late stream, under a lock    inside a signal handler that interrupted us,
//                                  │                                   after the thread's end, before a thread could
//                                  │                                   be given a stream
//                                  └▶ nothing but the real call        not recording, or asleep
//
// A recording may sleep and wake (slot_file.h: turns). A function that is called asleep costs one branch more. The
// supervisor changes the turn in shared memory, and a thread notices it at its next event: the first one makes another
// `process` with streams and contexts of its own, because each stretch is a trace of its own. A thread that is inside a
// hook then ends it in the stretch in which it began. A former stretch's memory is given back when its threads have
// left it and no thread looks it up (visit).
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
#include "lab/trace/slot_file.h"
#include "preload/call_site.hpp"
#include "preload/context_finder.hpp"
#include "preload/machine.hpp"
#include "preload/real.hpp"

// In the recording's file: odd while that is asleep (mpt_asleep). The malloc layer's entries know it by this name.
extern "C" [[gnu::visibility("hidden")]] const std::uint32_t* millpond_turn;

namespace millpond::record {

// The choice of a sampled recording. `bytes`: of which one is chosen, on average; 0 while that is not known.
// `recording`: differs between recordings that are attached one after the other; 0: none is.
struct sample_request {
    std::uint64_t bytes = 0, seed = 0;
    std::uint32_t recording = 0;
};

// The halves of a realloc that are recorded.
struct realloc_parts {
    bool ends = true, begins = true;
};

class recorder {
  public:
    // The malloc layer's contract: see preload/interpose_exports.hpp.
    using call_site = preload::call_site;
    static void* allocate(std::size_t bytes, const preload::call_site& site) noexcept;
    static void* allocate_zeroed(std::size_t bytes, const preload::call_site& site) noexcept;
    static void* allocate_aligned(std::size_t alignment, std::size_t bytes, const preload::call_site& site) noexcept;
    static void* reallocate(void* old, std::size_t bytes, const preload::call_site& site,
                            realloc_parts parts = {}) noexcept;
    static void deallocate(void* p, const preload::call_site& site) noexcept;
    static std::size_t usable_size(void* p) noexcept { return preload::real::usable_size(p); }
    static bool is_asleep() noexcept { return preload::machine::is_odd(*millpond_turn); }

    // For a backend that chooses the events itself (sampler.hpp). Begins the recording, if it has not begun; where
    // nothing is recorded, one byte in 2^62 is chosen.
    static sample_request sampling() noexcept;
    // Returns whether this process may still map memory.
    static bool may_map() noexcept;
    // Counts an event that could not be followed.
    static void lose() noexcept;

    // Called before main, and at the first event. May be called again.
    static void start() noexcept;
    // Joins the recording of that slot file (an absolute path), in a process that was not started for it: see
    // lab/attach. The recording is asleep then. Returns 0, an errno (EBUSY: it has a recording), or a refusal. Any
    // thread, as any caller of the C library.
    enum refusals : int { no_malloc = 1001, own_malloc = 1002 };
    static int join(const char* partial, bool places_frees) noexcept;
    // Returns whether nothing is recorded: there is no recording, perhaps since join() failed, or it sleeps.
    static bool is_at_rest() noexcept;
    // Leaves the recording that this process has, and gives its memory back. Returns false if that is awake. All other
    // threads are stopped, and none of them is inside this library.
    static bool leave() noexcept;
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

    // The state of one process during one stretch. A forked child gets another one.
    struct process;

    struct per_thread {
        stream* own;         // null before the first event and after the thread's end
        stream* busy;        // the one that a hook of this thread is using
        process* owner;      // of `own`
        std::uint32_t turn;  // the stretch in which `own` and `attached` are
        int process_number;  // of fork_mark: whose `own` and `attached` are; a thread may be a copy of its parent's
        bool attached;
        bool starting;
    };

    // The state of the process image, shared with forked children.
    struct image_state;

    // Reserves this thread's stream during a hook; a signal handler's events find it busy.
    class hold;
    // Keeps the memory of former stretches while a thread looks at `now_`.
    class visit;

    template <class Call>
    static void* record_allocation(unsigned flags, std::size_t bytes, std::size_t alignment,
                                   const preload::call_site& site, const Call& call,
                                   bool has_registers = false) noexcept;
    static void watch(const preload::call_site& site) noexcept;
    static std::uint32_t turn() noexcept { return __atomic_load_n(millpond_turn, __ATOMIC_ACQUIRE); }
    static bool is_asleep(std::uint32_t turn) noexcept { return (turn & std::uint32_t{mpt_asleep}) != 0; }
    static bool is_recording() noexcept;
    static bool start_process() noexcept;
    static bool follow_turn() noexcept;
    static bool begin_stretch(std::uint32_t turn) noexcept;
    static void dispose_of_former() noexcept;
    static void dispose(process& p) noexcept;
    static void begin_image() noexcept;
    static void prepare_image() noexcept;
    static bool is_left(std::uint32_t turn) noexcept;
    static void begin_child() noexcept;
    static bool begin_process(process& p, std::uint32_t turn) noexcept;
    static void attach() noexcept;
    static stream* exchange_stream(process& p, stream* fresh) noexcept;
    static void leave_stream() noexcept;
    static void detach(void* round) noexcept;
    static void start_probes() noexcept;
    static void wait_for_scan(process& p) noexcept;
    static void on_new_context(std::uint32_t id, std::uint32_t parent, std::uintptr_t return_address) noexcept;
    static void after_fork_in_child() noexcept;

    static image_state image_;
    static process first_;
    static process* now_;
    static_assert(mpt_asleep == 1);
    [[gnu::tls_model("initial-exec")]] static thread_local per_thread thread_;
};

}  // namespace millpond::record
