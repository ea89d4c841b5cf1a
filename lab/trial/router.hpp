// SPDX-License-Identifier: BSL-1.0
// router: the malloc behind LD_PRELOAD that tries a plan on an unmodified program.
//
//   malloc ─▶ small and routed? ──no──▶ the program's allocator
//                  │yes: context ─▶ subsystem ─▶ pool (or the one pool of a control)
//   free ──▶ slab map: a pool's block? ──no──▶ the program's allocator
//                  │yes: its pool, by the owner and block size of its slab
//
// The library decides once, when it is loaded, what to try (control.hpp). Without instructions, or in another program
// than the plan's, `small_max` stays 0 and every call takes one predictable branch to the program's allocator. realloc
// stays in the block's pool. All members are static: this is the backend of preload/interpose_exports.hpp. Thread-safe.
//
// Forks. A fork takes and holds no lock, and the child needs no preparation. At its first event process_words tell it
// that it is a copy, and adopt() gives it its own state. A call that a signal handler interrupted, and that the child
// then finishes, finds its state unchanged.
#pragma once

#include <errno.h>
#include <string.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "lab/trial/context_router.hpp"
#include "lab/trial/control.hpp"
#include "lab/trial/outward_steps.hpp"
#include "lab/trial/pool.hpp"
#include "lab/trial/process_words.hpp"
#include "preload/call_site.hpp"
#include "preload/context_finder.hpp"
#include "preload/next_new.hpp"
#include "preload/pool_slabs.hpp"
#include "preload/real.hpp"

namespace millpond::trial {

// The router's state for each thread: its finder of contexts and its line of counters.
//
// Lies in static thread-local storage. It starts at the first allocation that needs it and ends in a destructor of
// thread-specific data. A thread that allocates after that starts again, and so does the thread of a child, with a line
// of the child's. The address of the state names the thread. If the state starts too late for a destructor, it is left
// for the next thread with that address, that is, on the same stack.
struct thread_state {
    static constexpr std::uint32_t never = ~std::uint32_t{0};

    thread_counters* counters = nullptr;
    std::uint32_t generation = never;  // of the process that owns the counters, as in process_words
    bool has_finder = false;
    bool finding = false;  // a signal handler that allocates meanwhile must not enter the finder
    alignas(preload::context_finder) std::byte finder_storage[sizeof(preload::context_finder)] = {};

    preload::context_finder& finder() noexcept {
        return *std::launder(reinterpret_cast<preload::context_finder*>(finder_storage));
    }
    [[nodiscard]] std::uintptr_t id() const noexcept { return reinterpret_cast<std::uintptr_t>(this); }
};

class router {
  public:
    using call_site = preload::call_site;
    using real = preload::real;
    using owner_cache = outward_steps::owner_cache;

    static void* allocate(std::size_t bytes, const call_site& site) noexcept {
        const auto [return_address, stack, frame] = site;
        if (bytes - 1 < own_words.small_max) return allocate_small<false>(bytes, return_address, stack, frame);
        if (passes_everything_to_libc_) [[likely]]
            return __libc_malloc(bytes);
        return allocate_otherwise(bytes, return_address, stack, frame);
    }
    // For operator new. Throws what the program's own operator throws.
    static void* allocate_for_new(std::size_t bytes, const call_site& site) {
        const auto [return_address, stack, frame] = site;
        if (bytes - 1 < own_words.small_max) [[likely]]
            return allocate_small<true>(bytes, return_address, stack, frame);
        return new_otherwise(bytes, return_address, stack, frame);
    }

    static void* allocate_zeroed(std::size_t bytes, const call_site& site) noexcept {
        if (bytes - 1 >= own_words.small_max && !is_small_in_child(bytes)) return real::allocate_zeroed(bytes);
        const auto [return_address, stack, frame] = site;
        const std::uint64_t number = looks_up_ ? pool_of(site) : 1;
        if (number != 0) {
            // Every block is cleared: only the multipool knows whether a block was used before.
            void* const p = takers_<false>[number](bytes, return_address, stack, frame, number);
            return p != nullptr ? memset(p, 0, bytes) : nullptr;
        }
        ++thread().counters->passed_unrouted;
        if (void* const p = real::allocate_zeroed(bytes)) [[likely]]
            return p;
        void* const p = allocate_wherever(bytes, alignment_for(bytes));
        return p != nullptr ? memset(p, 0, bytes) : nullptr;
    }

