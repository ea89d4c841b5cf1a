// SPDX-License-Identifier: BSL-1.0
// multipool: blocks of many sizes, each size from its own row and its own free list; freed blocks are reused.
//
//   chunk │header│16│16│16│▒▒│24│24│24│▒▒│▒▒│16│16│▒▒▒▒▒▒▒▒│ room │    rows of one size, each longer than the last
//                                     ▲
//   class 24:  fresh ─────────────────┘    the row's blocks that were never given out, in the order of addresses
//              freed ─▶│24│─▶│24│          freed blocks, given out again in about the order in which they were freed
//   classes come in groups of four, which lie in the chunks, too, from the first use of one of them on
//   above 4 KiB:   │head│block│head│▒▒ free ▒▒│head│block│  a heap in chunks of its own (block_heap), for all sizes
//   above 32 KiB, or aligned to more than 64:  │block│record│ ◀─▶ │block│record│  from the source itself
//
// Use it for containers that insert and erase. For data that is only built, monotonic is smaller.
// Reuse: memory freed in a class up to 4 KiB serves no other class before reset or release. Freed blocks of up to 32
// KiB serve their own class first; before the heap grows, all of them return to it and join their neighbours. Before
// the source gives a block above 32 KiB, as many freed bytes return to it, so random sizes hold at most about 1.3 times
// the live bytes. From a source that reuses no memory (reuses_memory: monotonic, fixed_buffer) it takes only chunks,
// and the heap serves all classes. Blocks above the largest class return at once, all others at reset or release.
// The classes are a parameter (size_class_scheme.hpp). Blocks have no headers, so deallocate needs the requested size
// and alignment, or the block's size. An empty multipool is a few stores and has allocated nothing. Its first chunk is
// 1 KiB, and later ones double, so a small container may have a pool of its own.
//
// allocate, deallocate: O(1), about ten instructions for constant sizes; a large block is one call of the source.
// allocate of a block above 4 KiB whose class has none left: also O(blocks freed since the last such call). reset:
// O(chunks + large blocks), chunks kept, blocks above 32 KiB returned. release: O(chunks + large blocks). An owned
// source that is itself a managed allocator, as in multipool<monotonic<>>, is reset and released along with it. absorb:
// O(classes), and O(chunks kept by a reset of the other). Only after it may nodes move between containers of the two
// pools: splice, merge, swap, node handles.
// Serves every alignment and every size; if there is no memory the result is null, and nothing has changed. A block of
// 0 bytes counts as 1. Not thread-safe: use it in one thread, or use synchronized_multipool. Following P0089R0, section
// 3.
//
// Example:
//     millpond::multipool<> pool;
//     void* node = pool.allocate(24, 8);
//     pool.deallocate(node, 24, 8);
//     assert(pool.block_bytes(24, 8) == 24 && pool.block_bytes(24, 16) == 32);
//
//     millpond::multipool<millpond::new_delete, millpond::class_map<24, 40>> made_to_measure;
#pragma once

#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "../block/chunk_cache.hpp"
#include "../core/abi.hpp"
#include "../core/concepts.hpp"
#include "../core/detail/alignment.hpp"
#include "../core/detail/hardening.hpp"
#include "../core/detail/kept_exception.hpp"
#include "../core/detail/sanitizer.hpp"
#include "../core/four_an_octave.hpp"
#include "../core/size_class_scheme.hpp"
#include "detail/block_heap.hpp"
#include "detail/block_owner.hpp"
#include "detail/class_blocks.hpp"
#include "detail/class_places.hpp"
#include "detail/large_blocks.hpp"
#include "detail/owned_chunks.hpp"

namespace millpond::inline MILLPOND_ABI {

template <block_source Source = chunk_cache, size_class_scheme Classes = four_an_octave<>>
class multipool {
    using chunks_type = detail::owned_chunks<Source>;
    using class_group = detail::class_group;
    using class_blocks = detail::class_blocks;
    using chunk_header = detail::chunk_header;
    using block_heap = detail::block_heap;
    using free_list = detail::free_list;

  public:
    // Ownership: the source is a member, made from the arguments. Allocates nothing yet.
    constexpr multipool() noexcept(noexcept(Source()))
        requires std::default_initializable<Source>
        : chunks_(chunks_type::default_first) {}

    template <class... SourceArguments>
        requires detail::source_arguments<Source, SourceArguments...>
    explicit multipool(SourceArguments&&... arguments)
        : chunks_(chunks_type::default_first, std::forward<SourceArguments>(arguments)...) {}

