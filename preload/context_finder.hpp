// SPDX-License-Identifier: BSL-1.0
// context_finder: finds the call stack at an allocation as a node of the context_tree, in some nanoseconds. Each thread
// has one.
//
//   (return address, stack pointer) ──▶ entry │ node │ slot₁ word₁ │ slot₂ word₂ │ …     compared with the stack,
//                                                                    │                   inner to outer
//                                                                    └ differs ─▶ (entry, 2, word seen)
//                                                                              ──▶ an entry that agrees so far
//   no entry ──▶ walk by cached rules until a frame of the last walk is met, verify the rest of that
//            ──▶ node, new entry
//
// Two stacks can agree at their inner end, so an entry is only a proposal. It is taken if every word of the stack on
// which its walk depended (return addresses, saved frame pointers that led to a frame) is unchanged, for up to 40
// words; a stack that agrees in those has the same frames. If a word differs, its new value leads to the next entry,
// so a key with thousands of stacks costs no more than its depth. A miss walks only the frames that changed. Stacks
// crossed by a signal frame are walked each time and never remembered.
//
// If entries seldom agree (recursion: nearly every stack is new), they are given up for a while. Then nothing is looked
// up in the tree, whose nodes lie all over memory: find_or_step() returns `stepped`, and the finder knows which frames
// have returned and were entered since it last reported them.
//
//   last walk   main │ parse │ sum │ term │ sum        2 returned
//   this walk   main │ parse │ sum │ call │ term       2 entered: call, term
//
// A frame of the last walk is joined if every word behind it is unchanged.
//
// find: 10-30 ns on a hit, else some 5 ns for each new frame and 0.5 ns for each word compared. Not thread-safe, not
// reentrant (the caller guards against signal handlers). Memory: at most 16 MB a thread, usually some KB. Never calls
// malloc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/call_site.hpp"
#include "preload/context_tree.hpp"
#include "preload/frame_walk.hpp"
#include "preload/page_stock.hpp"
#include "preload/rule_cache.hpp"

namespace millpond::preload {

// The state that all finders of a process share.
struct context_space {
    context_tree tree;
    rule_cache rules;
    page_stock pages;              // for the finders, and for other data of each thread
    std::uint32_t generation = 0;  // raised when a module is unloaded: finders start over

    // Call it after code at (first, last] was unloaded, or if another module may lie there.
    void forget(std::uintptr_t first, std::uintptr_t last) noexcept {
        rules.forget(first, last);
        tree.forget(first, last);
        __atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
    }
    // Gives all memory back. No finder may be left, and no other thread inside.
    void clear() noexcept {
        tree.clear();
        rules.clear();
        pages.clear();
    }
};

class context_finder {
  public:
    static constexpr unsigned depth_max = 512;

    explicit context_finder(context_space& space) noexcept : space_(space), generation_(space.generation) {}
    context_finder(const context_finder&) = delete;
    context_finder& operator=(const context_finder&) = delete;
    ~context_finder() { drop_everything(); }

    // Returns the node of the caller's stack; 0 only if memory is exhausted.
    [[nodiscard, gnu::always_inline]] std::uint32_t find(const call_site& site) noexcept {
        next_key_ = first_key(site);
        if (__atomic_load_n(&space_.generation, __ATOMIC_RELAXED) == generation_ && index_ != nullptr) [[likely]] {
            unsigned agreed = 0;
            while (entry* const e = look_up(next_key_)) {
                if (e->agrees(site, agreed)) [[likely]] {
                    ++hits_;
                    return e->node;
                }
                next_key_ = e->key_of_other(site, agreed);
            }
        }
        return find_by_walk(site);
    }

    // Does the same as find(), but returns `stepped` if the stack has no node yet.
    static constexpr std::uint32_t stepped = UINT32_MAX;
    [[nodiscard, gnu::always_inline]] std::uint32_t find_or_step(const call_site& site) noexcept {
        if (walks_left_ > 0) [[unlikely]]
            return step_by_walk(site);
        return find(site);
    }

