// SPDX-License-Identifier: BSL-1.0
// concepts: the interfaces of sources and allocators. Every allocator is also a block source, so allocators stack.
//
//   block_source            try_allocate(bytes, alignment) noexcept, deallocate(pointer, bytes, alignment) noexcept
//     └ allocator_like      + allocate(bytes, alignment), which throws std::bad_alloc
//         └ managed_allocator   + release(): all memory back to the source; reset(): memory kept, objects forgotten
//             └ rewindable_allocator   + checkpoint(), rewind(checkpoint)
//
// A block source may offer more, and the allocators above it make use of that:
//   static constexpr std::size_t preferred_chunk_bytes          every chunk is exactly this large, and aligned to it
//   allocation try_allocate_at_least(bytes, alignment)          may give more, so that nothing is left unused
//   std::size_t try_resize(block, bytes, wanted)                moves the end of the block that it gave last
//   void* try_allocate_slab(bytes, alignment, block_bytes)      told what the chunk will be cut into (multipool)
//   static constexpr bool reuses_memory = false                 freed memory is not reused in any order
// Deallocation is sized, as in std::pmr: blocks need no headers. Names follow P0089R0, section 3 ("managed").
#pragma once

#include <concepts>
#include <cstddef>

#include "abi.hpp"
#include "allocation.hpp"

namespace millpond::inline MILLPOND_ABI {

template <class S>
concept block_source = requires(S& source, void* pointer, std::size_t n) {
    { source.try_allocate(n, n) } noexcept -> std::same_as<void*>;
    { source.deallocate(pointer, n, n) } noexcept;
};

template <class A>
concept allocator_like = block_source<A> && requires(A& allocator, std::size_t n) {
    { allocator.allocate(n, n) } -> std::same_as<void*>;
};

template <class A>
concept managed_allocator = allocator_like<A> && requires(A& allocator) {
    { allocator.release() } noexcept;
    { allocator.reset() } noexcept;
};

template <class A>
concept rewindable_allocator = managed_allocator<A> && requires(A& allocator) {
    { allocator.rewind(allocator.checkpoint()) } noexcept;
};

// A source whose chunks all have one size.
template <class S>
concept fixed_chunk_source = block_source<S> && requires {
    { S::preferred_chunk_bytes } -> std::convertible_to<std::size_t>;
};

// A source that rounds chunks up and returns their real size, so that the allocator above can use all of it.
template <class S>
concept rounding_source = block_source<S> && requires(S& source, std::size_t n) {
    { source.try_allocate_at_least(n, n) } noexcept -> std::same_as<allocation>;
};

// A source that can move the end of a block in place (often only of the last block): up, to hold `wanted` bytes or
// more, or down, to the size that it prefers to keep. It returns the block's size now, which is unchanged if it cannot.
template <class S>
concept resizing_source = block_source<S> && requires(S& source, void* block, std::size_t n) {
    { source.try_resize(block, n, n) } noexcept -> std::same_as<std::size_t>;
};

// A source that is told the block size of each chunk, so that a free without a size can find its block.
template <class S>
concept slab_source = block_source<S> && requires(S& source, std::size_t n) {
    { source.try_allocate_slab(n, n, n) } noexcept -> std::same_as<void*>;
};

// True for sources that can reuse memory freed in any order, as most can. An allocator above any other source keeps
// single blocks for itself instead of giving them back.
template <class S>
inline constexpr bool reuses_memory = true;
template <class S>
    requires requires { S::reuses_memory; }
inline constexpr bool reuses_memory<S> = S::reuses_memory;

// True for sources that several threads may call at once; synchronized_multipool calls all others under its lock. You
// may specialise it for a source of your own.
template <class S>
inline constexpr bool is_thread_safe_source = false;

}  // namespace millpond::inline MILLPOND_ABI
