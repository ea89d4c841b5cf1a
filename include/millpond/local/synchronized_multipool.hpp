// SPDX-License-Identifier: BSL-1.0
// synchronized_multipool: a multipool for many threads: any thread may free what another has allocated.
//
//   thread 1 ─▶ │●●●●  │ magazine ─┐ batches of up to 64 freed blocks ┌─ magazine │●●    │ ◀─ thread 2
//                                  ├──────────────▶ depot ◀───────────┤
//   thread 3 ─▶ │      │ magazine ─┘ runs of fresh blocks ◀─ chunks   └─ magazine │●●●●●●│    whose thread has ended:
//                                                        ◀─ source                            the next one gets it
//
// Use it for containers that several threads share or pass on: queues, caches, message buffers. If every thread can
// have a pool of its own, a multipool for each is faster and smaller: it needs no look-up. If calls are rare,
// synchronized<multipool<>> needs far less memory. Memory freed in one class serves no other one before reset or
// release, and no memory returns to the source before release.
//
// Each thread has a magazine in each pool that it uses, found by the pool's number in a thread-local table of 16. If
// one thread uses more pools than that, some calls take a slower path. Freed blocks go to the magazine of the thread
// that frees them, and from there, a batch at a time, to the threads that need some. So one short lock is taken for 64
// blocks up to 512 bytes, and for fewer of larger ones. Blocks above 16 KiB come from the source one by one, one call
// of it for each; if the source reuses no memory, they are classes up to 1 MiB instead.
// Memory in addition to live blocks, for each thread: 2 KiB; 1 KiB for each class it uses; at most 64 KiB or two blocks
// of free blocks in each; and up to 1 MiB of blocks that it has itself allocated and freed. When a thread ends, all of
// that serves the others. A thread whose first allocation comes in a destructor of thread-specific data (pthread_key),
// after its thread-local objects are gone, keeps it until reset or release. The first 16 frees of a thread that has
// allocated nothing take the lock each. Requests below 16 bytes get 16.
//
// With MILLPOND_HARDENED a double free of any block ends the program, and so does a write to a free block of up to 16
// KiB. The memory of larger blocks is back with the source, which may have given it out again.
//
// allocate, deallocate: O(1), mostly about twenty instructions, no lock and no atomic operation; a large block is one
// call of the source. reset: O(chunks + threads), memory kept, large blocks returned. release: the same. Serves every
// alignment and every size; if there is no memory the result is null, and nothing has changed.
// Thread-safe, but reset, release and the destructor require that no other thread still uses the pool or a block of it.
// Destructors of thread-local and static objects may use a pool, and it may be destroyed before its threads or after
// them. The source is called under the pool's lock, unless is_thread_safe_source (chunk_cache, new_delete).
//
// fork: the child goes on with the pool. The contents of other threads' magazines are lost to it until release. If one
// of those threads was inside the depot at that instant, the child finds out within a tenth of a second, once, and from
// then on takes memory straight from the source, without the depot. Over a source that is not thread-safe it takes two
// seconds, and then has only its own magazine's blocks, else null. No call ever hangs.
//
// Example:
//     millpond::synchronized_multipool<> pool;
//     void* message = pool.allocate(24, 8);
//     std::thread([&] { pool.deallocate(message, 24, 8); }).join();
//     assert(pool.block_bytes(24, 8) == 24 && pool.held_bytes() > 0);
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "../block/chunk_cache.hpp"
#include "../core/abi.hpp"
#include "../core/concepts.hpp"
#include "../core/detail/kept_exception.hpp"
#include "../core/detail/sanitizer.hpp"
#include "../core/four_an_octave.hpp"
#include "../core/size_class_scheme.hpp"
#include "detail/batch_depot.hpp"
#include "detail/block_batch.hpp"
#include "detail/block_owner.hpp"
#include "detail/magazine_rack.hpp"
#include "detail/owned_chunks.hpp"
#include "detail/shared_large_blocks.hpp"
#include "detail/thread_magazine.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// The limit above which blocks come from the source one by one, unless it reuses no memory. Otherwise a thread would
// keep two of each class, and would lock the pool for each.
template <class Source>
using shared_classes = four_an_octave<reuses_memory<Source> ? std::size_t{16} << 10 : std::size_t{1} << 20>;

}  // namespace millpond::inline MILLPOND_ABI::detail

