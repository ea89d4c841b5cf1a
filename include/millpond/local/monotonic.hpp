// SPDX-License-Identifier: BSL-1.0
// monotonic: a bump pointer through growing chunks; it frees no single blocks, only everything at once.
//
//   chunk 1 │header│a│bb│c│dddd│      chunk 2 │header│eee│ff│▒▒▒▒▒▒▒▒▒▒▒▒│      chunk 3 will be twice as large
//                                                     next ▲             ▲ end
//
// Use it for data that is built, used and dropped together: a request, a frame, a parse tree. It is the smallest and
// fastest allocator there. Do not use it for containers that erase or grow for long: what they free stays taken;
// multipool reuses it. checkpoint() and rewind() free in the order of a stack; rewind_scope does it for a scope.
//
// allocate: O(1), amortised over chunks that double from 1 KiB to 256 KiB. deallocate: does nothing. release:
// O(chunks). reset, rewind: O(chunks given up), and the memory is kept: the same work after a reset takes nothing more
// from the source. absorb: O(1), and O(chunks kept by a reset of the other).
// Over a source that can resize, such as region, there is one chunk that grows and shrinks in place: see arena.
// Serves every alignment and every size; if there is no memory the result is null, and nothing has changed. A block of
// 0 bytes counts as 1. Not thread-safe: use it in one thread, or wrap it in synchronized. Following P0089R0, section 3.
//
// Example:
//     millpond::monotonic<> pool;
//     int* squares = static_cast<int*>(pool.allocate(100 * sizeof(int), alignof(int)));
//     squares[99] = 99 * 99;
//     pool.reset();  // squares are gone, the chunk is kept
#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "../block/chunk_cache.hpp"
#include "../core/abi.hpp"
#include "../core/concepts.hpp"
#include "../core/detail/alignment.hpp"
#include "../core/detail/kept_exception.hpp"
#include "../core/detail/sanitizer.hpp"
#include "detail/block_owner.hpp"
#include "detail/owned_chunks.hpp"

namespace millpond::inline MILLPOND_ABI {

// Memory of the caller that monotonic uses before it asks its source, for example an array on the stack.
struct initial_buffer {
    void* memory;
    std::size_t bytes;
};

template <block_source Source = chunk_cache>
class monotonic {
    using chunks_type = detail::owned_chunks<Source>;

  public:
    static constexpr bool reuses_memory = false;

    // A position in a monotonic. Valid until release, reset, or a rewind to an older one.
    class checkpoint_type {
        friend monotonic;
        char* next_;
        char* end_;
        detail::chunk_header* newest_;
    };

    // Ownership: the source is a member, made from the arguments. Allocates nothing yet.
    monotonic() noexcept(noexcept(Source()))
        requires std::default_initializable<Source>
        : chunks_(chunks_type::default_first) {}

    template <class... SourceArguments>
        requires detail::source_arguments<Source, SourceArguments...> &&
                 (!detail::starts_with_option<initial_buffer, SourceArguments...>)
    explicit monotonic(SourceArguments&&... arguments)
        : chunks_(chunks_type::default_first, std::forward<SourceArguments>(arguments)...) {}

    template <class... SourceArguments>
        requires std::constructible_from<Source, SourceArguments...>
    explicit monotonic(first_chunk first, SourceArguments&&... arguments)
        : chunks_(first, std::forward<SourceArguments>(arguments)...) {}

    // Ownership: `buffer` stays the caller's, and must outlive this. When it is full, the source supplies more.
    template <class... SourceArguments>
        requires std::constructible_from<Source, SourceArguments...>
    explicit monotonic(initial_buffer buffer, SourceArguments&&... arguments)
        : chunks_(chunks_type::default_first, std::forward<SourceArguments>(arguments)...), buffer_(buffer) {
        start_in_buffer();
    }

    monotonic(const monotonic&) = delete;
    monotonic& operator=(const monotonic&) = delete;
    ~monotonic() { detail::unpoison(buffer_.memory, buffer_.bytes); }

    // Returns: a block of `bytes` aligned to `alignment` (a power of two), or null.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        bytes += bytes == 0;
        if (char* block; take(bytes, alignment, block)) [[likely]]
            return block;
        return try_allocate_from_new_chunk(bytes, alignment);
    }

