// SPDX-License-Identifier: BSL-1.0
// frame_answer: a frame's say in who owns an allocation, and how the answers of a stack become one.
//
//   innermost ── standard ── allocates ── OWNER ── owner ── standard ── outermost
//                └──────── walk_to_owner stops here ┘      what lies further out has no say
//
// The innermost owner decides. Without one, the outermost function that only allocates; without one of those, the
// innermost frame's module. So a look-up needs the frames up to the owner: usually one to three, however deep the
// stack. after() builds the same answer from the outside, a frame at a time, where whole contexts are known.
// walk_to_owner: 5-10 ns a frame; lock-free as far as `answer_of` is; keeps nothing.
#pragma once

#include <cstdint>

#include "preload/call_site.hpp"
#include "preload/frame_walk.hpp"
#include "preload/rule_cache.hpp"

namespace millpond::trial {

struct frame_answer {
    // What the pool rests on, from weak to strong.
    enum class footing : std::uint8_t { nothing, module, allocation, owner };
    std::uint8_t pool = 0;
    footing rests_on = footing::nothing;

    // The answer of a stack that ends in a frame with this answer, below `caller`.
    [[nodiscard]] frame_answer after(frame_answer caller) const noexcept {
        if (rests_on == footing::owner) return *this;
        if (rests_on == footing::nothing || caller.rests_on >= footing::allocation) return caller;
        return *this;
    }
};

// The answer for a whole stack; `outside` for one without any. answer_of(return address, rule, lasts) is a frame's own
// answer; `generated` stands for the address of code without a file. The rule lasts for that address, unless a signal
// interrupted the frame, or code without a file is meant.
template <class AnswerOf>
frame_answer walk_to_owner(const preload::call_site& site, preload::rule_cache& rules, frame_answer outside,
                           std::uintptr_t generated, const AnswerOf& answer_of) noexcept {
    using preload::frame_rule;
    constexpr unsigned depth_max = 512;
    preload::frame_state s{site.return_address, site.stack, site.frame, 0};
    frame_answer result = outside;
    bool exact = false;
    for (unsigned depth = 0; depth < depth_max && s.return_address >= 4096; ++depth) {
        const frame_rule rule = exact ? frame_rule::compute(s.return_address - 1, true) : rules.find(s.return_address);
        // Addresses without a file are never asked for: anything may come to lie there.
        const bool has_file = rule.kind != frame_rule::no_module;
        const frame_answer own = answer_of(has_file ? s.return_address : generated, rule, has_file && !exact);
        if (own.rests_on == frame_answer::footing::owner) return own;
        // Further out than all so far: a function that only allocates replaces them, a module only what is no answer.
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
