// SPDX-License-Identifier: BSL-1.0
// allocator_nature: two properties that checked has to know of an allocator: whether two threads may be inside at once,
// and whether the source beneath it may be destroyed first.
//
//   is_for_one_thread<A>    multipool<…>, monotonic<…>, compact_pool<…>, region, …   calls that overlap are a misuse
//   has_lasting_source<A>   multipool<>, arena: the process's memory      memory may go back to it later than asked
//                           multipool<upstream_resource>: a resource elsewhere      memory goes back at once
//
// Specialise either for an allocator of your own. By default an allocator is for several threads, and its source may be
// destroyed first. Compile-time only.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include "../core/abi.hpp"
#include "../core/concepts.hpp"
#include "../core/detail/alignment.hpp"
#include "../core/size_class_scheme.hpp"

namespace millpond::inline MILLPOND_ABI {

class chunk_cache;
class new_delete;
class fixed_buffer;
template <class Pages>
class basic_region;
template <block_source Source, size_class_scheme Classes>
class multipool;
template <block_source Source, size_class_scheme Classes>
class synchronized_multipool;
template <block_source Source>
class monotonic;
template <class Shape, block_source Source>
class basic_compact_pool;
template <block_source A>
class counted;
template <block_source A>
class limited;
template <block_source Allocator, class Mutex>
class synchronized;
template <class Alloc>
class std_source;
struct initial_buffer;
template <class Source>
class source_ref;

// True if calls of two threads must not overlap.
template <class A>
inline constexpr bool is_for_one_thread = false;
template <>
inline constexpr bool is_for_one_thread<fixed_buffer> = true;
template <class Pages>
inline constexpr bool is_for_one_thread<basic_region<Pages>> = true;
template <block_source Source, size_class_scheme Classes>
inline constexpr bool is_for_one_thread<multipool<Source, Classes>> = true;
template <block_source Source>
inline constexpr bool is_for_one_thread<monotonic<Source>> = true;
template <class Shape, block_source Source>
inline constexpr bool is_for_one_thread<basic_compact_pool<Shape, Source>> = true;
template <block_source A>
inline constexpr bool is_for_one_thread<counted<A>> = true;
template <block_source A>
inline constexpr bool is_for_one_thread<limited<A>> = true;

// True if all memory comes from the process itself, or from what the allocator owns.
template <class A>
inline constexpr bool has_lasting_source = false;
template <>
inline constexpr bool has_lasting_source<chunk_cache> = true;
template <>
inline constexpr bool has_lasting_source<new_delete> = true;
template <>
inline constexpr bool has_lasting_source<fixed_buffer> = true;  // its memory must outlive it
template <class Pages>
inline constexpr bool has_lasting_source<basic_region<Pages>> = true;
template <block_source Source, size_class_scheme Classes>
inline constexpr bool has_lasting_source<multipool<Source, Classes>> = has_lasting_source<Source>;
template <block_source Source, size_class_scheme Classes>
inline constexpr bool has_lasting_source<synchronized_multipool<Source, Classes>> = has_lasting_source<Source>;
template <block_source Source>
inline constexpr bool has_lasting_source<monotonic<Source>> = has_lasting_source<Source>;
template <class Shape, block_source Source>
inline constexpr bool has_lasting_source<basic_compact_pool<Shape, Source>> = has_lasting_source<Source>;
template <block_source A>
inline constexpr bool has_lasting_source<counted<A>> = has_lasting_source<A>;
template <block_source A>
inline constexpr bool has_lasting_source<limited<A>> = has_lasting_source<A>;
template <block_source A, class Mutex>
inline constexpr bool has_lasting_source<synchronized<A, Mutex>> = has_lasting_source<A>;

}  // namespace millpond::inline MILLPOND_ABI