namespace millpond::inline MILLPOND_ABI {

template <block_source Source = chunk_cache, size_class_scheme Classes = detail::shared_classes<Source>>
class synchronized_multipool {
    using depot = detail::batch_depot<Source, Classes>;
    using magazine_class = detail::magazine_class;
    using magazine_limits = detail::magazine_limits;
    using block_batch = detail::block_batch;
    using magazine = typename detail::magazine_rack<Classes::count>::magazine;

  public:
    // Ownership: the source is a member, made from the arguments. Allocates nothing yet.
    synchronized_multipool() noexcept(noexcept(Source()))
        requires std::default_initializable<Source>
        : depot_(default_first) {}

    template <class... SourceArguments>
        requires detail::source_arguments<Source, SourceArguments...>
    explicit synchronized_multipool(SourceArguments&&... arguments)
        : depot_(default_first, std::forward<SourceArguments>(arguments)...) {}

    template <class... SourceArguments>
        requires std::constructible_from<Source, SourceArguments...>
    explicit synchronized_multipool(first_chunk first, SourceArguments&&... arguments)
        : depot_(first, std::forward<SourceArguments>(arguments)...) {}

    synchronized_multipool(const synchronized_multipool&) = delete;
    synchronized_multipool& operator=(const synchronized_multipool&) = delete;
    ~synchronized_multipool() { drop_large_blocks(); }  // and the depot returns the chunks

    // Returns: the size of the block that serves the request, a multiple of `alignment`; 0 if it passes to the source.
    [[nodiscard]] static constexpr std::size_t block_bytes(std::size_t bytes, std::size_t alignment) noexcept {
        const unsigned index = Classes::class_of(bytes, alignment);
        return index < Classes::count ? depot::block_bytes(index) : 0;
    }

    // Returns: a block of `bytes` aligned to `alignment` (a power of two), or null.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if (void* const block = take(bytes, alignment)) [[likely]]
            return block;
        return try_allocate_slowly(bytes, alignment);
    }