    // The way to the stack of the last find_or_step() that returned `stepped`, from the stack reported before: the
    // number of frames that returned, and the frames entered since, outermost first. They count as reported after
    // told().
    [[nodiscard]] unsigned returned() const noexcept { return told_depth_ - told_; }
    [[nodiscard]] unsigned untold() const noexcept { return last_count_ - told_; }
    // Returns the node without a caller of an unreported frame.
    [[nodiscard, gnu::always_inline]] std::uint32_t untold_frame(unsigned i) noexcept {
        walked_frame& f = last_[told_ + i];
        if (f.number == 0) [[unlikely]]  // the frame of a walk that looked for its node
            f.number = number_of(f.address());
        return f.number;
    }
    void told(unsigned frames) noexcept { told_depth_ = told_ += frames; }
    // Makes the reported stack empty again.
    void forget_told() noexcept { told_ = told_depth_ = 0; }
    // Writes the frames of the last walk, innermost first; returns their number. For checks after `stepped`.
    unsigned last_walk(std::uintptr_t* return_addresses, unsigned max) const noexcept;

    // Walks the stack without any cache, innermost frame first, for checks; returns its depth. Lock-free, allocates
    // nothing.
    static unsigned walk_uncached(const call_site& site, std::uintptr_t* return_addresses, unsigned max) noexcept;

  private:
    static constexpr unsigned words_max = 40;

    // A remembered stack. `slots` are in words from the stack pointer; words keep the low half, which is where
    // addresses differ.
    struct entry {
        std::uintptr_t frame;
        std::uint32_t node;
        std::uint16_t count;
        std::uint16_t needs_frame;
        std::uint32_t words[words_max];  // `count` of them are stored, then `count` slots of 16 bits

        static constexpr std::size_t bytes(unsigned count) noexcept {
            return (offsetof(entry, words) + count * (sizeof(std::uint32_t) + sizeof(std::uint16_t)) + 15) &
                   ~std::size_t{15};
        }
        std::uint16_t* slots() noexcept { return reinterpret_cast<std::uint16_t*>(words + count); }

        // Returns whether the stack agrees from word `agreed` on, which moves to the first that does not.
        [[gnu::always_inline]] bool agrees(const call_site& site, unsigned& agreed) noexcept {
            if (needs_frame != 0 && frame != site.frame) {
                agreed = words_max;
                return false;
            }
            const std::uint16_t* const slot = slots();
            for (; agreed < count; ++agreed)
                if (seen(site, slot[agreed]) != words[agreed]) return false;
            return true;
        }
        // Returns the key of the entry for a stack that differs from this one's at word `agreed`; that word is compared
        // again.
        [[gnu::always_inline]] std::uint64_t key_of_other(const call_site& site, unsigned& agreed) noexcept {
            std::uint64_t word;
            const unsigned at = agreed;
            if (at == words_max) {
                word = site.frame;
                agreed = 0;
            } else {
                word = seen(site, slots()[at]);
            }
            return mix(reinterpret_cast<std::uint64_t>(this) + at, word);
        }
        static std::uint32_t seen(const call_site& site, std::uint16_t slot) noexcept {
            return *reinterpret_cast<const std::uint32_t*>(site.stack + std::uintptr_t{slot} * 8);
        }
    };

    // The place of an entry by 64 bits of its key: two that collide are one in 10⁹ tables of 10⁵.
    struct place {
        std::uint64_t key;  // 0: free
        entry* what;
    };

    // A frame of the current walk.
    struct fresh_frame {
        frame_state state;
        const rule_cache::numbered_rule* what;
        rule_cache::numbered_rule not_kept;  // if `what` is not in the cache

        // Returns the place where a function that realigned its stack keeps the address of its caller's frame; 0 for
        // all others.
        [[nodiscard]] std::uintptr_t cfa_slot() const noexcept {
            const frame_rule& rule = what->rule;
            if (rule.kind != frame_rule::through_bp && rule.kind != frame_rule::through_sp) [[likely]]
                return 0;
            const auto offset = static_cast<std::uintptr_t>(static_cast<std::intptr_t>(rule.cfa_offset));
            return (rule.kind == frame_rule::through_bp ? state.frame : state.stack) + offset;
        }
        [[nodiscard]] bool uses_bp() const noexcept {
            const frame_rule& rule = what->rule;
            return rule.kind == frame_rule::from_bp || rule.kind == frame_rule::through_bp ||
                   rule.bp_rule == frame_rule::at_bp;
        }
    };

    // A frame of the last walk, which may be joined again; outermost first, so that a new walk replaces the top.
    // Entries that are no frame (in front of the first; where the walk was cut) lie on `nowhere`.
    struct walked_frame {
        std::uintptr_t return_address, stack, frame;
        std::uintptr_t bp_slot;  // where `frame` was read; 0: unchanged by inner frames
        std::uint32_t checks;    // the number of checks on which this frame and those further out depend
        std::uint32_t number;    // its node without a caller; 0: not looked up yet
        std::uint32_t node;      // its context, in the first noded_ frames
        bool needs_bp;           // true if this frame's bp leads to its caller, or to a frame further out
        bool is_generated;       // code that belongs to no file