    static void* allocate_aligned(std::size_t alignment, std::size_t bytes, const call_site& site) noexcept;
    static void* reallocate(void* old, std::size_t bytes, const call_site& site) noexcept;

    // Inline, like deallocate_routed: jumps are most of the cost of a pair.
    [[gnu::always_inline]] static void deallocate(void* p) noexcept {
        if (space_.map.contains(p)) [[likely]]
            return deallocate_routed(p, space_.map.number_of(p));
        if (passes_to_libc_) [[likely]]
            return __libc_free(p);
        real::deallocate(p);
    }

    static std::size_t usable_size(void* p) noexcept {
        const preload::slab_owner owner = space_.map.owner_of(p);
        return owner.block_bytes == 0 ? real::usable_size(p) : pools_[owner.pool].usable_bytes(p, owner);
    }

    // Called once, before any other library's start-up code.
    static void start(char** environment) noexcept;
    // Called once, when the process exits: reports the pools' statistics if MILLPOND_STATS asks for them.
    static void end() noexcept;
    // Code was unloaded, and other code may be loaded at its addresses.
    static void after_unload() noexcept;

  private:
    // Every block of at least 16 bytes must suit any type; a smaller one only types that fit into it.
    static constexpr std::size_t alignment_for(std::size_t bytes) noexcept { return bytes <= 8 ? 8 : 16; }

