// SPDX-License-Identifier: BSL-1.0
// frame_walk: one step from a frame to its caller, by rule. Both the cached finder and the uncached check use it.
#pragma once

#include <cstdint>

#include "preload/frame_rule.hpp"
#include "preload/machine.hpp"

namespace millpond::preload {

// A frame as it will resume: its address, stack pointer and frame pointer. `bp_slot`: the place where its frame pointer
// was read, 0 if inner frames left it unchanged. `link`: known only of a frame that a signal interrupted.
struct frame_state {
    std::uintptr_t return_address;
    std::uintptr_t stack;
    std::uintptr_t frame;
    std::uintptr_t bp_slot;
    [[no_unique_address]] machine::link_register link = {};
};

// No sensible frame is larger; a walk that jumps farther has left its stack.
inline constexpr std::uintptr_t frame_bytes_max = std::uintptr_t{16} << 20;

// No code lies below: a smaller return address is the bottom of a thread's or coroutine's stack.
inline constexpr std::uintptr_t addresses_begin = 4096;

[[gnu::always_inline]] inline std::uintptr_t word_at(std::uintptr_t address) noexcept {
    return *reinterpret_cast<const std::uintptr_t*>(address);
}

// Steps `s` to its caller. Returns false if the rule gives no caller on the same stack; then `s` is unchanged.
[[gnu::always_inline]] inline bool step(frame_state& s, const frame_rule& rule) noexcept {
    std::uintptr_t cfa;
    const auto offset = static_cast<std::uintptr_t>(static_cast<std::intptr_t>(rule.cfa_offset));
    switch (rule.kind) {
        case frame_rule::from_sp:
            cfa = s.stack + offset;
            break;
        case frame_rule::from_bp:
            cfa = s.frame + offset;
            break;
        case frame_rule::through_bp:
            if (s.frame - s.stack > frame_bytes_max) return false;
            cfa = word_at(s.frame + offset);
            break;
        case frame_rule::through_sp:
            cfa = word_at(s.stack + offset);
            break;
        default:
            return false;
    }
    // Only a frame that a signal interrupted may have saved nothing: its return address is still in the link register.
    const bool is_saved = machine::is_saved(rule.returns);
    if (!is_saved && !s.link.is_known()) return false;
    if (cfa < s.stack + (is_saved ? 1 : 0) || cfa - s.stack > frame_bytes_max || cfa % 8 != 0) return false;
    std::uintptr_t bp = s.frame, slot = 0;
    if (rule.bp_rule != frame_rule::kept) {
        const auto base = rule.bp_rule == frame_rule::at_cfa ? cfa : s.frame;
        slot = base + static_cast<std::uintptr_t>(static_cast<std::intptr_t>(rule.bp_offset));
        bp = word_at(slot);
    }
    const std::uintptr_t outer =
        is_saved ? machine::strip(word_at(machine::return_slot(cfa, rule.returns))) : machine::linked(s.link);
    s = {outer, cfa, bp, slot};
    return true;
}

// Steps out of a signal handler to the interrupted frame. Its address is that of an instruction and not behind a call;
// it is raised by one to be like the others.
inline void step_signal(frame_state& s) noexcept {
    const machine::interrupted_frame before = machine::interrupted_frame::at(s.stack);
    s = {before.address + 1, before.stack, before.frame, 0, before.link};
}

}  // namespace millpond::preload
