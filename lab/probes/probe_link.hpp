// SPDX-License-Identifier: BSL-1.0
// probe_link: what libmillpond-record.so and libmillpond-probes.so call of one another.
//
//   recorder ──start(recorder_calls)──▶ probes        at the start of a process image, and in a forked child
//            ◀──note, scope── probes                  an activation begins or ends, a function is observed
//            ──watch(call site)──▶ probes             before each heap event
//
// The recorder refers to the probes weakly: an ordinary recording does not load them. libmillpond-trial.so takes the
// recorder's place where a plan has an arena for each call of a function (lab/trial/call_observer.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/call_site.hpp"

namespace millpond::probes {

struct recorder_calls {
    static constexpr std::size_t room_bytes = 64;

    // Begins the recording of this process if it has not begun.
    void (*begin)() noexcept;
    // Writes a note into this thread's stream; false where that stream is busy or has ended. `anywhere`: into any
    // stream.
    bool (*note)(unsigned subject, std::uint64_t value, bool anywhere) noexcept;
    // The name that notes give to the function at `entry`, the `number`-th of those that are wanted; 0: none.
    std::uint32_t (*scope)(std::uintptr_t entry, unsigned number) noexcept;
    // Zeroed memory of this thread, room_bytes long. The probes have no thread-local variables of their own: those
    // would change what the C library allocates for a new thread.
    void* (*room)() noexcept;
    // Null: notes say when an activation begins, and every return is observed. Else it is told here, with the place of
    // the return address and whether a trap was needed, and the recorder notices itself when a frame further out goes
    // on: it then says so (millpond_probes_frame_continues), and notes say which activations have ended.
    void (*began)(std::uint32_t scope, std::uintptr_t place, bool trapped) noexcept = nullptr;
};

// Called before a heap event.
using event_watcher = void (*)(const preload::call_site& site) noexcept;

}  // namespace millpond::probes

extern "C" {
// Places the probes. Null: there is nothing to observe.
[[gnu::weak, gnu::visibility("default")]] millpond::probes::event_watcher millpond_probes_start(
    const millpond::probes::recorder_calls* calls) noexcept;
// The frame whose stack pointer this is goes on: what lies below it on this thread's stack has ended. UINTPTR_MAX: the
// thread ends.
[[gnu::weak, gnu::visibility("default")]] void millpond_probes_frame_continues(std::uintptr_t stack) noexcept;
// The program is about to forbid itself system calls: ends all observation.
[[gnu::weak, gnu::visibility("default")]] void millpond_probes_stop() noexcept;
}