        [[nodiscard]] std::uintptr_t address() const noexcept {
            return is_generated ? std::uintptr_t{context_tree::generated} : return_address;
        }
    };
    static constexpr std::uintptr_t nowhere = UINTPTR_MAX;

    // A word of the stack that led the last walk from one frame to the next. The checks lie apart from the frames,
    // because every walk that joins compares many of them.
    struct check {
        std::uintptr_t address, word;

        [[nodiscard]] std::uintptr_t difference() const noexcept { return word_at(address) ^ word; }
    };
    static constexpr unsigned last_max = 1024;
    static constexpr unsigned checks_each = 3;  // most words that lead from one frame to the next
    struct walks {
        walked_frame in_front;  // before the frames of the last walk; lies on `nowhere`
        walked_frame last[last_max];
        check checks[checks_each * last_max];  // of the last walk
        fresh_frame fresh[depth_max];          // of the current walk, innermost first
    };

    static std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
        const std::uint64_t h = (a ^ (b * 0xC2B2AE3D27D4EB4Fu)) * 0x9E3779B97F4A7C15u;
        return (h ^ (h >> 29)) | 1;
    }
    static std::uint64_t first_key(const call_site& s) noexcept { return mix(s.return_address, s.stack); }
    [[gnu::always_inline]] entry* look_up(std::uint64_t key) const noexcept {
        for (std::size_t i = key >> 8;; ++i) {
            const place& p = index_[i & index_mask_];
            if (p.key == key) [[likely]]
                return p.what;
            if (p.key == 0) return nullptr;
        }
    }

    [[gnu::noinline]] std::uint32_t find_by_walk(const call_site& site) noexcept;
    [[gnu::noinline]] std::uint32_t step_by_walk(const call_site& site) noexcept;
    bool is_ready() noexcept;
    template <bool Numbered>
    bool walk(const call_site& site) noexcept;
    bool still_stands(const walked_frame& met, walked_frame*& barrier) noexcept;
    std::uint32_t first_difference(std::uint32_t past) const noexcept;
    void take_fresh(unsigned joined, unsigned depth) noexcept;
    std::uint32_t node_of_last() noexcept;
    std::uint32_t number_of(std::uintptr_t address) noexcept { return space_.tree.child(0, address); }
    [[gnu::noinline, gnu::cold]] void number_frame(rule_cache::numbered_rule& found,
                                                   std::uintptr_t return_address) noexcept;
    bool may_remember() noexcept;
    [[gnu::noinline, gnu::cold]] std::uint32_t find_across_signal(const call_site& site) noexcept;
    void remember(const call_site& site, std::uint32_t node) noexcept;
    bool start() noexcept;
    bool grow_index() noexcept;
    void add(std::uint64_t key, entry* e) noexcept;
    void* take(std::size_t bytes) noexcept;
    void drop_entries() noexcept;
    void drop_everything() noexcept;

    context_space& space_;
    std::uint32_t generation_;
    std::uint32_t entries_ = 0;
    place* index_ = nullptr;
    std::size_t index_mask_ = 0;
    std::uint64_t next_key_ = 0;  // the place of the entry that the last find missed

    struct chunk {
        chunk* next;
        std::size_t bytes;
    };
    chunk* chunks_ = nullptr;
    std::byte* free_first_ = nullptr;
    std::byte* free_last_ = nullptr;
    std::size_t held_bytes_ = 0;

    std::uint32_t hits_ = 0, misses_ = 0;  // recent hits and misses of the entries
    std::uint32_t walks_left_ = 0;         // walks until entries are tried again
    std::uint32_t next_pause_ = first_pause;

    static constexpr std::uint32_t first_pause = 1u << 16, pause_max = 1u << 22;  // walks without entries

    walks* walks_ = nullptr;
    walked_frame* last_ = nullptr;  // the last walk, in walks_
    unsigned last_count_ = 0;
    unsigned noded_ = 0;                  // the number of these, outermost first, that have their node
    unsigned told_ = 0, told_depth_ = 0;  // reported frames: of the last walk, and in total
};

}  // namespace millpond::preload
