// SPDX-License-Identifier: BSL-1.0
// arena_pool: arenas below malloc, for the blocks of one route: one for each thread, or for each call of a function.
//
//   chunk   │ arena, next, marks │ block │ block │ block │ … next ▸          │    64 KiB, then twice as long, to 2 MiB
//   marks     a bit for each 16 bytes: here a block ends; so a realloc finds the size
//
// Blocks of all sizes lie in the order of allocation, 16 bytes apart at least, as a source change would place them,
// except for the rounding. A free only decrements a count. An arena is reset, so that its chunks are used again from
// the first:
//   arenas            when nothing in it is alive
//   thread_arenas     when its thread has ended, or at the bound below
//   call_arenas       when its call of the function has ended and nothing in it is alive
//   outermost_arenas  the same; calls inside of another call of the function share that call's arena
//
// begin_call and end_call report calls (call_observer.hpp), once observe_calls was called. Each thread then has a stack
// of arenas; allocations outside of every call are not served. The pool notices the end of a call at the next
// allocation or free: the stack pointer lies further out than the call's frame, or its return address was overwritten.
// Where calls cannot be observed (any longer), the pool behaves as `arenas`.
//
// Bounded (lab/plan/arena_bound.hpp): when an arena needs another chunk, or a call another arena, and 1 MiB is held and
// more than 4 times the live bytes (live blocks times their mean size), the whole pool becomes a shared_pool. Blocks
// that lie in arenas then are freed as before.
//
// Threads: any thread allocates, from its own arena, and any thread frees. A signal handler that interrupted its
// thread's arena gets null. The arena of an ended thread is returned once nothing in it is alive; until then the next
// thread may take it over. take_at_hand and put_at_hand: some 40 instructions each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/trial/control.hpp"
#include "lab/trial/pool_line.hpp"
#include "lab/trial/routes.hpp"
#include "lab/trial/shared_pool.hpp"
#include "preload/frame_walk.hpp"
#include "preload/holder_lock.hpp"
#include "preload/machine.hpp"
#include "preload/pool_slabs.hpp"

namespace millpond::trial {

class arena_pool {
  public:
    using thread_id = preload::holder_lock::thread_id;

    // The block size that the slab map holds for chunks of arenas. No other pool has blocks so small.
    static constexpr std::uint32_t block_bytes_mark = 1;

    // `counters`: private ones, as process_words needs.
    arena_pool(preload::slab_space& space, std::uint16_t id, bool huge_pages, pool_kind kind,
               pool_counters* counters) noexcept
        : space_(space),
          counters_(counters),
          slabs_(space, id, huge_pages, {&note_bytes, counters}),
          id_(id),
          huge_pages_(huge_pages),
          kind_(kind) {}
    arena_pool(const arena_pool&) = delete;
    arena_pool& operator=(const arena_pool&) = delete;

