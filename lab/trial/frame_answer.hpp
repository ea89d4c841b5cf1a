// SPDX-License-Identifier: BSL-1.0
// frame_answer: one frame's answer to who owns an allocation, and the rule that combines the answers of a stack.
//
//   innermost ── standard ── allocates ── OWNER ── owner ── standard ── outermost
//                └──────── walk_to_owner stops here ┘      frames further out do not count
//
// The innermost owner decides. Without one, the outermost function that only allocates decides; without that, the
// innermost frame's module. So a look-up needs the frames up to the owner: usually one to three, however deep the
// stack. after() builds the same answer from the outermost frame inward, where whole contexts are known. walk_to_owner:
// 5-10 ns a frame; lock-free as far as `answer_of` is; keeps nothing.
#pragma once

#include <cstdint>

#include "preload/call_site.hpp"
#include "preload/frame_walk.hpp"
#include "preload/rule_cache.hpp"

namespace millpond::trial {

struct frame_answer {
    // The kind of frame that decides on the pool, from weak to strong.
    enum class footing : std::uint8_t { nothing, module, allocation, owner };
    std::uint8_t pool = 0;
    footing rests_on = footing::nothing;

    // Returns the answer of a stack that ends in a frame with this answer, called from `caller`.
    [[nodiscard]] frame_answer after(frame_answer caller) const noexcept {
        if (rests_on == footing::owner) return *this;
        if (rests_on == footing::nothing || caller.rests_on >= footing::allocation) return caller;
        return *this;
    }
};

// Returns the answer for a whole stack; `outside` for a stack without frames. answer_of(return address, rule, lasts) is
// one frame's answer; `generated` stands for code without a file. `lasts`: the rule stays valid for that address. It
// does not if a signal interrupted the frame, or for code without a file.
template <class AnswerOf>
frame_answer walk_to_owner(const preload::call_site& site, preload::rule_cache& rules, frame_answer outside,
                           std::uintptr_t generated, const AnswerOf& answer_of) noexcept {
    using preload::frame_rule;
    constexpr unsigned depth_max = 512;
    preload::frame_state s{site.return_address, site.stack, site.frame, 0};
    frame_answer result = outside;
    bool exact = false;
    for (unsigned depth = 0; depth < depth_max && s.return_address >= preload::addresses_begin; ++depth) {
        const frame_rule rule = exact ? frame_rule::compute(s.return_address - 1, true) : rules.find(s.return_address);
        // Addresses without a file are never asked for, because other code may be loaded there later.
        const bool has_file = rule.kind != frame_rule::no_module;
        const frame_answer own = answer_of(has_file ? s.return_address : generated, rule, has_file && !exact);
        if (own.rests_on == frame_answer::footing::owner) return own;
        // This frame is further out than all so far. A function that only allocates replaces them; a module replaces
        // only an empty answer.
        const bool is_first = result.rests_on == frame_answer::footing::nothing;
        if (own.rests_on == frame_answer::footing::allocation ||
            (is_first && own.rests_on == frame_answer::footing::module))
            result = own;
        exact = rule.kind == frame_rule::signal;
        if (exact)
            preload::step_signal(s);
        else if (!preload::step(s, rule))
            break;
    }
    return result;
}

}  // namespace millpond::trial