    template <class... SourceArguments>
        requires std::constructible_from<Source, SourceArguments...>
    constexpr explicit multipool(first_chunk first, SourceArguments&&... arguments)
        : chunks_({first.bytes + detail::align_up(sizeof(class_group), detail::default_alignment)},
                  std::forward<SourceArguments>(arguments)...) {}

    multipool(const multipool&) = delete;
    multipool& operator=(const multipool&) = delete;
    ~multipool() {  // and chunks_ returns the memory
        if (large_.any()) drop_large_blocks();
        if (forward_ != nullptr) leave_owner();
    }

    // Returns: the size of the block that serves the request, a multiple of `alignment`; 0 if it passes to the source.
    [[nodiscard]] static constexpr std::size_t block_bytes(std::size_t bytes, std::size_t alignment) noexcept {
        const unsigned index = Classes::class_of(bytes, alignment);
        return index < Classes::count ? Classes::bytes_of(index) : 0;
    }

    // Returns: a block of `bytes` aligned to `alignment` (a power of two), or null. Forced inline, as are allocate and
    // deallocate: otherwise gcc makes calls of them in large source files, which cost as much as the rest.
    [[nodiscard, gnu::always_inline]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if (void* block = take_at_hand(bytes, alignment)) [[likely]]
            return block;
        return try_allocate_slowly(bytes, alignment);
    }

    // Throws: what the source throws, or std::bad_alloc.
    [[nodiscard, gnu::always_inline]] void* allocate(std::size_t bytes, std::size_t alignment) {
        if (void* block = take_at_hand(bytes, alignment)) [[likely]]
            return block;
        return allocate_slowly(bytes, alignment);
    }

