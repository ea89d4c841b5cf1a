// SPDX-License-Identifier: BSL-1.0
// process_pool: a place that owns one pool for the whole process, with every container over it.
//
//   using orders = process_pool<struct orders_tag>;
//   orders::map<int, order> open;        ─┐
//   orders::list<order> done;            ─┴─▶ orders::pool()      one for each tag; nothing has to be passed
//   order* one = orders::make<order>(7); ─┘
//
// Use it to give a part of a program a pool of its own: declare a place for it and change the types of its containers.
// Its objects then lie together, and cost no lock and no head. What it frees serves it only, until the process ends.
// Use scope_arena if nothing outlives a call, phase_arena if nothing outlives a phase, and slab_pool if a free does not
// know the size of the block. synchronized_process_pool is for several threads.
//
// Classes: the size classes, such as class_map<24, 40>. FirstBytes: what the first chunk serves; 0 means the pool's own
// default. Pools with different Classes or FirstBytes are different ones, so write them in one alias.
//
// Members, besides the names of containers:
//   pool()                                      the pool: multipool, or synchronized_multipool; in_mode applies
//   make<T>(…), destroy(p)                      in the place of new and delete, for objects of exactly the type T
//   make_shared<T>(…), make_unique<T>(…)        of std::make_shared and std::make_unique; the latter returns unique_ptr
//   allocate_bytes(n)                           of malloc: null if there is no memory; aligned as malloc aligns
//   deallocate_bytes(p, n)                      of free
//   resize_bytes(p, n, new_n)                   of realloc; it always moves
//   resource()                                  the pool as a std::pmr::memory_resource
//
// The pool is made at its first use, or by the compiler where it can, and never destroyed: static containers may use it
// to the very end, and it returns its memory with the process. Nothing ever resets it.
// Cost: that of the pool: for a size that the compiler knows, the same instructions as with a static multipool.
// process_pool is for one thread at a time, whichever it is; any thread may free. In a child made by fork it works as
// before; the synchronized one also if another thread was inside (synchronized_multipool.hpp).
// Throws: make and the containers throw std::bad_alloc, and what constructors throw; then nothing leaks.
//
// Example:
//     using orders = millpond::advise::process_pool<struct orders_tag, millpond::class_map<24, 40>>;
//     orders::map<int, orders::string> names;
//     names.emplace(7, "a name that is too long for the small buffer of a string");
//     int* const number = orders::make<int>(7);
//     orders::destroy(number);
//     void* const block = orders::resize_bytes(orders::allocate_bytes(50), 50, 100);
//     orders::deallocate_bytes(block, 100);
#pragma once

#include <cstddef>
#if __has_include(<memory_resource>)  // else core/abi.hpp says which library has it
#include <memory_resource>
#endif

#include "../block/chunk_cache.hpp"
#include "../core/abi.hpp"
#include "../core/class_map.hpp"
#include "../core/four_an_octave.hpp"
#include "../core/size_class_scheme.hpp"
#include "../local/multipool.hpp"
#include "../local/synchronized_multipool.hpp"
#include "../wrap/in_mode.hpp"
#include "containers.hpp"
#include "detail/lasting.hpp"
#include "detail/place.hpp"
#include "detail/sized_blocks.hpp"

namespace millpond::inline MILLPOND_ABI::advise {

template <class Tag, size_class_scheme Classes = four_an_octave<>, std::size_t FirstBytes = 0>
class process_pool : public detail::pool_place<process_pool<Tag, Classes, FirstBytes>>,
                     public detail::sized_place<process_pool<Tag, Classes, FirstBytes>> {
  public:
    using pool_type = in_mode<multipool<chunk_cache, Classes>>;

    [[nodiscard]] static pool_type& pool() { return detail::only_pool<process_pool, pool_type, FirstBytes>(); }
};

template <class Tag, size_class_scheme Classes = four_an_octave<>, std::size_t FirstBytes = 0>
class synchronized_process_pool : public detail::pool_place<synchronized_process_pool<Tag, Classes, FirstBytes>>,
                                  public detail::sized_place<synchronized_process_pool<Tag, Classes, FirstBytes>> {
  public:
    using pool_type = in_mode<synchronized_multipool<chunk_cache, Classes>>;

    [[nodiscard]] static pool_type& pool() {
        return detail::only_pool<synchronized_process_pool, pool_type, FirstBytes>();
    }
};

}  // namespace millpond::inline MILLPOND_ABI::advise
