// SPDX-License-Identifier: BSL-1.0
// arena_pool: arenas below malloc, for the blocks of one route: one for each thread, or for each call of a function.
//
//   chunk   │ arena, next, marks │ block │ block │ block │ … next ▸          │    64 KiB, then twice as long, to 2 MiB
//   marks     a bit for each 16 bytes: here a block ends; so a realloc finds the size
//
// Blocks of all sizes lie in the order of allocation, 16 bytes apart at least, as a source change would place them but
// for the rounding. A free only counts down. An arena is reset, so that its chunks are used again from the first:
//   arenas            when nothing in it is alive
//   thread_arenas     when its thread has ended, or at the bound below
//   call_arenas       when its call of the function has ended and nothing in it is alive
//   outermost_arenas  the same; calls inside of another call of the function share that call's arena
//
// Calls are told by begin_call and end_call (call_observer.hpp), once observe_calls has said that they will be. Each
// thread then has a stack of arenas, and what it allocates outside of every call is not served. That a call has ended
// is noticed here, when somebody allocates or frees: a frame further out than its own, or where its return address was
// is another one. Where calls cannot be observed, or no longer, the pool goes on as `arenas` do.
//
// Bounded (lab/plan/arena_bound.hpp): where an arena needs another chunk, or a call an arena, and holds 1 MiB and more
// than 4 times its live bytes (live blocks times their mean size), the whole pool becomes a shared_pool. What lies in
// arenas then is freed as before.
//
// Threads: any thread allocates, from its own arena, and any thread frees. A signal handler that interrupted its
// thread's arena gets null. What an ended thread's arena holds goes back once nothing in it is alive; until then the
// next thread may take it over. take_at_hand and put_at_hand: some 40 instructions each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/trial/control.hpp"
#include "lab/trial/pool_line.hpp"
#include "lab/trial/routes.hpp"
#include "lab/trial/shared_pool.hpp"
#include "preload/frame_walk.hpp"
#include "preload/holder_lock.hpp"
#include "preload/pool_slabs.hpp"

namespace millpond::trial {

class arena_pool {
  public:
    using thread_id = preload::holder_lock::thread_id;

    // What the slab map says of arenas' chunks: no block of another pool is so small.
    static constexpr std::uint32_t block_bytes_mark = 1;

    // `counters`: private ones, for process_words.
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

