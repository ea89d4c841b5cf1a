// SPDX-License-Identifier: BSL-1.0
// context_finder: the call stack at an allocation, as a node of the context_tree, in some nanoseconds. One for each
// thread.
//
//   key (return address, stack pointer) ──▶ entry │ node │ slot₁ word₁ │ slot₂ word₂ │ …   ◀── compared with the stack,
//   inner to outer
//         no entry agrees ──▶ walk by cached rules until a frame of the last walk is met, verify the rest of that ──▶
//         node, new entry
//
// Two stacks can look alike at their inner end, so an entry only proposes: it is taken when every word of the stack
// that its walk depended on (return addresses, saved rbp that led to a frame) still holds, for up to 40 words; a stack
// that agrees in those has the same frames. A miss walks only the frames that changed. Stacks crossed by a signal frame
// are walked each time and never remembered. find: 10-30 ns on a hit. Not thread-safe, not reentrant (the caller guards
// against signal handlers). Memory: at most 128 MB a thread (programs with 10⁵ contexts), usually some KB. Never
// allocates from malloc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/call_site.hpp"
#include "preload/context_tree.hpp"
#include "preload/frame_walk.hpp"
#include "preload/rule_cache.hpp"

namespace millpond::preload {

// What all finders of a process share.
struct context_space {
    context_tree tree;
    rule_cache rules;
    std::uint32_t generation = 0;  // raised when a module was unloaded: finders start over

    // After code at (first, last] was unloaded, or another module may lie there.
    void forget(std::uintptr_t first, std::uintptr_t last) noexcept {
        rules.forget(first, last);
        tree.forget(first, last);
        __atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
    }
};

class context_finder {
  public:
    static constexpr unsigned depth_max = 512;

    explicit context_finder(context_space& space) noexcept : space_(space), generation_(space.generation) {}
    context_finder(const context_finder&) = delete;
    context_finder& operator=(const context_finder&) = delete;
    ~context_finder() { drop_everything(); }

    // The node of the caller's stack; 0 only when memory is exhausted.
    [[nodiscard, gnu::always_inline]] std::uint32_t find(const call_site& site) noexcept {
        if (__atomic_load_n(&space_.generation, __ATOMIC_RELAXED) == generation_ && heads_ != nullptr) [[likely]] {
            entry** link = &heads_[hash(site) & head_mask_];
            entry** const head = link;
            for (unsigned probes = 0; entry* e = *link; link = &e->next) {
                if (e->holds(site)) [[likely]] {
                    if (link != head) {  // move to front
                        *link = e->next;
                        e->next = *head;
                        *head = e;
                    }
                    return e->node;
                }
                if (++probes == probes_max) break;
            }
        }
        return find_by_walk(site);
    }

    // The stack by a walk without any cache, innermost first, for checking; returns its depth. Lock-free, allocates
    // nothing.
    static unsigned walk_uncached(const call_site& site, std::uintptr_t* return_addresses, unsigned max) noexcept;

  private:
    static constexpr unsigned probes_max = 8;
    static constexpr unsigned words_max = 40;

    // A remembered stack. `slots` are in words from the stack pointer; words keep the low half, which is where
    // addresses differ.
    struct entry {
        entry* next;
        std::uintptr_t return_address, stack, frame;
        std::uint32_t node;
        std::uint16_t count;
        std::uint16_t needs_frame;
        std::uint32_t words[words_max];  // of which `count` are stored, then `count` slots of 16 bits

        static constexpr std::size_t bytes(unsigned count) noexcept {
            return (offsetof(entry, words) + count * (sizeof(std::uint32_t) + sizeof(std::uint16_t)) + 15) &
                   ~std::size_t{15};
        }
        std::uint16_t* slots() noexcept { return reinterpret_cast<std::uint16_t*>(words + count); }

        [[gnu::always_inline]] bool holds(const call_site& site) noexcept {
            if (return_address != site.return_address || stack != site.stack) return false;
            if (needs_frame != 0 && frame != site.frame) return false;
            const std::uint16_t* const slot = slots();
            for (unsigned i = 0; i < count; ++i)
                if (*reinterpret_cast<const std::uint32_t*>(site.stack + std::uintptr_t{slot[i]} * 8) != words[i])
                    return false;
            return true;
        }
    };

    // A frame of the last walk that may be joined again; outermost first, so that a new walk replaces the top.
    struct walked {
        frame_state state;
        std::uint32_t node;
        bool needs_bp;  // whether this frame's rbp leads to its caller, or to a frame further out
        frame_rule rule;

        // Where a function that realigned its stack keeps the address of its caller's frame; 0 for all others.
        [[nodiscard]] std::uintptr_t cfa_slot() const noexcept {
            const auto offset = static_cast<std::uintptr_t>(static_cast<std::intptr_t>(rule.cfa_offset));
            if (rule.kind == frame_rule::through_bp) return state.frame + offset;
            return rule.kind == frame_rule::through_sp ? state.stack + offset : 0;
        }
        // Whether the words that led from this frame to `outer` still say so.
        [[nodiscard]] bool still_leads_to(const walked& outer) const noexcept {
            const std::uintptr_t slot = cfa_slot();
            if (slot != 0 && word_at(slot) != outer.state.stack) return false;
            if (word_at(outer.state.stack - 8) != outer.state.return_address) return false;
            return !outer.needs_bp || outer.state.bp_slot == 0 || word_at(outer.state.bp_slot) == outer.state.frame;
        }
    };

    static std::size_t hash(const call_site& s) noexcept {
        const std::uint64_t h = (s.return_address ^ (s.stack * 0xC2B2AE3D27D4EB4Fu)) * 0x9E3779B97F4A7C15u;
        return h >> 40;
    }

    [[gnu::noinline]] std::uint32_t find_by_walk(const call_site& site) noexcept;
    unsigned join(const frame_state& s, unsigned& candidate, unsigned& barrier) const noexcept;
    [[gnu::noinline, gnu::cold]] std::uint32_t find_across_signal(const call_site& site) noexcept;
    void remember(const call_site& site, std::uint32_t node) noexcept;
    bool start() noexcept;
    bool grow_heads() noexcept;
    void* take(std::size_t bytes) noexcept;
    void drop_entries() noexcept;
    void drop_everything() noexcept;

    context_space& space_;
    std::uint32_t generation_;
    std::uint32_t entries_ = 0;
    entry** heads_ = nullptr;
    std::size_t head_mask_ = 0;

    struct chunk {
        chunk* next;
        std::size_t bytes;
    };
    chunk* chunks_ = nullptr;
    std::byte* free_first_ = nullptr;
    std::byte* free_last_ = nullptr;
    std::size_t held_bytes_ = 0;

    walked* last_ = nullptr;   // the last walk, outermost first
    walked* fresh_ = nullptr;  // frames of the current walk, innermost first
    unsigned last_count_ = 0;
};

}  // namespace millpond::preload