    // The fast path, without a walk and only by jumps: from a site with a known owner to its pool, which takes a ready
    // block. A trial pays for this path; a change of the source pays only for the last step. In a child that has not
    // adopted its pools, no size is small enough to come here. `throws`: on failure next_new is tried. A call site is
    // passed in registers, so that none is saved.
    template <bool throws>
    [[gnu::always_inline]] static void* allocate_small(std::size_t bytes, std::uintptr_t return_address,
                                                       std::uintptr_t stack, std::uintptr_t frame) noexcept(!throws) {
        const std::uint64_t number = owners_.match(return_address);
        if (number < owner_cache::no_match) [[likely]]
            return takers_<throws>[number](bytes, return_address, stack, frame, number);
        return allocate_further_out<throws>(bytes, return_address, stack, frame);
    }
    // The ways into a pool, by its kind. `number`: the pool's, from 1 on; 0: none.
    template <bool throws>
    using taker = void* (*)(std::size_t bytes, std::uintptr_t return_address, std::uintptr_t stack,
                            std::uintptr_t frame, std::uint64_t number) noexcept(!throws);
    template <bool throws>
    static void* take_own(std::size_t bytes, std::uintptr_t, std::uintptr_t, std::uintptr_t,
                          std::uint64_t number) noexcept(!throws) {
        if (void* const p = own_pools_[number]->take_at_hand(bytes, thread_.id())) [[likely]]
            return p;
        return take_own_slowly<throws>(bytes, number);
    }
    template <bool throws>
    [[gnu::noinline]] static void* take_own_slowly(std::size_t bytes, std::uint64_t number) noexcept(!throws) {
        if (void* const p = own_pools_[number]->allocate(bytes, alignment_for(bytes), name_thread())) [[likely]]
            return p;
        ++thread().counters->passed_refused;
        return allocate_outside<throws>(bytes);
    }
    template <bool throws>
    static void* take_in_arena(std::size_t bytes, std::uintptr_t return_address, std::uintptr_t stack,
                               std::uintptr_t frame, std::uint64_t number) noexcept(!throws) {
        if (void* const p = arena_pool::take_at_hand(number - 1, bytes, stack)) [[likely]]
            return p;
        return take_slowly<throws>(bytes, return_address, stack, frame, number);
    }
    template <bool throws>
    static void* take_shared(std::size_t bytes, std::uintptr_t return_address, std::uintptr_t stack,
                             std::uintptr_t frame, std::uint64_t number) noexcept(!throws) {
        if (void* const p = shared_pools_[number]->take_at_hand(bytes)) [[likely]]
            return p;
        return take_slowly<throws>(bytes, return_address, stack, frame, number);
    }
    template <bool throws>
    [[gnu::noinline]] static void* take_slowly(std::size_t bytes, std::uintptr_t return_address, std::uintptr_t stack,
                                               std::uintptr_t frame, std::uint64_t number) noexcept(!throws) {
        const call_site site{return_address, stack, frame};
        if (void* const p = allocate_from(static_cast<std::uint32_t>(number), bytes, alignment_for(bytes), site))
            return p;
        return allocate_outside<throws>(bytes);
    }
    template <bool throws>
    static void* take_outside(std::size_t bytes, std::uintptr_t, std::uintptr_t, std::uintptr_t,
                              std::uint64_t) noexcept(!throws) {
        ++thread().counters->passed_unrouted;
        return allocate_outside<throws>(bytes);
    }
    template <bool throws>
    [[gnu::always_inline]] static void* allocate_outside(std::size_t bytes) noexcept(!throws) {
        if (void* const p = real::allocate(bytes)) [[likely]]
            return p;
        void* const p = allocate_wherever(bytes, alignment_for(bytes));
        if constexpr (throws) {
            if (p == nullptr) return preload::next_new(bytes);
        }
        return p;
    }
    template <bool throws>
    static constexpr taker<throws> taker_of(pool_kind kind) noexcept {
        if (kind == pool_kind::one_thread) return &take_own<throws>;
        if (kind == pool_kind::shared) return &take_shared<throws>;
        return has_arenas(kind) ? &take_in_arena<throws> : &take_slowly<throws>;
    }
    // The owner's frame lies further out, at known places.
    template <bool throws>
    [[gnu::noinline]] static void* allocate_further_out(std::size_t bytes, std::uintptr_t return_address,
                                                        std::uintptr_t stack, std::uintptr_t frame) noexcept(!throws) {
        const std::uint64_t number = looks_up_ ? outward_.find({return_address, stack, frame}, owners_) : 1;
        if (number < owner_cache::no_match) [[likely]]
            return takers_<throws>[number](bytes, return_address, stack, frame, number);
        return allocate_by_walk<throws>(bytes, return_address, stack, frame);
    }
    template <bool throws>
    [[gnu::noinline]] static void* allocate_by_walk(std::size_t bytes, std::uintptr_t return_address,
                                                    std::uintptr_t stack, std::uintptr_t frame) noexcept(!throws) {
        const std::uint32_t number = pool_of({return_address, stack, frame});
        return takers_<throws>[number](bytes, return_address, stack, frame, number);
    }

