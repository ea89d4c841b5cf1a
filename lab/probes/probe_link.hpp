// SPDX-License-Identifier: BSL-1.0
// probe_link: the interface between libmillpond-record.so and libmillpond-probes.so.
//
//   recorder ──start(recorder_calls)──▶ probes        at the start of a process image, and in a forked child
//            ◀──note, scope── probes                  an activation begins or ends, a function is observed
//            ──watch(call site)──▶ probes             before each heap event
//
// The recorder refers to the probes weakly: an ordinary recording does not load them. libmillpond-trial.so takes the
// recorder's place if a plan has an arena for each call of a function (lab/trial/call_observer.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/call_site.hpp"

namespace millpond::probes {

struct recorder_calls {
    static constexpr std::size_t room_bytes = 64;

    // Starts the recording of this process if it has not started.
    void (*begin)() noexcept;
    // Writes a note into this thread's stream; false if that stream is busy or has ended. `anywhere`: into any stream.
    bool (*note)(unsigned subject, std::uint64_t value, bool anywhere) noexcept;
    // Returns the name that notes give to the function at `entry`, the `number`-th of the wanted ones; 0: none.
    std::uint32_t (*scope)(std::uintptr_t entry, unsigned number) noexcept;
    // Returns zeroed memory of this thread, room_bytes long. The probes have no thread-local variables, because those
    // would change what the C library allocates for a new thread.
    void* (*room)() noexcept;
    // Null: notes report when an activation begins, and every return is observed. Otherwise this is called, with the
    // place of the return address and whether a trap was needed. Then the recorder itself notices when a frame further
    // out continues and calls millpond_probes_frame_continues; notes report which activations have ended.
    void (*began)(std::uint32_t scope, std::uintptr_t place, bool trapped) noexcept = nullptr;
};

// Called before a heap event.
using event_watcher = void (*)(const preload::call_site& site) noexcept;

}  // namespace millpond::probes

extern "C" {
// Places the probes. Returns null if there is nothing to observe.
[[gnu::weak, gnu::visibility("default")]] millpond::probes::event_watcher millpond_probes_start(
    const millpond::probes::recorder_calls* calls) noexcept;
// The frame with this stack pointer continues, so frames below it on this thread's stack have ended. UINTPTR_MAX: the
// thread ends.
[[gnu::weak, gnu::visibility("default")]] void millpond_probes_frame_continues(std::uintptr_t stack) noexcept;
// The program is about to forbid itself system calls, so all observation ends.
[[gnu::weak, gnu::visibility("default")]] void millpond_probes_stop() noexcept;
}