    // Throws: what the source throws, or std::bad_alloc.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        if (void* const block = take(bytes, alignment)) [[likely]]
            return block;
        return allocate_slowly(bytes, alignment);
    }

    // Effects: makes the block free for requests of its class. `bytes` and `alignment`: those of the request.
    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes != 0) detail::expect_open(block);
        expect_own(block, bytes, alignment);
        const unsigned index = Classes::class_of(bytes, alignment);
        if (magazine* const mine = rack_.at_hand(); mine != nullptr) [[likely]] {
            magazine_class& to = mine->classes[index];
            if (to.count != to.capacity) [[likely]] {
                detail::mark_free(block, depot::block_bytes(index));
                to.push(block);
                return;
            }
        }
        deallocate_slowly(block, bytes, alignment);
    }

    // Effects: forgets every block and keeps the chunks; large blocks go back to the source.
    void reset() noexcept {
        drop_large_blocks();
        rack_.forget();
        depot_.reset();
    }

    // Effects: gives all memory back to the source; the destructor does the same.
    void release() noexcept {
        drop_large_blocks();
        rack_.forget();
        depot_.release();
    }

    // Returns: the bytes obtained from the source and not returned. Complexity: O(chunks).
    [[nodiscard]] std::size_t held_bytes() const noexcept { return depot_.held_bytes() + large_.held_bytes(); }

    [[nodiscard]] Source& source() noexcept { return depot_.source(); }

  private:
    // Large enough for a thread's magazine and its first stack.
    static constexpr first_chunk default_first{4096 - sizeof(detail::chunk_header)};

    [[nodiscard]] static constexpr std::size_t batch_bytes(unsigned index) noexcept {
        return magazine_limits::batch_of(depot::block_bytes(index)) * depot::block_bytes(index);
    }

    // Returns: a block of this thread's magazine, or null.
    [[nodiscard, gnu::always_inline]] void* take(std::size_t bytes, std::size_t alignment) noexcept {
        const unsigned index = Classes::class_of(bytes, alignment);
        if (magazine* const mine = rack_.at_hand(); mine != nullptr) [[likely]] {
            magazine_class& from = mine->classes[index];
            if (from.count != 0) [[likely]] {
                void* const block = from.pop();
                if (block == nullptr) __builtin_unreachable();
                give_out(block, bytes, alignment);
                return block;
            }
        }
        return nullptr;
    }

    // Throws: as allocate.
    [[nodiscard, gnu::noinline]] void* allocate_slowly(std::size_t bytes, std::size_t alignment) {
        detail::kept_exception thrown;
        if (void* const block = try_allocate_slowly(bytes, alignment)) return block;
        thrown.give_up(bytes, alignment);
    }

    // Effects: opens so many bytes of the free block.
    void give_out(void* block, std::size_t bytes, [[maybe_unused]] std::size_t alignment) const noexcept {
        detail::mark_used(block, bytes);
        if constexpr (detail::address_sanitizer) identity_.mark(block, bytes, alignment);
    }

    // Effects: reports a block that this pool did not give out, or gave out with another size.
    void expect_own([[maybe_unused]] const void* block, [[maybe_unused]] std::size_t bytes,
                    [[maybe_unused]] std::size_t alignment) const noexcept {
        if constexpr (detail::address_sanitizer) {
            identity_.expect(block, bytes, alignment, &synchronized_multipool::block_bytes);
        }
    }

    // Returns: the bytes of a source's block together with the gap before it.
    [[nodiscard]] static constexpr std::size_t large_bytes(std::size_t bytes, std::size_t gap) noexcept {
        return detail::address_sanitizer ? bytes + (bytes == 0) + gap : bytes;
    }

    [[gnu::noinline]] void* try_allocate_slowly(std::size_t bytes, std::size_t alignment) noexcept {
        const unsigned index = Classes::class_of(bytes, alignment);
        if (index == Classes::count) {
            typename depot::shared_source source{depot_};
            const std::size_t gap = detail::gap_before(alignment);
            if (detail::address_sanitizer && (bytes > detail::max_bytes || gap > detail::max_bytes - bytes))
                return nullptr;
            void* const memory = large_.try_allocate(source, large_bytes(bytes, gap), alignment);
            if (memory == nullptr) return nullptr;
            void* const block = static_cast<char*>(memory) + gap;
            detail::poison(memory, gap);
            if constexpr (detail::address_sanitizer) identity_.mark(block, bytes, alignment);
            return block;
        }
        magazine* const mine = magazine_of(detail::thread_life::of_this_thread());
        const bool has_stack = mine != nullptr && (mine->classes[index].capacity != 0 || make_stack(*mine, index));
        void* const block = has_stack ? refill(*mine, index) : take_one(index);
        if (block != nullptr) give_out(block, bytes, alignment);
        return block;
    }

    [[gnu::noinline]] void deallocate_slowly(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        const unsigned index = Classes::class_of(bytes, alignment);
        if (index == Classes::count) {
            typename depot::shared_source source{depot_};
            const std::size_t gap = detail::gap_before(alignment);
            large_.deallocate(source, static_cast<char*>(block) - gap, large_bytes(bytes, gap));
            return;
        }
        detail::mark_free(block, depot::block_bytes(index));
        magazine* const mine = magazine_of(detail::thread_life::of_freeing_thread());
        if (mine == nullptr || (mine->classes[index].capacity == 0 && !make_stack(*mine, index))) {
            static_cast<void>(depot_.give(index, block_batch::pack(&block, 1, depot::block_bytes(index))));
            return;
        }
        magazine_class& to = mine->classes[index];
        if (to.count == to.capacity) make_room(*mine, index);
        to.push(block);
    }

    [[nodiscard]] magazine* magazine_of(detail::thread_life* life) noexcept {
        const auto carve = [this](std::size_t bytes, std::size_t alignment) noexcept {
            return depot_.carve(bytes, alignment);
        };
        return rack_.of_this_thread(depot::patience, carve, life);
    }

    // Returns: true if the class has a stack now.
    [[nodiscard]] bool make_stack(magazine& mine, unsigned index) noexcept {
        const std::size_t bytes = depot::block_bytes(index);
        const std::uint32_t capacity = magazine_limits::capacity_of(bytes);
        void* const place = depot_.carve(capacity * sizeof(void*), alignof(void*));
        if (place == nullptr) return false;
        magazine_class& made = mine.classes[index];
        made.blocks = ::new (place) void*;
        made.capacity = capacity;
        made.run = magazine_limits::first_run_of(bytes);
        return true;
    }

    // Returns: a block from the kept ones, from the depot, or fresh; or null.
    [[nodiscard]] void* refill(magazine& mine, unsigned index) noexcept {
        magazine_class& to = mine.classes[index];
        const std::size_t bytes = depot::block_bytes(index);
        if (to.count != 0) return to.pop();  // the stack was taken over
        if (to.kept) {
            to.count = static_cast<std::uint32_t>(to.kept.pop().unpack(to.blocks, bytes));
            --to.kept_count;
            mine.kept_bytes -= batch_bytes(index);
            return to.pop();
        }
        collect_from_ended_threads();
        typename depot::supply found = depot_.take(index, to.run);
        if (to.wanted_count * batch_bytes(index) < magazine_limits::kept_bytes) ++to.wanted_count;
        if (found.batch) {
            to.count = static_cast<std::uint32_t>(found.batch.unpack(to.blocks, bytes));
            return to.pop();
        }
        if (found.run == nullptr) return nullptr;
        for (std::size_t i = found.blocks; i-- > 0;) {  // the lowest address goes out first
            char* const block = found.run + i * depot::spacing(index);
            detail::mark_fresh(block, bytes);
            to.push(block);
        }
        if (to.run < magazine_limits::batch_of(bytes)) to.run = static_cast<std::uint16_t>(to.run * 2);
        return to.pop();
    }

    // Effects: makes a batch of half of the stack, the blocks freed first. The thread keeps as many batches as it once
    // took; the others go to the depot if it is free, and otherwise wait here.
    void make_room(magazine& mine, unsigned index) noexcept {
        magazine_class& from = mine.classes[index];
        const std::size_t bytes = depot::block_bytes(index);
        const std::uint32_t batch = magazine_limits::batch_of(bytes);
        block_batch::pack(from.blocks, batch, bytes).push_to(from.kept);
        from.count -= batch;
        std::memmove(from.blocks, from.blocks + batch, from.count * sizeof(void*));
        ++from.kept_count;
        mine.kept_bytes += batch_bytes(index);
        while (from.kept && (from.kept_count > from.wanted_count || mine.kept_bytes > magazine_limits::kept_bytes)) {
            const block_batch surplus = from.kept.pop();
            if (!depot_.try_give(index, surplus)) {
                surplus.push_to(from.kept);
                return;
            }
            --from.kept_count;
            mine.kept_bytes -= batch_bytes(index);
        }
    }

    // Serves threads without a magazine: takes one block of a batch and gives the others back.
    [[nodiscard, gnu::cold]] void* take_one(unsigned index) noexcept {
        const std::size_t bytes = depot::block_bytes(index);
        typename depot::supply found = depot_.take(index, 1);
        if (!found.batch) {
            if (found.run != nullptr) detail::mark_fresh(found.run, bytes);
            return found.run;
        }
        void* blocks[magazine_limits::largest_capacity];
        const std::size_t others = found.batch.unpack(blocks, bytes) - 1;
        if (others > 0) static_cast<void>(depot_.give(index, block_batch::pack(blocks, others, bytes)));
        return blocks[others];
    }

    // Effects: moves the blocks in magazines of ended threads to the depot, once for each end of a thread.
    void collect_from_ended_threads() noexcept {
        rack_.for_each_ended(depot::patience, [this](magazine& left) noexcept {
            for (unsigned index = 0; index < Classes::count; ++index) empty(left, index);
        });
    }

    void empty(magazine& left, unsigned index) noexcept {
        magazine_class& from = left.classes[index];
        if (from.count != 0) {
            block_batch::pack(from.blocks, from.count, depot::block_bytes(index)).push_to(from.kept);
            from.count = 0;
            ++from.kept_count;
            left.kept_bytes += batch_bytes(index);
        }
        while (from.kept) {
            const block_batch batch = from.kept.pop();
            if (!depot_.give(index, batch)) {
                batch.push_to(from.kept);
                return;
            }
            --from.kept_count;
            left.kept_bytes -= batch_bytes(index);
        }
    }

    void drop_large_blocks() noexcept {
        if constexpr (managed_allocator<Source>) {
            large_.forget();  // they go with the other memory of the source
        } else {
            large_.release(depot_.source());
        }
    }

    static_assert(Classes::largest <= std::size_t{1} << 30, "synchronized_multipool: the largest class is too large");

    [[no_unique_address]] detail::block_owner identity_;
    detail::shared_large_blocks large_;
    depot depot_;
    detail::magazine_rack<Classes::count> rack_;  // destroyed first, as its magazines lie in the depot's chunks
};

}  // namespace millpond::inline MILLPOND_ABI