    // The functions from here on are separate from those above. So those save no register and end in a jump when they
    // only pass calls on. For the same reason a call site is passed in registers.
    [[gnu::noinline]] static void* allocate_otherwise(std::size_t bytes, std::uintptr_t return_address,
                                                      std::uintptr_t stack, std::uintptr_t frame) noexcept {
        if (is_small_in_child(bytes)) return allocate_small<false>(bytes, return_address, stack, frame);
        return real::allocate(bytes);
    }
    // For sizes above small_max. True: the process is a child that has just adopted its pools, and the size is small
    // enough for them. Otherwise counts the allocation, if anything is routed here.
    static bool is_small_in_child(std::size_t bytes) noexcept {
        if (own_words.small_max == 0) {
            if (!is_active_) return false;
            adopt_if_child();
            if (bytes - 1 < own_words.small_max) return true;
        }
        ++thread().counters->passed_large;
        return false;
    }
    [[gnu::noinline]] static void* new_otherwise(std::size_t bytes, std::uintptr_t return_address, std::uintptr_t stack,
                                                 std::uintptr_t frame) {
        void* const p = allocate(bytes, {return_address, stack, frame});
        return p != nullptr ? p : preload::next_new(bytes);
    }
    // `slab`: the number of the block's slab.
    [[gnu::always_inline]] static void deallocate_routed(void* p, std::size_t slab) noexcept {
        const preload::packed_owner owner = space_.map.owner_at(slab);
        if (owner.block_bytes() == 0) [[unlikely]]
            return real::deallocate(p);  // not one of our blocks: the provider decides what happens
        if (own_words.small_max == 0) [[unlikely]]
            return deallocate_slowly(p, owner, 0);
        putters_[owner.pool()](p, owner, slab);
    }
    // The ways back into a pool, by its kind.
    using putter = void (*)(void* p, preload::packed_owner owner, std::size_t slab) noexcept;
    static void put_own(void* p, preload::packed_owner owner, std::size_t) noexcept {
        if (!own_pools_[owner.pool() + 1]->put_at_hand(p, owner.block_bytes(), thread_.id()))
            deallocate_slowly(p, owner, 0);
    }
    static void put_shared(void* p, preload::packed_owner owner, std::size_t) noexcept {
        if (!shared_pools_[owner.pool() + 1]->put_at_hand(p, owner.size_class())) deallocate_slowly(p, owner, 0);
    }
    // A frame may end a call. All paths here are jumps, so the current stack pointer is the caller's.
    static void put_in_arena(void* p, preload::packed_owner owner, std::size_t slab) noexcept {
        const auto stack = reinterpret_cast<std::uintptr_t>(__builtin_dwarf_cfa());
        if (owner.block_bytes() != arena_pool::block_bytes_mark ||
            !arena_pool::put_at_hand(space_, slab, thread_.id(), stack))
            deallocate_slowly(p, owner, stack);
    }
    static void put_slowly(void* p, preload::packed_owner owner, std::size_t) noexcept {
        deallocate_slowly(p, owner, 0);
    }
    static constexpr putter putter_of(pool_kind kind) noexcept {
        if (kind == pool_kind::one_thread) return &put_own;
        if (kind == pool_kind::shared) return &put_shared;
        return has_arenas(kind) ? &put_in_arena : &put_slowly;
    }
    [[gnu::noinline]] static void deallocate_slowly(void* p, preload::packed_owner owner,
                                                    std::uintptr_t stack) noexcept {
        if (own_words.small_max == 0) [[unlikely]]
            adopt_if_child();
        pools_[owner.pool()].deallocate(p, owner.unpacked(), thread_.id(), stack);
    }

    // Allocates from a pool, counted from 1; 0: from no pool. Null: the program's allocator shall serve this.
    [[gnu::noinline]] static void* allocate_from(std::uint32_t number, std::size_t bytes, std::size_t alignment,
                                                 const call_site& site) noexcept {
        if (number == 0) {
            ++thread().counters->passed_unrouted;
            return nullptr;
        }
        const std::uint32_t index = number - 1;
        const pool::thread_id self = name_thread();  // its end is reported only if its start is known
        void* const p = has_instances_ && pools_[index].has_instances()
                            ? allocate_for_owner(index, bytes, alignment, site)
                            : pools_[index].allocate(bytes, alignment, self, site.stack);
        if (p == nullptr) [[unlikely]]
            ++thread().counters->passed_refused;
        return p;
    }
    [[gnu::noinline]] static void* allocate_for_owner(std::uint32_t index, std::size_t bytes, std::size_t alignment,
                                                      const call_site& site) noexcept;
    // Returns the position of the owner's address at a call site; word_position::count if it is not known there.
    [[gnu::noinline, gnu::cold]] static std::uint32_t find_position(std::uint32_t index,
                                                                    std::uintptr_t return_address) noexcept;

    // Called when the program's allocator has no memory either: returns a block of any pool that is large enough.
    // Otherwise a program near its memory limit would fail while blocks of other sizes are free.
    [[gnu::noinline, gnu::cold]] static void* allocate_wherever(std::size_t bytes, std::size_t alignment) noexcept;