    // Returns null inside of another call, or without memory. `alignment`: a power of two, at most 64. `stack`: the
    // caller's stack pointer, here and below; 0: not known.
    void* allocate(std::size_t bytes, std::size_t alignment, thread_id self, std::uintptr_t stack) noexcept {
        arena* its = at_hand_[id_];
        if (its != nullptr && has_ended(*its, stack)) [[unlikely]] {
            notice(stack);
            its = at_hand_[id_];
        }
        if (its == nullptr) [[unlikely]]
            return allocate_otherwise(bytes, alignment, self);
        if (its->busy) [[unlikely]]
            return nullptr;
        enter(*its);
        char* const p = take_from(*its, bytes, alignment);
        if (p != nullptr) its->counted.count_allocation();
        leave(*its);
        return p != nullptr ? p : allocate_otherwise(bytes, alignment, self);
    }
    // The fast path, inlined and without a call, from the thread's arena of the pool with this id. Null: nothing has
    // changed; call allocate.
    //
    // A signal handler may come between any two instructions and use the same arena. So each change is one instruction,
    // and a block counts as alive before it is taken. A block taken from a chunk that a handler has replaced stays
    // unused.
    [[gnu::always_inline]] static void* take_at_hand(std::size_t id, std::size_t bytes, std::uintptr_t stack) noexcept {
        arena* const its = at_hand_[id];
        if (its == nullptr || its->busy || has_ended(*its, stack) || !its->counted.has_line()) return nullptr;
        chunk* const current = its->current;
        const auto size = static_cast<std::ptrdiff_t>(rounded(bytes));
        change(its->used_blocks, 1);
        char* const p = advance(its->next, size);
        char* const next = p + size;
        if (next > its->end || its->current != current) [[unlikely]] {
            change(its->used_blocks, -1);
            return nullptr;
        }
        current->mark(next);
        its->counted.count_allocation_in_line();
        if (p == nullptr) __builtin_unreachable();  // so that callers keep no registers for a refusal
        return p;
    }
    // `owner`: the block's entry in the slab map.
    [[gnu::noinline]] void deallocate(void* block, preload::slab_owner owner, thread_id self,
                                      std::uintptr_t stack) noexcept {
        if (owner.block_bytes != block_bytes_mark) [[unlikely]]
            return instead_->deallocate(block, owner);
        chunk* const of = chunk_of(block);
        arena& its = *of->of;
        if (__atomic_load_n(&its.owner, __ATOMIC_RELAXED) != self || its.busy) [[unlikely]]
            return free_elsewhere(its);
        if (has_ended(its, stack)) [[unlikely]]
            notice(stack);
        enter(its);
        ++its.freed_blocks;
        its.counted.count_deallocation();
        if (is_empty(its) && its.resets_when_empty) return reset_and_leave(its);
        leave(its);
    }
    // The fast path, as take_at_hand, for any pool in this space. False: nothing has changed; call deallocate. `slab`:
    // the number of the block's slab.
    [[gnu::always_inline]] static bool put_at_hand(const preload::slab_space& space, std::size_t slab, thread_id self,
                                                   std::uintptr_t stack) noexcept {
        arena& its = *static_cast<slab_place*>(space.map.note_at(slab))->its;
        if (__atomic_load_n(&its.owner, __ATOMIC_RELAXED) != self || its.busy || has_ended(its, stack) ||
            !its.counted.has_line()) [[unlikely]]
            return false;
        if (its.resets_when_empty && live_blocks_of(its) == 1) return false;
        change(its.freed_blocks, 1);
        its.counted.count_deallocation_in_line();
        return true;
    }
    // Returns the block's size in bytes.
    [[nodiscard]] std::size_t usable_bytes(void* block, preload::slab_owner owner) const noexcept {
        return owner.block_bytes != block_bytes_mark ? owner.block_bytes
                                                     : chunk_of(block)->size_of(static_cast<char*>(block));
    }

    // Says whether the two functions below will be called, each on the thread of the call.
    void observe_calls() noexcept { __atomic_store_n(&observes_calls_, true, __ATOMIC_RELEASE); }
    void stop_observing_calls() noexcept;
    // `place`: where the return address of the call lies. `trapped`: a trap reported it.
    void begin_call(thread_id self, std::uintptr_t place, bool trapped) noexcept;
    void end_call(thread_id self) noexcept;
    // Called with the stack pointer of a frame that is still running. It reports the calls that have thereby ended.
    static inline void (*frame_continues)(std::uintptr_t stack) noexcept = nullptr;

    // Call when the thread has ended.
    void end_thread(thread_id ended) noexcept;
    // For a child that has one of its parent's threads, `survivor`, known to locks as `lock_holder`, or none (0).
    void retire_unless_of(thread_id survivor, thread_id lock_holder) noexcept;
    void tell_observer() const noexcept { slabs_.tell_observer(); }

