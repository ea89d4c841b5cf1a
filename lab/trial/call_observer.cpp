// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/call_observer.hpp"

#include "lab/probes/probe_link.hpp"
#include "lab/trace/format.h"
#include "lab/trial/process_words.hpp"

namespace millpond::trial {

void call_observer::start(const routes_view& routes, pool* pools, thread_namer this_thread) noexcept {
    if (millpond_probes_start == nullptr || routes.empty() || routes.header().scope_count == 0) return;
    routes_ = routes;
    pools_ = pools;
    this_thread_ = this_thread;
    arena_pool::frame_continues = &frame_continues;
    static constexpr probes::recorder_calls calls{&begin, &note, &scope, &room, &began};
    // The probes return a function to call at each heap event. It only serves to notice ends of calls that no probe
    // sees, so it is not needed here.
    (void)millpond_probes_start(&calls);
}

void call_observer::frame_continues(std::uintptr_t stack) noexcept {
    if (pools_ != nullptr && millpond_probes_frame_continues != nullptr) millpond_probes_frame_continues(stack);
}

void call_observer::begin() noexcept { adopt_if_child(); }

// Never 0: scopes are named by their place in the routes, from 1.
std::uint32_t call_observer::scope(std::uintptr_t, unsigned number) noexcept { return number + 1; }

arena_pool* call_observer::arenas_of(std::uint64_t scope) noexcept {
    if (scope == 0 || scope > routes_.header().scope_count) return nullptr;
    return pools_[routes_.scopes()[scope - 1].pool].arenas_of_calls();
}

bool call_observer::note(unsigned subject, std::uint64_t value, bool) noexcept {
    const bool is_call = subject != mpt_note_scope;
    arena_pool* const arenas = arenas_of(is_call ? value : value >> 8);
    if (arenas == nullptr) return true;
    if (subject == mpt_note_left)
        arenas->end_call(this_thread_());
    else if ((value & 0xff) == mpt_scope_observed)
        arenas->observe_calls();
    else
        arenas->stop_observing_calls();
    return true;
}

void call_observer::began(std::uint32_t scope, std::uintptr_t place, bool trapped) noexcept {
    if (arena_pool* const arenas = arenas_of(scope)) arenas->begin_call(this_thread_(), place, trapped);
}

void* call_observer::room() noexcept {
    alignas(8) [[gnu::tls_model(
        "initial-exec")]] static thread_local std::uint8_t room_of_thread[probes::recorder_calls::room_bytes];
    return room_of_thread;
}

}  // namespace millpond::trial
