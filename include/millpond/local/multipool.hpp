// SPDX-License-Identifier: BSL-1.0
// multipool: blocks of many sizes, each size from its own row and its own free list; freed blocks are used again.
//
//   chunk │header│16│16│16│▒▒│24│24│24│▒▒│▒▒│16│16│▒▒▒▒▒▒▒▒│ room │    rows of one size, each twice as long as the last
//                                     ▲
//   class 24:  fresh ─────────────────┘    first the row's fresh blocks, in the order of addresses, never linked;
//              freed ─▶│24│─▶│24│          when the row is used up the freed ones, the last freed first
//   above the largest class, or aligned to more than 64:  │block│record│ ◀─▶ │block│record│  from the source itself
//
// Use it for containers that insert and erase. For data that is only built, monotonic is smaller. Memory freed in one
// class serves no other one before reset or release, and nothing returns to the source before release.
// The classes are a parameter (size_classes.hpp). Blocks have no headers, so deallocate must be told the size and the
// alignment that were asked for, or the block's size. An empty multipool is a few stores, and has allocated nothing.
//
// allocate, deallocate: O(1), for constant sizes about ten instructions; a large block is one call of the source.
// reset: O(chunks), memory kept, large blocks returned. release: O(chunks + large blocks). An owned source that is a
// managed allocator itself, as in multipool<monotonic<>>, is reset and released along with it.
// Every alignment and every size are served; what cannot be had is null, and nothing has changed. A block of 0 bytes
// is one of 1. Not thread-safe: one thread, or wrap it in synchronized. Following P0089R0, section 3.
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
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "../block/chunk_cache.hpp"
#include "../core/alignment.hpp"
#include "../core/concepts.hpp"
#include "../core/four_an_octave.hpp"
#include "../core/out_of_memory.hpp"
#include "../core/sanitizer.hpp"
#include "../core/size_classes.hpp"
#include "chunk_stock.hpp"
#include "free_list.hpp"
#include "large_blocks.hpp"

namespace millpond {

template <block_source Source = chunk_cache, size_classes Classes = four_an_octave<>>
class multipool {
    using stock = chunk_stock<Source>;

  public:
    // Ownership: the source is a member, made from the arguments. Nothing is allocated yet.
    multipool() noexcept(noexcept(Source()))
        requires std::default_initializable<Source>
        : stock_(stock::default_first) {
        leave_classes_unwritten();
    }

    template <class... SourceArguments>
        requires source_arguments<Source, SourceArguments...>
    explicit multipool(SourceArguments&&... arguments)
        : stock_(stock::default_first, std::forward<SourceArguments>(arguments)...) {
        leave_classes_unwritten();
    }

    template <class... SourceArguments>
        requires std::constructible_from<Source, SourceArguments...>
    explicit multipool(first_chunk first, SourceArguments&&... arguments)
        : stock_(first, std::forward<SourceArguments>(arguments)...) {
        leave_classes_unwritten();
    }

    multipool(const multipool&) = delete;
    multipool& operator=(const multipool&) = delete;
    ~multipool() { drop_large_blocks(); }  // and the stock gives back the chunks

    // Returns: the size of the block that serves the request, a multiple of `alignment`; 0 if it passes to the source.
    [[nodiscard]] static constexpr std::size_t block_bytes(std::size_t bytes, std::size_t alignment) noexcept {
        const unsigned index = Classes::class_of(bytes, alignment);
        return index < Classes::count ? Classes::bytes_of(index) : 0;
    }

    // Returns: a block of `bytes` aligned to `alignment` (a power of two), or null.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        const unsigned index = Classes::class_of(bytes, alignment);
        if (index < Classes::count && is_ready(index)) [[likely]] {
            if (void* block = take(index)) [[likely]] {
                unpoison(block, bytes + (bytes == 0));
                return block;
            }
        }
        return try_allocate_slowly(bytes, alignment);
    }