  private:
    static constexpr std::size_t granule = 16;
    static constexpr thread_id no_thread = 0;
    static constexpr thread_id gone = 1;
    static constexpr std::size_t arenas_of_calls_max = 1024;

    struct arena;

    // Lies at the start of its own slabs.
    struct chunk {
        arena* of;
        chunk* next;
        std::size_t bytes;
        std::uint64_t marks[1];  // one bit a granule, and one for the end

        static std::size_t marks_bytes(std::size_t bytes) noexcept { return bytes / granule / 8 + 8; }
        [[nodiscard]] char* begin() noexcept {
            return aligned(reinterpret_cast<char*>(marks) + marks_bytes(bytes), 64);
        }
        [[nodiscard]] char* end() noexcept { return reinterpret_cast<char*>(this) + bytes; }
        [[nodiscard]] std::size_t index_of(const char* p) const noexcept {
            return static_cast<std::size_t>(p - reinterpret_cast<const char*>(this)) / granule;
        }
        void mark(const char* p) noexcept {
            const std::size_t i = index_of(p);
            preload::machine::set_bits(marks[i / 64], std::uint64_t{1} << i % 64);
        }
        // The bytes up to the next mark. Marks behind a block in use do not change.
        [[nodiscard]] std::size_t size_of(const char* block) const noexcept {
            const std::size_t first = index_of(block) + 1;
            std::size_t word = first / 64;
            std::uint64_t left = __atomic_load_n(&marks[word], __ATOMIC_RELAXED) >> first % 64;
            if (left != 0) return (1 + static_cast<std::size_t>(__builtin_ctzll(left))) * granule;
            do left = __atomic_load_n(&marks[++word], __ATOMIC_RELAXED);
            while (left == 0);
            return (word * 64 + static_cast<std::size_t>(__builtin_ctzll(left)) + 1 - first) * granule;
        }
    };

    struct alignas(64) arena {
        // `next` may lie behind `end`: there was no room.
        char *next = nullptr, *end = nullptr;
        chunk* current = nullptr;
        thread_id owner = no_thread;
        // The place of the innermost call's return address, and that address. A frame above the place, or another
        // address there, means that the call has ended. Without a call, the values never mean that.
        std::uintptr_t place = UINTPTR_MAX;
        const std::uintptr_t* address_at = &return_address;
        std::uintptr_t return_address = 0;
        std::size_t used_blocks = 0;  // since it was empty
        std::size_t freed_blocks = 0;
        pool_line counted;
        volatile bool busy = false;
        bool resets_when_empty = false;
        bool serves = false;            // it belongs to the thread's innermost call
        std::uint32_t inner_calls = 0;  // running calls that share it
        chunk* first = nullptr;
        std::size_t held_bytes = 0;
        arena* other = nullptr;                       // the next of the pool
        arena* outer = nullptr;                       // that of the enclosing call
        alignas(64) std::size_t freed_by_others = 0;  // blocks; atomic
    };

    // The entry for each slab of a chunk.
    struct slab_place {
        chunk* in;
        arena* its;
    };
    static_assert(sizeof(slab_place) <= preload::slab_map::note_bytes);