    // Null inside of another call, or without memory. `alignment`: a power of two, at most 64. `stack`: the stack
    // pointer of who allocates, here and below; 0: not known.
    void* allocate(std::size_t bytes, std::size_t alignment, thread_id self, std::uintptr_t stack) noexcept {
        arena* its = arena_of(self);
        if (its != nullptr && has_ended(*its, stack)) [[unlikely]] {
            notice(stack);
            its = arena_of(self);
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
    // The usual case, inline and without a call. Null: nothing has changed, and allocate answers.
    [[gnu::always_inline]] void* take_at_hand(std::size_t bytes, thread_id self, std::uintptr_t stack) const noexcept {
        arena* const its = arena_of(self);
        if (its == nullptr || its->busy || has_ended(*its, stack) || !its->counted.has_line()) [[unlikely]]
            return nullptr;
        enter(*its);
        char* const p = take_from(*its, bytes, granule);
        if (p != nullptr) [[likely]]
            its->counted.count_allocation_in_line();
        leave(*its);
        return p;
    }
    // `owner` is what the slab map says of the block.
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
    // The usual case, as take_at_hand. False: nothing has changed, and deallocate does it.
    [[gnu::always_inline]] bool put_at_hand(void* block, preload::slab_owner owner, thread_id self,
                                            std::uintptr_t stack) const noexcept {
        if (owner.block_bytes != block_bytes_mark) [[unlikely]]
            return false;
        arena& its = *chunk_of(block)->of;
        if (__atomic_load_n(&its.owner, __ATOMIC_RELAXED) != self || its.busy || has_ended(its, stack) ||
            !its.counted.has_line()) [[unlikely]]
            return false;
        if (its.resets_when_empty && live_blocks_of(its) == 1) return false;
        enter(its);
        ++its.freed_blocks;
        its.counted.count_deallocation_in_line();
        leave(its);
        return true;
    }
    // The bytes that a block has.
    [[nodiscard]] std::size_t usable_bytes(void* block, preload::slab_owner owner) const noexcept {
        return owner.block_bytes != block_bytes_mark ? owner.block_bytes
                                                     : chunk_of(block)->size_of(static_cast<char*>(block));
    }

    // Calls will be told by the two functions below, on their own thread; or will be no longer.
    void observe_calls() noexcept { __atomic_store_n(&observes_calls_, true, __ATOMIC_RELEASE); }
    void stop_observing_calls() noexcept;
    // `place`: where the return address of the call lies. `trapped`: a trap told of it.
    void begin_call(thread_id self, std::uintptr_t place, bool trapped) noexcept;
    void end_call(thread_id self) noexcept;
    // Tells who observes calls that the frame with this stack pointer goes on; what that ends is told in turn.
    static inline void (*frame_continues)(std::uintptr_t stack) noexcept = nullptr;

    // The thread has ended.
    void end_thread(thread_id ended) noexcept;
    // In a child that has one of its parent's threads, `survivor`, known to locks as `lock_holder`, or none (0).
    void retire_unless_of(thread_id survivor, thread_id lock_holder) noexcept;
    void tell_observer() const noexcept { slabs_.tell_observer(); }

  private:
    static constexpr std::size_t granule = 16;
    static constexpr thread_id no_thread = 0;
    static constexpr thread_id gone = 1;
    static constexpr std::size_t arenas_of_calls_max = 1024;

    struct arena;

    // Lies at the begin of its own slabs.
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
            __atomic_store_n(&marks[i / 64], marks[i / 64] | std::uint64_t{1} << i % 64, __ATOMIC_RELAXED);
        }
        // Up to the next mark. Marks behind a block in use do not change.
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

    struct arena {
        char *next = nullptr, *end = nullptr;
        chunk* current = nullptr;
        thread_id owner = no_thread;
        volatile bool busy = false;
        bool resets_when_empty = false;
        bool serves = false;  // the innermost call of its thread
        // Of that call, where its return address lies, and the address: a frame above it, or another address there,
        // mean that the call has ended. Of no call, what never means that.
        std::uintptr_t place = UINTPTR_MAX;
        std::uintptr_t return_address = 0;
        std::uint32_t inner_calls = 0;                  // that run and share it
        std::size_t used_blocks = 0, freed_blocks = 0;  // since it was empty
        pool_line counted;
        chunk* first = nullptr;
        std::size_t held_bytes = 0;
        arena* other = nullptr;                       // the next of the pool
        arena* outer = nullptr;                       // of the call around
        alignas(64) std::size_t freed_by_others = 0;  // blocks; atomic
    };

    // The thread's arena of the pool that it used last; a guess, checked by arena_of.
    struct latest_arena {
        const arena_pool* of;
        arena* its;
    };
    static constexpr std::size_t latest_max = 4;

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
    // Null: it has no room.
    [[gnu::always_inline]] static char* take_from(arena& its, std::size_t bytes, std::size_t alignment) noexcept {
        char* const p = alignment > granule ? aligned(its.next, alignment) : its.next;
        const std::size_t size = rounded(bytes);
        if (size > static_cast<std::size_t>(its.end - p)) [[unlikely]]
            return nullptr;
        its.next = p + size;
        its.current->mark(p + size);
        ++its.used_blocks;
        return p;
    }
    [[nodiscard]] chunk* chunk_of(const void* block) const noexcept {
        return *static_cast<chunk**>(space_.map.note_of(block));
    }
    [[nodiscard]] arena* arena_of(thread_id self) const noexcept {
        const latest_arena& seen = latest_[id_ % latest_max];
        return seen.of == this && __atomic_load_n(&seen.its->owner, __ATOMIC_RELAXED) == self ? seen.its : nullptr;
    }

    [[gnu::noinline]] static void notice(std::uintptr_t stack) noexcept {
        if (frame_continues != nullptr) frame_continues(stack);
    }
    // Whether its call has, as far as the frame with this stack pointer shows.
    [[gnu::always_inline]] static bool has_ended(const arena& its, std::uintptr_t stack) noexcept {
        return its.place != UINTPTR_MAX && (stack > its.place || preload::word_at(its.place) != its.return_address);
    }
    static void serve_no_call(arena& its) noexcept {
        its.serves = false;
        its.place = UINTPTR_MAX;
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
    void remember(arena* its) noexcept { latest_[id_ % latest_max] = {its != nullptr ? this : nullptr, its}; }
    bool next_chunk(arena& its, std::size_t needed) noexcept;
    bool add_chunk(arena& its, std::size_t needed) noexcept;
    void become_shared(std::size_t held_bytes, std::size_t live_bytes) noexcept;
    void forget_blocks(arena& its) noexcept;
    void give_back(arena& its) noexcept;
    static void begin_chunk(arena& its, chunk* at) noexcept;
    static void note_bytes(void* counters, std::size_t held, std::size_t used) noexcept;

    static constinit inline thread_local latest_arena latest_[latest_max] = {};

    preload::slab_space& space_;
    pool_counters* counters_;
    shared_pool* instead_ = nullptr;  // once an arena would have held too much
    arena* arenas_ = nullptr;
    preload::holder_lock lock_;  // for slabs_ and arenas_
    preload::pool_slabs slabs_;
    std::uint16_t id_;
    bool huge_pages_;
    pool_kind kind_;
    bool observes_calls_ = false;  // atomic
};

}  // namespace millpond::trial