    // Throws: std::bad_alloc.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        if (void* block = try_allocate(bytes, alignment)) [[likely]]
            return block;
        out_of_memory(bytes, alignment);
    }

    // Effects: makes the block free for requests of its class. `bytes` and `alignment`: as they were asked for.
    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        const unsigned index = Classes::class_of(bytes, alignment);
        if (index < Classes::count) [[likely]] {
            classes_[index].freed.push(block, sizes_of_blocks[index]);
        } else {
            large_.deallocate(stock_.source(), block, bytes);
        }
    }

    // Effects: as deallocate, for callers that know not the request but the size of the block, as block_bytes says it.
    void deallocate_block(void* block, std::size_t bytes_of_block) noexcept {
        classes_[Classes::class_of(bytes_of_block, 1)].freed.push(block, bytes_of_block);
    }

    // Effects: forgets every block and keeps the chunks; large blocks go back to the source.
    void reset() noexcept {
        drop_large_blocks();
        stock_.reset();
        start_empty();
    }

    // Effects: gives all memory back to the source; the destructor does the same.
    void release() noexcept {
        drop_large_blocks();
        stock_.release();
        start_empty();
    }

    // Returns: the bytes obtained from the source and not returned. Complexity: O(chunks + large blocks).
    [[nodiscard]] std::size_t held_bytes() const noexcept { return stock_.held_bytes() + large_.held_bytes(); }

    [[nodiscard]] Source& source() noexcept { return stock_.source(); }

  private:
    static constexpr std::size_t first_row_bytes = 256;
    static constexpr std::size_t largest_row_bytes = std::size_t{32} << 10;
    static constexpr unsigned ready_words = (Classes::count + 63) / 64;

    // A table, because at run time a load is less than the arithmetic of bytes_of; for a constant class it folds away.
    static constexpr auto sizes_of_blocks = [] {
        std::array<std::uint32_t, Classes::count> table{};
        for (unsigned i = 0; i < Classes::count; ++i) table[i] = static_cast<std::uint32_t>(Classes::bytes_of(i));
        return table;
    }();

    // One size class. Meaningless until its bit in ready_ is set, so that an empty pool need not write them all.
    struct size_class {
        char* fresh;  // the next block of the row that was never given out, up to …
        char* fresh_end;
        free_list freed;
        std::size_t row_bytes;  // of the next row
    };

    struct region {
        char* begin = nullptr;
        char* end = nullptr;
        [[nodiscard]] std::size_t bytes() const noexcept { return static_cast<std::size_t>(end - begin); }
    };

    [[nodiscard]] bool is_ready(unsigned index) const noexcept { return (ready_[index / 64] >> index % 64 & 1) != 0; }

    // Returns: a fresh block, else a freed one, else null.
    [[nodiscard]] void* take(unsigned index) noexcept {
        size_class& from = classes_[index];
        if (char* const block = from.fresh; block != from.fresh_end) {
            from.fresh = block + sizes_of_blocks[index];
            if (block == nullptr) __builtin_unreachable();
            return block;
        }
        return from.freed.pop(sizes_of_blocks[index]);
    }

    [[gnu::noinline, gnu::cold]] void* try_allocate_slowly(std::size_t bytes, std::size_t alignment) noexcept {
        const unsigned index = Classes::class_of(bytes, alignment);
        if (index == Classes::count) return large_.try_allocate(stock_.source(), bytes, alignment);
        if (!is_ready(index)) {
            classes_[index] = {nullptr, nullptr, {}, first_row_bytes};
            ready_[index / 64] |= std::uint64_t{1} << index % 64;
        }
        if (!take_row(classes_[index], sizes_of_blocks[index])) return nullptr;
        void* const block = take(index);
        unpoison(block, bytes + (bytes == 0));
        return block;
    }

    // Effects: gives the class a row of at least one fresh block, from the room of the last chunk or from a new one.
    [[nodiscard]] bool take_row(size_class& to, std::size_t block) noexcept {
        const std::size_t natural = natural_alignment(block);
        const std::size_t alignment = natural < max_class_alignment ? natural : max_class_alignment;
        const std::size_t needed = block + (alignment > alignof(chunk_header) ? alignment - alignof(chunk_header) : 0);
        if constexpr (slab_source<Source>) {
            const std::size_t row = fixed_chunk_source<Source> || to.row_bytes < needed ? needed : to.row_bytes;
            chunk_header* chunk = stock_.acquire(row, block);
            if (chunk == nullptr && row > needed) chunk = stock_.acquire(needed, block);
            if (chunk == nullptr) return false;
            region slab = aligned({chunk->begin(), chunk->end()}, alignment);
            cut(to, slab, block, slab.bytes());
        } else {
            region room = aligned(room_, alignment);
            if (room.bytes() < block) {
                chunk_header* const chunk = stock_.acquire(needed);
                if (chunk == nullptr) return false;
                room = aligned({chunk->begin(), chunk->end()}, alignment);
                cut(to, room, block, to.row_bytes);
                // What a large block leaves of its chunk may be less than the old room has.
                if (room.bytes() >= room_.bytes()) room_ = room;
            } else {
                cut(to, room, block, to.row_bytes);
                room_ = room;
            }
        }
        if (to.row_bytes < largest_row_bytes) to.row_bytes *= 2;
        return true;
    }

    // Returns: the part of `whole` from its first aligned address on; nothing if there is none.
    [[nodiscard]] static region aligned(region whole, std::size_t alignment) noexcept {
        const std::size_t padding = padding_to(whole.begin, alignment);
        whole.begin = padding <= whole.bytes() ? whole.begin + padding : whole.end;
        return whole;
    }

    // Effects: moves a row of about `row_bytes`, at least one block, from the front of `from` to the class.
    static void cut(size_class& to, region& from, std::size_t block, std::size_t row_bytes) noexcept {
        const std::size_t wanted = row_bytes < block ? block : row_bytes;
        const std::size_t blocks = (wanted < from.bytes() ? wanted : from.bytes()) / block;
        to.fresh = from.begin;
        from.begin += blocks * block;
        to.fresh_end = from.begin;
    }

    void drop_large_blocks() noexcept {
        if constexpr (managed_allocator<Source>) {
            large_.forget();  // they go with the source's other memory
        } else {
            large_.release(stock_.source());
        }
    }

    // Tells the compiler that the classes have some value, or gcc warns of reads that the bits in ready_ rule out.
    // It costs no instruction.
    void leave_classes_unwritten() noexcept { asm("" : "=m"(classes_)); }

    void start_empty() noexcept {
        room_ = {};
        for (std::uint64_t& word : ready_) word = 0;
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

    std::uint64_t ready_[ready_words] = {};
    region room_;
    large_blocks large_;
    stock stock_;
    size_class classes_[Classes::count];
};

}  // namespace millpond