    // Effects: makes the block free for requests of its class. `bytes` and `alignment`: those of the request.
    [[gnu::always_inline]] void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes != 0) detail::expect_open(block);
        expect_own(block, bytes, alignment);
        at_class(
            bytes, alignment, [block](class_blocks& to) __attribute__((always_inline)) { put(block, to); },
            [this, block, bytes, alignment] { deallocate_slowly(block, bytes, alignment); });
    }

    // Effects: as `deallocate`, for callers that know only the block's size (`block_bytes`).
    void deallocate_block(void* block, std::size_t bytes_of_block) noexcept { deallocate(block, bytes_of_block, 1); }

    // Does the part of the two above that needs no call, for layers whose own usual path must make none. Returns: a
    // block that is free already and found by a table, or null: then call try_allocate.
    [[nodiscard, gnu::always_inline]] void* take_at_hand(std::size_t bytes, std::size_t alignment) noexcept {
        void* const block = at_class(
            bytes, alignment, [](class_blocks& from) __attribute__((always_inline)) { return from.take(); },
            [] { return static_cast<void*>(nullptr); });
        if (detail::memory_checker && block != nullptr) give_out(block, bytes, alignment);
        return block;
    }
    // Returns: true if the block is free now; if false, nothing has changed, and deallocate_block frees it.
    [[nodiscard, gnu::always_inline]] bool put_at_hand(void* block, std::size_t bytes_of_block) noexcept {
        detail::expect_open(block);
        expect_own(block, bytes_of_block, 1);
        return at_class(
            bytes_of_block, 1,
            [block](class_blocks& to) __attribute__((always_inline)) {
                put(block, to);
                return true;
            },
            [] { return false; });
    }

    // Effects: takes over all blocks of `other`, which is empty then and passes every call on to this. Bindings to both
    // compare equal. This must outlive `other`. The sources must be equal, or each owned by its pool.
    void absorb(multipool& other) noexcept
        requires(!slab_source<Source>)
    {
        multipool& to = *owner();
        multipool& from = *other.owner();
        if (&to == &from) return;
        if constexpr (!managed_allocator<Source> && std::equality_comparable<Source>) {
            assert(to.source() == from.source() && "absorb: the pools have different sources");
        }
        if constexpr (detail::address_sanitizer) to.identity_.absorb(from.identity_);
        to.chunks_.absorb(from.chunks_);
        to.large_.absorb(from.large_);
        for (unsigned i = 0; i < groups; ++i) {
            class_group* last = from.groups_[i];
            if (last == no_group()) continue;
            if (to.groups_[i] == no_group()) {
                to.set_group(i, last);
            } else {
                while (last->absorbed != nullptr) last = last->absorbed;
                last->absorbed = std::exchange(to.groups_[i]->absorbed, from.groups_[i]);
            }
        }
        if (to.heap_ == nullptr) {
            to.heap_ = from.heap_;
        } else if (from.heap_ != nullptr) {
            to.heap_->absorb(*from.heap_);
        }
        from.heap_ = nullptr;
        if (from.room_.bytes() > to.room_.bytes()) to.room_ = from.room_;
        from.room_ = {};
        from.forward_ = &to;
        from.next_absorbed_ = std::exchange(to.first_absorbed_, &from);
        for (unsigned i = 0; i < groups; ++i) from.set_group(i, to.groups_[i]);
    }

    // Returns: true if blocks of one may be given to the other: they are one pool, or one has absorbed the other.
    [[nodiscard]] friend bool operator==(const multipool& a, const multipool& b) noexcept {
        return a.owner() == b.owner();
    }

    // Effects: forgets every block and keeps the chunks; large blocks go back to the source. Does nothing for an
    // absorbed pool, which has no blocks.
    void reset() noexcept {
        if (forward_ != nullptr) return;
        drop_large_blocks();
        chunks_.reset();
        start_empty();
    }

    // Effects: gives all memory back to the source; the destructor does the same. Does nothing if absorbed.
    void release() noexcept {
        if (forward_ != nullptr) return;
        drop_large_blocks();
        chunks_.release();
        start_empty();
    }

    // Returns: the bytes obtained from the source and not returned. Complexity: O(chunks + large blocks).
    [[nodiscard]] std::size_t held_bytes() const noexcept { return chunks_.held_bytes() + large_.held_bytes(); }

    [[nodiscard]] Source& source() noexcept { return chunks_.source(); }

  private:
    static constexpr std::size_t largest_row_bytes = std::size_t{32} << 10;
    // A slab holds blocks of one class, and a rest smaller than a block is lost. A source with one chunk size that
    // declares has_long_slabs supplies slabs of 2, 4, 8 … chunks, up to so many blocks, for a much-used class of large
    // blocks.
    static constexpr bool has_long_slabs = requires { requires Source::has_long_slabs; };
    static constexpr std::uint32_t long_slab_blocks = 32;
    static constexpr std::size_t largest_heap_bytes = std::size_t{32} << 10;  // an eighth of the largest chunk
    static constexpr unsigned groups = (Classes::count + class_group::size - 1) / class_group::size;
    using places = detail::class_places<Classes>;

    // A class starts with a cache line, or one block, because a growing vector passes through many classes.
    static constexpr std::size_t first_row_bytes = 64;
    // A class that needs more belongs to a container: rows behind such short ones are four times as long, others twice.
    // A container of fifteen nodes then comes here three times instead of five, and a row costs twenty times as much as
    // a block.
    static constexpr std::size_t short_row_bytes = 256;
    [[nodiscard]] static constexpr std::uint32_t growth_behind(std::size_t row_bytes) noexcept {
        return !slab_source<Source> && row_bytes < short_row_bytes ? 4 : 2;
    }

    // The initial state of the classes of each group.
    static constexpr auto new_groups = [] {
        std::array<std::array<detail::class_plan, class_group::size>, groups> table{};
        for (unsigned i = 0; i < Classes::count; ++i) {
            const std::size_t blocks = first_row_bytes / Classes::bytes_of(i);
            table[i / class_group::size][i % class_group::size] = {static_cast<std::uint32_t>(Classes::bytes_of(i)),
                                                                   static_cast<std::uint32_t>(blocks > 0 ? blocks : 1)};
        }
        return table;
    }();

    // The groups for small blocks only: such a group and a row of one block fit into the smallest chunk of a cache.
    static constexpr std::size_t most_small_bytes = 512;
    static constexpr std::size_t small_start_bytes =
        sizeof(class_group) + max_class_alignment + detail::gap_in_row(most_small_bytes) + most_small_bytes;
    static constexpr unsigned small_groups = [] {
        unsigned number = 0;
        while (number < Classes::count && Classes::bytes_of(number) <= most_small_bytes) ++number;
        return number / class_group::size;
    }();

    struct region {
        char* begin = nullptr;
        char* end = nullptr;
        [[nodiscard]] std::size_t bytes() const noexcept { return static_cast<std::size_t>(end - begin); }
    };

    [[nodiscard]] class_blocks& class_at(detail::class_place place) const noexcept {
        return class_at(place.group, place.offset);
    }
    [[nodiscard]] class_blocks& class_at(std::size_t group, std::size_t offset) const noexcept {
        return class_in(*groups_[group], offset);
    }
    [[nodiscard]] static class_blocks& class_in(class_group& group, std::size_t offset) noexcept {
        return *reinterpret_cast<class_blocks*>(reinterpret_cast<char*>(&group) + offset);
    }

    // Uses the place part by part: a copy of it costs an instruction.
    [[nodiscard]] class_blocks& small_class(std::size_t bytes) const noexcept {
        return class_at(places::of_small(bytes).group, places::of_small(bytes).offset);
    }
    [[nodiscard]] class_blocks& paired_small_class(std::size_t bytes) const noexcept {
        return class_at(places::of_paired_small(bytes).group, places::of_paired_small(bytes).offset);
    }

    [[nodiscard]] class_blocks& class_number(unsigned number) const noexcept {
        return groups_[number / class_group::size]->classes[number % class_group::size];
    }

    // Returns: found(class of the request) if a table tells it, else none(). Each path inlines its own action, which
    // costs less than joining the paths again.
    template <class Found, class None>
    [[gnu::always_inline]] auto at_class(std::size_t bytes, std::size_t alignment, Found found, None none) const {
        // Tests the size by itself first: tested with each alignment, gcc computes it once into a register and tests it
        // again.
        if (places::is_small(bytes)) [[likely]] {
            if (places::is_small(bytes, alignment)) [[likely]]
                return found(small_class(bytes));
            if (places::is_paired_small(bytes, alignment)) [[likely]]
                return found(paired_small_class(bytes));
        }
        if (places::is_rounded_small(bytes, alignment)) [[likely]]
            return found(small_class(places::rounded(bytes, alignment)));
        if (places::is_middle(bytes, alignment)) return found(class_at(places::of_middle(bytes)));
        if (places::is_wide(bytes, alignment)) return found(class_at(places::of_wide(bytes)));
        return none();
    }

    // Effects: opens so many bytes of the block.
    void give_out(void* block, std::size_t bytes, [[maybe_unused]] std::size_t alignment) noexcept {
        detail::unpoison(block, bytes + (bytes == 0));
        if constexpr (detail::address_sanitizer) identity_.mark(block, bytes, alignment);
    }

    // Effects: reports a block that this pool did not give out, or gave out with another size.
    void expect_own([[maybe_unused]] const void* block, [[maybe_unused]] std::size_t bytes,
                    [[maybe_unused]] std::size_t alignment) const noexcept {
        if constexpr (detail::address_sanitizer) {
            owner()->identity_.expect(block, bytes, alignment, &multipool::block_bytes);
        }
    }

    [[gnu::always_inline]] static void put(void* block, class_blocks& to) noexcept {
        if (detail::is_hardened && to.block_bytes == 0)
            detail::misuse_found("a pool got back a block that it never gave out", block);
        to.put(block);
    }

    // Frees blocks whose class no table tells.
    [[gnu::noinline]] void deallocate_slowly(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        const unsigned number = Classes::class_of(bytes, alignment);
        if (number < Classes::count) {
            put(block, class_number(number));
        } else {
            owner()->give_back(block, bytes, alignment);
        }
    }

    // Returns: the pool that owns the blocks: this one, or the one that has absorbed it.
    [[nodiscard]] const multipool* owner() const noexcept {
        const multipool* pool = this;
        while (pool->forward_ != nullptr) pool = pool->forward_;
        return pool;
    }
    [[nodiscard]] multipool* owner() noexcept { return const_cast<multipool*>(std::as_const(*this).owner()); }

    // Used in place of a group that does not exist. It is never written, because no block was given out from it.
    [[nodiscard]] static constexpr class_group* no_group() noexcept {
        return const_cast<class_group*>(&detail::no_blocks);
    }

    // Throws: as allocate.
    [[nodiscard, gnu::noinline]] void* allocate_slowly(std::size_t bytes, std::size_t alignment) {
        if constexpr (detail::source_at_hand<Source> && !slab_source<Source>) {
            if (void* block = take_first(bytes, alignment)) return block;
        }
        return allocate_the_long_way(bytes, alignment);
    }
    [[nodiscard, gnu::noinline]] void* allocate_the_long_way(std::size_t bytes, std::size_t alignment) {
        detail::kept_exception thrown;
        if (void* block = try_allocate_slowly(bytes, alignment)) return block;
        thrown.give_up(bytes, alignment);
    }

    // A small container with a pool of its own spends more on the pool's first block than on all others. So the first
    // block has a path without a call, if the pool is new, the block small, and the source has a chunk at hand.
    // Returns: that block; or null, and nothing has changed.
    [[nodiscard, gnu::always_inline]] void* take_first(std::size_t bytes, std::size_t alignment) noexcept {
        if (chunks_.any() || !places::is_paired_small(bytes, alignment)) return nullptr;
        const bool is_unpaired = places::is_small(bytes, alignment);
        const detail::class_place place = is_unpaired ? places::of_small(bytes) : places::of_paired_small(bytes);
        if (place.group >= small_groups || forward_ != nullptr || first_absorbed_ != nullptr) return nullptr;
        chunk_header* const chunk = chunks_.acquire_first_at_hand(small_start_bytes);
        if (chunk == nullptr) return nullptr;
        room_ = {chunk->begin(), chunk->end()};
        class_group& group = cut_group(place.group);
        groups_[place.group] = &group;
        class_blocks& from = class_in(group, place.offset);
        room_ = aligned(room_, row_alignment(from.block_bytes));
        void* const block = cut_row(from);
        give_out(block, bytes, alignment);
        return block;
    }

    // Serves requests whose class has no block or is told by no table, and large blocks.
    [[nodiscard, gnu::noinline, gnu::hot]] void* try_allocate_slowly(std::size_t bytes,
                                                                     std::size_t alignment) noexcept {
        if (forward_ != nullptr) return try_allocate_from_owner(bytes, alignment);
        unsigned group;
        std::size_t offset;
        if (places::is_paired_small(bytes, alignment)) {
            const bool is_unpaired = places::is_small(bytes, alignment);
            const detail::class_place place = is_unpaired ? places::of_small(bytes) : places::of_paired_small(bytes);
            group = place.group;
            offset = place.offset;
        } else {
            const unsigned number = Classes::class_of(bytes, alignment);
            if (number >= Classes::count) {
                void* const block = take_large(bytes, alignment);
                if (detail::memory_checker && block != nullptr) give_out(block, bytes, alignment);
                return block;
            }
            group = number / class_group::size;
            offset = number % class_group::size * sizeof(class_blocks);
        }
        class_group* of = groups_[group];
        const bool is_first = of == no_group();
        if (is_first) {
            of = make_group(group);
            if (of == nullptr) return nullptr;
        }
        class_blocks& from = class_in(*of, offset);
        void* block = nullptr;
        if (!is_first && (of->absorbed != nullptr || !from.empty())) block = take_older(from, *of);
        if (block == nullptr) block = take_fresh(from);
        if (block != nullptr) give_out(block, bytes, alignment);
        return block;
    }

    [[nodiscard, gnu::noinline, gnu::cold]] void* try_allocate_from_owner(std::size_t bytes,
                                                                          std::size_t alignment) noexcept {
        return forward_->try_allocate(bytes, alignment);
    }

    // Returns: a block of the class for which no row must be cut, or null.
    [[nodiscard, gnu::noinline]] void* take_older(class_blocks& from, class_group& group) noexcept {
        if (void* const block = from.take()) return block;
        return from.turn_over() || take_absorbed(from, group) ? from.take() : nullptr;
    }

    // Effects: makes a group of empty classes, in the room of the last chunk or of a new one. Returns: the group, or
    // null if there is no memory.
    [[nodiscard, gnu::always_inline]] class_group* make_group(unsigned number) noexcept {
        class_group* group;
        if constexpr (slab_source<Source>) {
            group =
                ::new (&own_groups_[number]) class_group(new_groups[number]);  // a slab holds only blocks of one size
        } else {
            if (!provide_room(sizeof(class_group), alignof(class_group))) return nullptr;
            group = &cut_group(number);
        }
        set_group(number, group);
        return group;
    }

    // Returns: the same, from the front of the room, which is aligned and large enough.
    [[nodiscard, gnu::always_inline]] class_group& cut_group(unsigned number) noexcept {
        detail::unpoison(room_.begin, sizeof(class_group));
        class_group* const group = ::new (room_.begin) class_group(new_groups[number]);
        room_.begin += sizeof(class_group);
        return *group;
    }

    // Effects: makes this pool and all that it has absorbed use the group from now on.
    void set_group(unsigned number, class_group* group) noexcept {
        groups_[number] = group;
        if (first_absorbed_ != nullptr) [[unlikely]]
            set_group_of_absorbed(number, group);
    }
    [[gnu::noinline, gnu::cold]] void set_group_of_absorbed(unsigned number, class_group* group) noexcept {
        for (multipool* pool = first_absorbed_; pool != nullptr; pool = pool->next_absorbed_)
            pool->set_group(number, group);
    }

    // Returns: true if an absorbed pool has left blocks of the class, which are moved to it.
    [[nodiscard]] bool take_absorbed(class_blocks& to, class_group& group) noexcept {
        const auto place = static_cast<std::size_t>(&to - group.classes);
        for (class_group* older = group.absorbed; older != nullptr; older = older->absorbed) {
            class_blocks& from = older->classes[place];
            if (from.empty()) continue;
            to = from;
            if (to.ready.empty()) static_cast<void>(to.turn_over());
            from.ready = from.freed = {};
            from.fresh = from.fresh_end;
            return true;
        }
        return false;
    }

    // Effects: gives the class, which has no block left, a row of fresh ones, from the room of the last chunk or from a
    // new one. Returns: the first of them, or null.
    [[nodiscard]] void* take_row(class_blocks& to) noexcept {
        const std::size_t block = to.block_bytes;
        const std::size_t alignment = row_alignment(block);
        const std::size_t spacing = block + detail::gap_in_row(block);
        if constexpr (slab_source<Source>) {
            const std::size_t row = spacing * to.row_blocks;
            const std::size_t needed = room_for(spacing, alignment);
            chunk_header* chunk = nullptr;
            if constexpr (has_long_slabs) {
                // When memory is nearly exhausted, shorter slabs may still be available.
                for (std::size_t bytes = row; chunk == nullptr && bytes > needed; bytes /= 2)
                    chunk = chunks_.acquire(long_slab_payload_bytes(bytes), block);
                if (chunk == nullptr) chunk = chunks_.acquire(needed, block);
            } else {
                const bool fixed = fixed_chunk_source<Source>;
                chunk = chunks_.acquire(fixed || row < needed ? needed : row, block);
                if (chunk == nullptr && row > needed) chunk = chunks_.acquire(needed, block);
            }
            if (chunk == nullptr) return nullptr;
            region slab = aligned({chunk->begin(), chunk->end()}, alignment);
            cut(to, slab, static_cast<std::size_t>(-1));
            if (has_long_slabs && row >= largest_row_bytes && to.row_blocks < long_slab_blocks) to.row_blocks *= 2;
            lengthen_next_row(to, row);
            return to.take_fresh();
        } else {
            return provide_room(spacing, alignment) ? cut_row(to) : nullptr;
        }
    }

    // Returns: the first block of a row from the front of the room, which must be aligned and large enough for one.
    [[nodiscard, gnu::always_inline]] void* cut_row(class_blocks& to) noexcept {
        const std::size_t row = (to.block_bytes + detail::gap_in_row(to.block_bytes)) * to.row_blocks;
        cut(to, room_, row);
        lengthen_next_row(to, row);
        return to.take_fresh();
    }

    static void lengthen_next_row(class_blocks& of, std::size_t row_bytes) noexcept {
        if (row_bytes < largest_row_bytes) of.row_blocks *= growth_behind(row_bytes);
    }

    [[nodiscard]] static std::size_t row_alignment(std::size_t block_bytes) noexcept {
        const std::size_t natural = detail::natural_alignment(block_bytes);
        return natural < max_class_alignment ? natural : max_class_alignment;
    }

    // Returns: the payload of a chunk of the source's preferred size, doubled until it has so many bytes: such a source
    // can put chunks side by side.
    [[nodiscard]] static constexpr std::size_t long_slab_payload_bytes(std::size_t bytes) noexcept
        requires has_long_slabs
    {
        std::size_t chunk = Source::preferred_chunk_bytes;
        while (chunk < bytes) chunk *= 2;
        return chunk - sizeof(chunk_header);
    }

    // True if fresh blocks of a class come from the heap: medium ones do. Small ones come from rows of one size. Large
    // ones come from the source, each by itself, because few of them would waste much of a chunk. A source that reuses
    // no memory gives only chunks; slabs hold only blocks of one size.
    [[nodiscard]] static constexpr bool is_from_heap(std::size_t block_bytes) noexcept {
        return !slab_source<Source> && block_bytes > block_heap::least_block_bytes && !is_from_source(block_bytes);
    }
    [[nodiscard]] static constexpr bool is_from_source(std::size_t block_bytes) noexcept {
        return !slab_source<Source> && reuses_memory<Source> && block_bytes > largest_heap_bytes;
    }

    // Returns: a block of the class, which has none left; or null.
    [[nodiscard]] void* take_fresh(class_blocks& from) noexcept {
        if (is_from_heap(from.block_bytes)) return take_from_heap(from.block_bytes);
        if (is_from_source(from.block_bytes)) return take_from_source(from.block_bytes);
        return take_row(from);
    }

    // Takes a block from the heap. Before the heap grows, all free blocks go back to it.
    [[nodiscard, gnu::noinline]] void* take_from_heap(std::size_t bytes) noexcept {
        if (heap_ == nullptr && !make_heap()) return nullptr;
        void* block = heap_->try_allocate(bytes);
        if (block == nullptr && collect_freed()) block = heap_->try_allocate(bytes);
        if (block == nullptr && grow_heap(bytes)) block = heap_->try_allocate(bytes);
        if (block != nullptr) free_list::forget_seal(block, bytes);
        return block;
    }

    [[nodiscard]] void* take_from_source(std::size_t bytes) noexcept {
        void* const block = take_large(bytes, max_class_alignment);
        if (block != nullptr) {
            free_list::forget_seal(block, bytes);
            detail::poison(block, bytes);
        }
        return block;
    }

    // Takes a block from the source. First, as many free bytes go back to the source.
    [[nodiscard, gnu::noinline]] void* take_large(std::size_t bytes, std::size_t alignment) noexcept {
        give_back_freed(bytes);
        const std::size_t gap = detail::gap_before(alignment);
        if (detail::address_sanitizer && (bytes > detail::max_bytes || gap > detail::max_bytes - bytes)) return nullptr;
        const std::size_t whole = large_bytes(bytes, gap);
        void* memory = large_.try_allocate(chunks_.source(), whole, alignment);
        if (memory == nullptr && give_back_freed(detail::max_bytes))
            memory = large_.try_allocate(chunks_.source(), whole, alignment);
        if (memory == nullptr) return nullptr;
        detail::poison(memory, gap);
        return static_cast<char*>(memory) + gap;
    }

    // Effects: gives a block of the source back to it.
    void give_back(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        const std::size_t gap = detail::gap_before(alignment);
        large_.deallocate(chunks_.source(), static_cast<char*>(block) - gap, large_bytes(bytes, gap));
    }

    // Returns: the bytes of a source's block together with the gap before it.
    [[nodiscard]] static constexpr std::size_t large_bytes(std::size_t bytes, std::size_t gap) noexcept {
        return detail::address_sanitizer ? bytes + (bytes == 0) + gap : bytes;
    }

    [[nodiscard, gnu::noinline]] bool make_heap() noexcept {
        if (!provide_room(sizeof(block_heap), alignof(block_heap))) return false;
        detail::unpoison(room_.begin, sizeof(block_heap));
        heap_ = ::new (room_.begin) block_heap;
        room_.begin += sizeof(block_heap);
        return true;
    }

    [[nodiscard]] bool grow_heap(std::size_t bytes) noexcept {
        const std::size_t needed = block_heap::bytes_for(1, bytes);
        give_back_freed(needed);
        chunk_header* chunk = chunks_.acquire(needed, 0, block_heap::spacing(bytes));
        if (chunk == nullptr && give_back_freed(detail::max_bytes))
            chunk = chunks_.acquire(needed, 0, block_heap::spacing(bytes));
        if (chunk == nullptr) return false;
        heap_->add(chunk->begin(), chunk->end());
        return true;
    }

    // Effects: returns freed blocks of medium classes to the heap, where they serve every size. Each was freed once, so
    // this costs no more than the frees did. Returns: true if there was one.
    [[nodiscard]] bool collect_freed() noexcept {
        bool found = false;
        for_each_class_above(block_heap::least_block_bytes, [this, &found](class_blocks& from) {
            if (!is_from_heap(from.block_bytes)) return;
            while (void* const block = from.take_freed()) {
                heap_->deallocate(block);
                found = true;
            }
        });
        return found;
    }

    // Effects: returns freed blocks of large classes, of so many bytes or a little more, to the source. Returns: true
    // if there was one.
    bool give_back_freed(std::size_t bytes) noexcept {
        std::size_t given = 0;
        for_each_class_above(largest_heap_bytes, [this, &given, bytes](class_blocks& from) {
            if (!is_from_source(from.block_bytes)) return;
            while (given < bytes) {
                void* const block = from.take_freed();
                if (block == nullptr) return;
                give_back(block, from.block_bytes, max_class_alignment);
                given += from.block_bytes;
            }
        });
        return given != 0;
    }

    // Effects: calls use(class_blocks&) for every class of more than `bytes` and some smaller ones, the largest first.
    template <class Use>
    void for_each_class_above(std::size_t bytes, Use use) noexcept {
        if (bytes >= Classes::largest) return;
        for (unsigned i = groups; i-- > Classes::class_of(bytes + 1, 1) / class_group::size;) {
            if (groups_[i] == no_group()) continue;
            for (class_group* group = groups_[i]; group != nullptr; group = group->absorbed) {
                for (unsigned place = class_group::size; place-- > 0;) use(group->classes[place]);
            }
        }
    }

    // Effects: ensures that the room begins with so many aligned bytes. Returns: false if the source has no more.
    [[nodiscard, gnu::always_inline]] bool provide_room(std::size_t bytes, std::size_t alignment) noexcept {
        const std::size_t padding = detail::padding_to(room_.begin, alignment);
        if (padding + bytes > room_.bytes()) [[unlikely]]
            return provide_chunk(bytes, alignment);
        room_.begin += padding;
        return true;
    }
    [[nodiscard, gnu::noinline]] bool provide_chunk(std::size_t bytes, std::size_t alignment) noexcept {
        chunk_header* const chunk = chunks_.acquire(room_for(bytes, alignment));
        if (chunk == nullptr) return false;
        room_ = aligned({chunk->begin(), chunk->end()}, alignment);
        return true;
    }

    // Returns: the bytes behind a chunk's header that are sure to hold so many aligned ones.
    [[nodiscard]] static constexpr std::size_t room_for(std::size_t bytes, std::size_t alignment) noexcept {
        return bytes + (alignment > alignof(chunk_header) ? alignment - alignof(chunk_header) : 0);
    }

    // Returns: the part of `whole` from its first aligned address on, which must exist.
    [[nodiscard]] static region aligned(region whole, std::size_t alignment) noexcept {
        whole.begin += detail::padding_to(whole.begin, alignment);
        return whole;
    }

    // Effects: moves a row of `row_bytes`, or as many blocks as there are, from the front of `from` to the class.
    static void cut(class_blocks& to, region& from, std::size_t row_bytes) noexcept {
        if (row_bytes > from.bytes()) [[unlikely]]
            row_bytes = from.bytes() - from.bytes() % (to.block_bytes + detail::gap_in_row(to.block_bytes));
        to.fresh = from.begin;
        from.begin += row_bytes;
        to.fresh_end = from.begin;
    }

    [[gnu::noinline]] void drop_large_blocks() noexcept {
        if constexpr (managed_allocator<Source>) {
            large_.forget();  // they go with the other memory of the source
        } else {
            large_.release(chunks_.source());
        }
    }

    void start_empty() noexcept {
        room_ = {};
        heap_ = nullptr;
        for (unsigned i = 0; i < groups; ++i) set_group(i, no_group());
    }

    [[gnu::noinline, gnu::cold]] void leave_owner() noexcept {
        multipool** place = &forward_->first_absorbed_;
        while (*place != this) place = &(*place)->next_absorbed_;
        *place = next_absorbed_;
    }

    static constexpr bool every_class_fits_a_chunk() noexcept {
        if constexpr (fixed_chunk_source<Source>) {
            return Classes::largest + sizeof(chunk_header) + max_class_alignment <= Source::preferred_chunk_bytes;
        }
        return true;
    }
    static_assert(every_class_fits_a_chunk(),
                  "multipool: the largest size class and its chunk's header do not fit the source's "
                  "preferred_chunk_bytes; choose classes with a smaller largest size");
    static_assert(Classes::largest <= std::size_t{1} << 30, "multipool: the largest size class is too large");

    // Written out one by one: gcc turns fill into a loop that takes four times as long.
    [[nodiscard]] static constexpr std::array<class_group*, groups> all_missing() noexcept {
        return []<std::size_t... I>(std::index_sequence<I...>) {
            return std::array<class_group*, groups>{(static_cast<void>(I), no_group())...};
        }(std::make_index_sequence<groups>());
    }

    struct empty_member {};
    using groups_in_place = std::conditional_t<slab_source<Source>, std::array<class_group, groups>, empty_member>;

    std::array<class_group*, groups> groups_ = all_missing();
    region room_;
    block_heap* heap_ = nullptr;  // lies in a chunk, from the first block of its size on
    detail::large_blocks large_;
    chunks_type chunks_;
    multipool* forward_ = nullptr;         // the pool that has absorbed this one
    multipool* first_absorbed_ = nullptr;  // the pools that this has absorbed, linked by …
    multipool* next_absorbed_ = nullptr;
    [[no_unique_address]] groups_in_place own_groups_;
    [[no_unique_address]] detail::block_owner identity_;
};

}  // namespace millpond::inline MILLPOND_ABI