    // Returns the answer that needs no walk: 0 for no pool, a pool from 1 on, or owner_cache::no_match and more.
    [[gnu::always_inline]] static std::uint64_t known_pool(const call_site& site) noexcept {
        const std::uint64_t own = owners_.match(site.return_address);
        return own < owner_cache::no_match ? own : outward_.find(site, owners_);
    }
    // The same, with a walk if necessary.
    static std::uint32_t pool_of(const call_site& site) noexcept {
        thread_state& self = thread();
        const std::uint64_t known = known_pool(site);
        if (known < owner_cache::no_match) return static_cast<std::uint32_t>(known);
        if (self.finding || !(stops_at_owner_ || self.has_finder)) [[unlikely]] {
            ++self.counters->misses;
            return 0;
        }
        ++self.counters->walks;
        self.finding = true;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        const std::uint32_t node = stops_at_owner_ ? 0 : self.finder().find(site);
        const std::uint32_t pool = stops_at_owner_ ? pool_of_owner(site) : contexts_.pool_of(node);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        self.finding = false;
        if (node == 0 && !stops_at_owner_) [[unlikely]]
            ++thread().counters->misses;
        return ignores_answer_ ? 0 : pool;
    }
    [[gnu::noinline]] static std::uint32_t pool_of_owner(const call_site& site) noexcept;

    static thread_state& thread() noexcept {
        if (thread_.generation != own_words.generation) [[unlikely]]
            start_thread();
        return thread_;
    }

    [[gnu::noinline, gnu::cold]] static void start_thread() noexcept;
    static void end_thread(void*) noexcept;
    static control* use_exported_plan(process_identity& identity) noexcept;
    static void start_variant(variant mode, const char* routes_path) noexcept;
    static bool start_pools(variant mode) noexcept;
    // For a provider that got no memory (real).
    static bool make_room(std::size_t bytes) noexcept;
    static void on_node(std::uint32_t id, std::uint32_t parent, std::uintptr_t return_address) noexcept;
    static pool::thread_id name_thread() noexcept {
        (void)thread();
        return thread_.id();
    }
    static void adopt() noexcept;
    static void adopt_alone() noexcept;
    static void after_fork_in_child() noexcept;

    // Read by every call, written only by start.
    static inline bool is_active_ = false;                  // a variant other than the empty one is tried here
    static inline bool passes_to_libc_ = false;             // until it is known, and for a program with its own malloc
    static inline bool passes_everything_to_libc_ = false;  // … and while nothing is tried here
    static inline bool looks_up_ = false;
    static inline bool stops_at_owner_ = false;  // there are routes: no frame beyond the owner is looked at
    static inline bool ignores_answer_ = false;
    static inline bool has_instances_ = false;
    static inline bool tells_children_ = false;  // the kernel empties own_words in a child
    static inline pool* pools_ = nullptr;
    static inline std::size_t pool_count_ = 0;
    // Pools of one kind by their numbers, which begin at 1, found by one load. Null: another kind.
    static constinit inline thread_pool* own_pools_[owner_cache::no_match] = {};
    static constinit inline shared_pool* shared_pools_[owner_cache::no_match] = {};
    // Indexed by a pool's number, and by its index.
    template <bool throws>
    static inline taker<throws> takers_[owner_cache::no_match] = {&take_outside<throws>};
    static inline putter putters_[owner_cache::no_match] = {};
    // The slot of the latest process in the line of forks that has adopted: a child adopts from it.
    static inline process_slot* latest_slot_ = nullptr;
    static inline std::uint32_t latest_generation_ = 0;

    static constinit inline preload::slab_space space_;
    static constinit inline context_router contexts_;
    static constinit inline owner_cache owners_;              // empty where whole contexts are found
    static constinit inline outward_steps outward_;           // the same, for frames that are not owners
    static constinit inline address_cache<8, 10> positions_;  // of owners' addresses, by call site
    static constinit inline module_finder modules_;
    static constinit inline preload::context_space context_space_;
    static constinit inline thread_local thread_state thread_;
};

}  // namespace millpond::trial
