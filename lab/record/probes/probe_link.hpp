// SPDX-License-Identifier: BSL-1.0
// probe_link: what libmillpond-record.so and libmillpond-probes.so call of one another.
//
//   recorder ──start(recorder_calls)──▶ probes        at the start of a process image, and in a forked child
//            ◀──note, scope── probes                  an activation begins or ends, a function is observed
//            ──watch(call site)──▶ probes             before each heap event
//
// The recorder refers to the probes weakly: an ordinary recording does not load them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/call_site.hpp"

namespace millpond::record {

struct recorder_calls {
    static constexpr std::size_t room_bytes = 64;

    // Begins the recording of this process if it has not begun.
    void (*begin)() noexcept;
    // Writes a note into this thread's stream; false where that stream is busy or has ended. `anywhere`: into any
    // stream.
    bool (*note)(unsigned subject, std::uint64_t value, bool anywhere) noexcept;
    // The number of a node of contexts that stands for the function at `entry`; 0: none.
    std::uint32_t (*scope)(std::uintptr_t entry) noexcept;
    // Zeroed memory of this thread, room_bytes long. The probes have no thread-local variables of their own: those
    // would change what the C library allocates for a new thread.
    void* (*room)() noexcept;
};

// Called before a heap event.
using event_watcher = void (*)(const preload::call_site& site) noexcept;

}  // namespace millpond::record

extern "C" {
// Places the probes. Null: there is nothing to observe.
[[gnu::weak, gnu::visibility("default")]] millpond::record::event_watcher millpond_probes_start(
    const millpond::record::recorder_calls* calls) noexcept;
// The program is about to forbid itself system calls: ends all observation.
[[gnu::weak, gnu::visibility("default")]] void millpond_probes_stop() noexcept;
}
