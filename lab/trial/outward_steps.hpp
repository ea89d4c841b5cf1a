// SPDX-License-Identifier: BSL-1.0
// outward_steps: finds the owner of a call site, some frames further out, from what earlier walks learned.
//
//   operator new ◀ std::vector::_M_realloc_insert ◀ std::vector::push_back ◀ orders::book::add
//                  not an owner: its caller lies 48    not an owner: 32       an owner: its pool
//                  bytes further out                   bytes further out
//
// The kind of a frame, and the place of its caller's return address, depend only on its own return address. So each is
// learned once, and a look-up needs two words a frame. Only usual frames are kept: a fixed distance from the stack
// pointer or rbp, with rbp unchanged or saved among the first registers. All others are left to walk_to_owner, which
// fills this table; on aarch64, where frames keep return addresses in many places, all are. find: some 25 instructions
// a frame. Threads and signal handlers: as address_cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/trial/address_cache.hpp"
#include "preload/call_site.hpp"
#include "preload/frame_walk.hpp"

namespace millpond::trial {

class outward_steps {
  public:
    using owner_cache = address_cache<8>;

    // Returns the owner's number in `owners`, or owner_cache::no_match. Does not look up the site's own address.
    [[nodiscard, gnu::always_inline]] std::uint64_t find(const preload::call_site& site,
                                                         const owner_cache& owners) const noexcept {
        std::uintptr_t address = site.return_address, stack = site.stack, frame = site.frame;
        for (unsigned depth = 0; depth < depth_max; ++depth) {
            const std::uint64_t step = frames_.match(address);
            if (step >= frames_.no_match) break;
            const std::uintptr_t outer = ((step & by_frame) != 0 ? frame : stack) + step / (2 * slots) * word_bytes;
            if (outer - stack - 1 >= preload::frame_bytes_max) break;  // rbp was not a frame of this stack
            address = preload::word_at(outer - word_bytes);
            if (const std::uint64_t slot = step / 2 % slots; slot != 0)
                frame = preload::word_at(outer - (slot + 1) * word_bytes);
            stack = outer;
            if (address < preload::addresses_begin) break;
            const std::uint64_t found = owners.match(address);
            if (found < owners.no_match) return found;
        }
        return owner_cache::no_match;
    }
    // Learns a frame that is not an owner. Ignores unusual frames.
    void learn(std::uintptr_t return_address, const preload::frame_rule& rule) noexcept {
        using preload::frame_rule;
        const int slot = rule.bp_rule == frame_rule::at_cfa ? -rule.bp_offset / int{word_bytes} - 1 : 0;
        const bool is_usual = preload::machine::returns_at_cfa &&
                              (rule.kind == frame_rule::from_sp || rule.kind == frame_rule::from_bp) &&
                              (rule.bp_rule == frame_rule::kept || (slot > 0 && slot < int{slots})) &&
                              rule.cfa_offset > 0 && rule.cfa_offset % int{word_bytes} == 0;
        if (!is_usual) return;
        frames_.keep(return_address, static_cast<std::uint64_t>(rule.cfa_offset) / word_bytes * 2 * slots |
                                         static_cast<std::uint64_t>(slot) * 2 |
                                         (rule.kind == frame_rule::from_bp ? by_frame : 0u));
    }
    void clear() noexcept { frames_.clear(); }

  private:
    static constexpr unsigned depth_max = 16;
    static constexpr std::uintptr_t word_bytes = 8;
    // A frame's number encodes two things. The words to its caller's stack pointer, from its own or from rbp
    // (by_frame); and which word below the return address holds the caller's rbp (0: rbp is unchanged).
    static constexpr std::uint64_t by_frame = 1, slots = 8;

    address_cache<17> frames_;
};

}  // namespace millpond::trial