    static std::size_t rounded(std::size_t bytes) noexcept { return (bytes + granule - 1) & ~(granule - 1); }
    static char* aligned(char* p, std::size_t alignment) noexcept {
        return p + (-reinterpret_cast<std::uintptr_t>(p) & (alignment - 1));
    }
    static void enter(arena& its) noexcept {
        its.busy = true;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
    static void leave(arena& its) noexcept {
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        its.busy = false;
    }
    static std::size_t live_blocks_of(const arena& its) noexcept {
        return its.used_blocks - its.freed_blocks - __atomic_load_n(&its.freed_by_others, __ATOMIC_ACQUIRE);
    }
    static std::size_t live_bytes_of(const arena& its) noexcept;
    static bool is_empty(const arena& its) noexcept { return live_blocks_of(its) == 0; }
    // At once, so that a signal handler of the thread sees all of the change or nothing.
    [[gnu::always_inline]] static void change(std::size_t& count, std::ptrdiff_t by) noexcept {
        preload::machine::add(count, by);
    }
    [[gnu::always_inline]] static char* advance(char*& place, std::ptrdiff_t by) noexcept {
        return preload::machine::advance(place, by);
    }
    // Returns whether `bytes` fit from this place on.
    static bool has_room(const arena& its, const char* from, std::size_t bytes) noexcept {
        return its.end - from >= static_cast<std::ptrdiff_t>(bytes);
    }
    // Returns null if the arena has no room.
    static char* take_from(arena& its, std::size_t bytes, std::size_t alignment) noexcept {
        char* const p = alignment > granule ? aligned(its.next, alignment) : its.next;
        const std::size_t size = rounded(bytes);
        if (!has_room(its, p, size)) [[unlikely]]
            return nullptr;
        its.next = p + size;
        its.current->mark(p + size);
        ++its.used_blocks;
        return p;
    }
    static slab_place* place_of(const preload::slab_space& space, const void* block) noexcept {
        return static_cast<slab_place*>(space.map.note_of(block));
    }
    [[nodiscard]] chunk* chunk_of(const void* block) const noexcept { return place_of(space_, block)->in; }

    [[gnu::noinline]] static void notice(std::uintptr_t stack) noexcept {
        if (frame_continues != nullptr) frame_continues(stack);
    }
    // Returns whether the arena's call has ended, as far as the frame with this stack pointer shows.
    [[gnu::always_inline]] static bool has_ended(const arena& its, std::uintptr_t stack) noexcept {
        return stack > its.place || __atomic_load_n(its.address_at, __ATOMIC_RELAXED) != its.return_address;
    }
    static void serve_no_call(arena& its) noexcept {
        its.serves = false;
        its.place = UINTPTR_MAX;
        its.address_at = &its.return_address;
        its.outer = nullptr;
        its.inner_calls = 0;
    }
    // The arena has no room, or the thread has none.
    [[gnu::noinline]] void* allocate_otherwise(std::size_t bytes, std::size_t alignment, thread_id self) noexcept;
    [[gnu::noinline]] void free_elsewhere(arena& its) noexcept;
    [[gnu::noinline]] void reset_and_leave(arena& its) noexcept {
        reset(its);
        leave(its);
    }
    void reset(arena& its) noexcept;
    [[nodiscard]] arena* find_or_claim(thread_id self) noexcept;
    [[nodiscard]] arena* of_innermost_call(thread_id self) const noexcept;
    [[nodiscard]] arena* take_for_call(thread_id self) noexcept;
    [[nodiscard]] arena* claim(arena* spare, thread_id self) noexcept;
    [[nodiscard]] bool is_bounded() noexcept;
    bool next_chunk(arena& its, std::size_t needed) noexcept;
    bool add_chunk(arena& its, std::size_t needed) noexcept;
    void become_shared(std::size_t held_bytes, std::size_t live_bytes) noexcept;
    void forget_blocks(arena& its) noexcept;
    void give_back(arena& its) noexcept;
    static void begin_chunk(arena& its, chunk* at) noexcept;
    static void note_bytes(void* counters, std::size_t held, std::size_t used) noexcept;

    // The calling thread's arena of each pool, if the thread owns it and it takes the next allocations.
    static constinit inline thread_local arena* at_hand_[all_pool_counters::pools_max] = {};

    preload::slab_space& space_;
    pool_counters* counters_;
    shared_pool* instead_ = nullptr;  // set when an arena reached the bound
    arena* arenas_ = nullptr;
    preload::holder_lock lock_;  // guards slabs_ and arenas_
    preload::pool_slabs slabs_;
    std::uint16_t id_;
    bool huge_pages_;
    pool_kind kind_;
    bool observes_calls_ = false;  // atomic
};

}  // namespace millpond::trial