namespace millpond::inline MILLPOND_ABI::detail {

// True if blocks may as well lie elsewhere in the process's memory: neither a buffer nor a source was given for them.
template <class A>
inline constexpr bool is_of_plain_memory = false;
template <>
inline constexpr bool is_of_plain_memory<chunk_cache> = true;
template <>
inline constexpr bool is_of_plain_memory<new_delete> = true;
template <class Pages>
inline constexpr bool is_of_plain_memory<basic_region<Pages>> = true;
template <class T>
inline constexpr bool is_of_plain_memory<std_source<std::allocator<T>>> = true;
template <class Source>
inline constexpr bool is_of_plain_memory<source_ref<Source>> = is_of_plain_memory<Source>;
template <block_source Source, size_class_scheme Classes>
inline constexpr bool is_of_plain_memory<multipool<Source, Classes>> = is_of_plain_memory<Source>;
template <block_source Source, size_class_scheme Classes>
inline constexpr bool is_of_plain_memory<synchronized_multipool<Source, Classes>> = is_of_plain_memory<Source>;
template <block_source Source>
inline constexpr bool is_of_plain_memory<monotonic<Source>> = is_of_plain_memory<Source>;
template <class Shape, block_source Source>
inline constexpr bool is_of_plain_memory<basic_compact_pool<Shape, Source>> = is_of_plain_memory<Source>;
template <block_source A>
inline constexpr bool is_of_plain_memory<counted<A>> = is_of_plain_memory<A>;
template <block_source A>
inline constexpr bool is_of_plain_memory<limited<A>> = is_of_plain_memory<A>;
template <block_source A, class Mutex>
inline constexpr bool is_of_plain_memory<synchronized<A, Mutex>> = is_of_plain_memory<A>;

// True if several threads may call the allocator at once, but not during reset, release and destruction.
template <class A>
inline constexpr bool ends_alone = false;
template <block_source Source, size_class_scheme Classes>
inline constexpr bool ends_alone<synchronized_multipool<Source, Classes>> = true;

// True if all memory lies in a buffer that the program provided.
template <class A>
inline constexpr bool stands_on_buffer = false;
template <>
inline constexpr bool stands_on_buffer<fixed_buffer> = true;
template <block_source Source, size_class_scheme Classes>
inline constexpr bool stands_on_buffer<multipool<Source, Classes>> = stands_on_buffer<Source>;
template <block_source Source, size_class_scheme Classes>
inline constexpr bool stands_on_buffer<synchronized_multipool<Source, Classes>> = stands_on_buffer<Source>;
template <block_source Source>
inline constexpr bool stands_on_buffer<monotonic<Source>> = stands_on_buffer<Source>;
template <class Shape, block_source Source>
inline constexpr bool stands_on_buffer<basic_compact_pool<Shape, Source>> = stands_on_buffer<Source>;
template <block_source A>
inline constexpr bool stands_on_buffer<counted<A>> = stands_on_buffer<A>;
template <block_source A>
inline constexpr bool stands_on_buffer<limited<A>> = stands_on_buffer<A>;

// True if one of the constructor arguments of an allocator determines where its memory is.
template <class... Arguments>
inline constexpr bool names_buffer =
    ((std::is_pointer_v<std::decay_t<Arguments>> || std::is_same_v<std::remove_cvref_t<Arguments>, initial_buffer>) ||
     ...);

// The allocator that supplies the blocks of A, without the layers around it that count, limit or lock.
template <class A>
struct giver_of {
    using type = A;
};
template <block_source A>
struct giver_of<counted<A>> : giver_of<A> {};
template <block_source A>
struct giver_of<limited<A>> : giver_of<A> {};
template <block_source A, class Mutex>
struct giver_of<synchronized<A, Mutex>> : giver_of<A> {};

// Returns: the bytes that the allocator would hold for such a block; or `bytes` rounded up so that the next block,
// which may have the same alignment, begins right behind.
template <class A>
[[nodiscard]] constexpr std::size_t held_for(std::size_t bytes, std::size_t alignment) noexcept {
    using giver = typename giver_of<A>::type;
    if (bytes == 0) return 0;  // the allocator has no such block
    if constexpr (requires { giver::block_bytes(bytes, alignment); }) {
        if (const std::size_t held = giver::block_bytes(bytes, alignment); held >= bytes) return held;
    }
    if (bytes > max_bytes / 2 || alignment > 4096) return bytes;
    return align_up(bytes, alignment < default_alignment ? default_alignment : alignment);
}

// True for allocators that return nothing to their source before release.
template <class A>
inline constexpr bool keeps_everything = false;
template <block_source Source>
inline constexpr bool keeps_everything<monotonic<Source>> = true;

// Returns: true if the allocator keeps a freed block of this size, so that its contents can be checked later, even if
// the source is gone by then.
template <class A>
[[nodiscard]] constexpr bool keeps_freed(std::size_t bytes, std::size_t alignment) noexcept {
    if constexpr (requires { A::block_bytes(bytes, alignment); }) {
        return A::block_bytes(bytes, alignment) != 0;
    } else {
        return keeps_everything<A>;
    }
}

}  // namespace millpond::inline MILLPOND_ABI::detail
