// SPDX-License-Identifier: BSL-1.0
// allocator_nature: what checked has to know of an allocator that the allocator does not say: whether two threads may
// be inside at once, and whether what it stands on may go before it.
//
//   is_for_one_thread<A>    multipool<…>, monotonic<…>, compact_pool<…>, region, …   calls that overlap are a misuse
//   has_lasting_source<A>   multipool<>, arena: the process's memory      memory may go back to it later than asked
//                           multipool<upstream_resource>: a resource elsewhere      memory goes back at once
//
// Specialise either for an allocator of your own. What nobody says is for several threads, and its source may go.
// Compile-time only.
#pragma once

#include <cstddef>
#include <type_traits>

#include "../core/abi.hpp"
#include "../core/concepts.hpp"
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

// True for allocators that give nothing back to their source before release.
template <class A>
inline constexpr bool keeps_everything = false;
template <block_source Source>
inline constexpr bool keeps_everything<monotonic<Source>> = true;

// Returns: true if the allocator keeps a block of this size when it is given back: what lies in it can be looked at
// later, even if the source is gone by then.
template <class A>
[[nodiscard]] constexpr bool keeps_freed(std::size_t bytes, std::size_t alignment) noexcept {
    if constexpr (requires { A::block_bytes(bytes, alignment); }) {
        return A::block_bytes(bytes, alignment) != 0;
    } else {
        return keeps_everything<A>;
    }
}

}  // namespace millpond::inline MILLPOND_ABI::detail