    // Throws: what the source throws, or std::bad_alloc.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        bytes += bytes == 0;
        if (char* block; take(bytes, alignment, block)) [[likely]]
            return block;
        return allocate_from_new_chunk(bytes, alignment);
    }

    // Effects: none, except that an address sanitizer reports later accesses. The memory comes back with all the rest.
    void deallocate(void* block, std::size_t bytes, [[maybe_unused]] std::size_t alignment) noexcept {
        if (bytes != 0) detail::expect_open(block);
        expect_own(block, bytes + (bytes == 0));
        detail::poison(block, bytes + (bytes == 0));
    }

    // Returns: the present position, for rewind.
    [[nodiscard]] checkpoint_type checkpoint() const noexcept {
        if (forward_ != nullptr) return forward_->checkpoint();
        checkpoint_type place;
        place.next_ = next_;
        place.end_ = end_;
        place.newest_ = chunks_.newest();
        return place;
    }

    // Effects: forgets every block allocated since the checkpoint and keeps the chunks. Older checkpoints stay valid.
    void rewind(checkpoint_type place) noexcept {
        if (forward_ != nullptr) return forward_->rewind(place);
        if constexpr (resizing_source<Source>) {
            shrink_to(place);
        } else {
            chunks_.spare_down_to(place.newest_);
        }
        next_ = place.next_;
        end_ = place.end_;
        detail::poison(next_, static_cast<std::size_t>(end_ - next_));
    }

    // Effects: takes over all blocks of `other`, as older than any checkpoint. `other`, now empty, passes every call on
    // to this; its checkpoints are void. Bindings to both compare equal. This must outlive `other`, and so must the
    // other's initial buffer. The sources must be equal, or each owned by its allocator. Not over sources that resize:
    // of two chunks one could not grow.
    void absorb(monotonic& other) noexcept
        requires(!resizing_source<Source>)
    {
        monotonic& to = *owner();
        monotonic& from = *other.owner();
        if (&to == &from) return;
        if constexpr (!managed_allocator<Source> && std::equality_comparable<Source>) {
            assert(to.source() == from.source() && "absorb: the allocators have different sources");
        }
        to.chunks_.absorb(from.chunks_);
        if constexpr (detail::address_sanitizer) to.is_all_known_ &= from.is_all_known_ && from.buffer_.bytes == 0;
        from.next_ = from.end_ = nullptr;
        from.forward_ = &to;
    }

    // Returns: true if blocks of one may be given to the other: they are the same, or one has absorbed the other.
    [[nodiscard]] friend bool operator==(const monotonic& a, const monotonic& b) noexcept {
        return a.owner() == b.owner();
    }

    // Effects: forgets every block and keeps the memory. Does nothing for an absorbed allocator, which has no blocks.
    void reset() noexcept {
        if (forward_ != nullptr) return;
        chunks_.reset();
        start_in_buffer();
    }

    // Effects: gives all memory back to the source; the destructor does the same. Does nothing if absorbed.
    void release() noexcept {
        if (forward_ != nullptr) return;
        chunks_.release();
        start_in_buffer();
    }

    // Returns: the bytes obtained from the source and not returned. Complexity: O(chunks).
    [[nodiscard]] std::size_t held_bytes() const noexcept { return chunks_.held_bytes(); }

    [[nodiscard]] Source& source() noexcept { return chunks_.source(); }

  private:
    // Returns: the bytes of poison behind a block under an address sanitizer, if there is room.
    [[nodiscard]] static constexpr std::size_t gap_behind(std::size_t room) noexcept {
        return !detail::address_sanitizer ? 0 : room < gap_bytes ? room : gap_bytes;
    }

    // Effects: reports a block of another allocator, or one requested with another size.
    void expect_own([[maybe_unused]] const void* block, [[maybe_unused]] std::size_t bytes) const noexcept {
        if constexpr (detail::address_sanitizer) {
            const monotonic& by = *owner();
            const char* end = by.chunks_.end_around(block);
            const auto in_buffer =
                reinterpret_cast<std::uintptr_t>(block) - reinterpret_cast<std::uintptr_t>(by.buffer_.memory);
            if (end == nullptr && in_buffer < by.buffer_.bytes)
                end = static_cast<const char*>(by.buffer_.memory) + by.buffer_.bytes;
            if (end == nullptr) {
                if (by.is_all_known_) detail::report_to_sanitizer(detail::not_its_own, block);
                return;
            }
            // Without room for a gap, the bytes behind a block tell nothing.
            if (!by.has_short_gap_ && static_cast<const char*>(block) + bytes + gap_bytes <= end)
                detail::expect_size(block, bytes);
        }
    }

    // Returns: the allocator that owns the blocks: this one, or the one that has absorbed it.
    [[nodiscard]] const monotonic* owner() const noexcept {
        const monotonic* allocator = this;
        while (allocator->forward_ != nullptr) allocator = allocator->forward_;
        return allocator;
    }
    [[nodiscard]] monotonic* owner() noexcept { return const_cast<monotonic*>(std::as_const(*this).owner()); }

    // Returns: true, and the block, if there is room for it. `bytes` is not 0.
    [[nodiscard, gnu::always_inline]] bool take(std::size_t bytes, std::size_t alignment, char*& block) noexcept {
        const std::size_t room = static_cast<std::size_t>(end_ - next_);
        const std::size_t padding = detail::padding_to(next_, alignment);
        if (padding > room || bytes > room - padding || room - padding - bytes < gap_needed) [[unlikely]]
            return false;
        block = put(padding, bytes);
        return true;
    }

    // Returns: the block behind `padding` bytes; there must be room for it.
    [[nodiscard, gnu::always_inline]] char* put(std::size_t padding, std::size_t bytes) noexcept {
        char* const block = next_ + padding;
        next_ = block + bytes + gap_behind(static_cast<std::size_t>(end_ - block) - bytes);
        detail::unpoison(block, bytes);
        return block;
    }

    // Throws: as allocate.
    [[nodiscard, gnu::noinline, gnu::cold]] void* allocate_from_new_chunk(std::size_t bytes, std::size_t alignment) {
        detail::kept_exception thrown;
        if (void* const block = try_allocate_from_new_chunk(bytes, alignment)) return block;
        thrown.give_up(bytes, alignment);
    }

    [[gnu::noinline, gnu::cold]] void* try_allocate_from_new_chunk(std::size_t bytes, std::size_t alignment) noexcept {
        if (forward_ != nullptr) return forward_->try_allocate(bytes, alignment);
        const std::size_t padding_at_most =
            alignment > alignof(detail::chunk_header) ? alignment - alignof(detail::chunk_header) : 0;
        if (bytes > detail::max_bytes || padding_at_most > detail::max_bytes - bytes) return nullptr;
        if constexpr (resizing_source<Source>) {
            if (chunks_.newest() != nullptr) {
                const std::size_t padding = detail::padding_to(next_, alignment);
                if (grow_by(padding + bytes + gap_needed)) return try_allocate(bytes, alignment);
                if (gap_needed != 0 && grow_by(padding + bytes)) {  // the gap does not count against the limit
                    has_short_gap_ = true;
                    return put(padding, bytes);
                }
            }
        }
        detail::chunk_header* chunk = nullptr;
        if constexpr (detail::address_sanitizer) chunk = chunks_.acquire(bytes + padding_at_most + gap_bytes);
        if (chunk == nullptr) {
            chunk = chunks_.acquire(bytes + padding_at_most);  // the gap does not count against the limit
            if (chunk == nullptr) return nullptr;
            has_short_gap_ = gap_needed != 0;
        }
        char* const block = chunk->begin() + detail::padding_to(chunk->begin(), alignment);
        detail::unpoison(block, bytes);
        // A large block fills its own chunk. Then the room of the old chunk is worth more than the rest of the new one,
        // unless that can grow.
        if (resizing_source<Source> || chunk->end() - (block + bytes) >= end_ - next_) {
            next_ = block + bytes + gap_behind(static_cast<std::size_t>(chunk->end() - (block + bytes)));
            end_ = chunk->end();
        }
        return block;
    }

    // Over a source that resizes, the room is always that of the newest chunk, if there is one.
    [[nodiscard]] bool grow_by(std::size_t bytes) noexcept
        requires resizing_source<Source>
    {
        const char* const chunk = reinterpret_cast<const char*>(chunks_.newest());
        end_ = chunks_.resize_newest(static_cast<std::size_t>(next_ - chunk) + bytes);
        return static_cast<std::size_t>(end_ - next_) >= bytes;
    }

    void shrink_to(checkpoint_type& place) noexcept
        requires resizing_source<Source>
    {
        if (managed_allocator<Source> && place.newest_ == nullptr) return chunks_.reset();
        chunks_.spare_down_to(place.newest_);
        if (place.newest_ == nullptr) return;
        const char* const chunk = reinterpret_cast<const char*>(place.newest_);
        place.end_ = chunks_.resize_newest(static_cast<std::size_t>(place.next_ - chunk));
    }

    void start_in_buffer() noexcept {
        has_short_gap_ = false;
        next_ = static_cast<char*>(buffer_.memory);
        end_ = next_ + buffer_.bytes;
        detail::poison(next_, buffer_.bytes);
    }

    static constexpr std::size_t gap_bytes = 8;
    // The free bytes needed behind a block: a chunk that grows later would put the next block where the gap was short.
    static constexpr std::size_t gap_needed = detail::address_sanitizer && resizing_source<Source> ? gap_bytes : 0;
    template <int Which>
    struct empty_member {
        constexpr empty_member(bool) noexcept {}
        constexpr operator bool() const noexcept { return false; }
    };

    char* next_ = nullptr;
    char* end_ = nullptr;
    chunks_type chunks_;
    initial_buffer buffer_{nullptr, 0};
    monotonic* forward_ = nullptr;
    // Under an address sanitizer: no block lies in the initial buffer of an allocator that was absorbed.
    [[no_unique_address]] std::conditional_t<detail::address_sanitizer, bool, empty_member<0>> is_all_known_ = true;
    // Under an address sanitizer: some block of a chunk that may grow has less than a whole gap behind it.
    [[no_unique_address]] std::conditional_t<gap_needed != 0, bool, empty_member<1>> has_short_gap_ = false;
};

}  // namespace millpond::inline MILLPOND_ABI
