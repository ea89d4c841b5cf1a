// SPDX-License-Identifier: BSL-1.0
// slab_pool: a place that owns one pool for the whole process, in which the address of a block tells its size.
//
//   slab of 64 KiB  │ 32 │ 32 │ 32 │ …      blocks of one size; blocks have no head
//   free_bytes(p)   address ─▶ slab ─▶ 32; an address in no slab is malloc's, and goes to free
//
// Use it in the place of process_pool for code that frees without a size (free, realloc, delete through a base), also
// where blocks of malloc arrive at the same free. Do not use it for a few small objects: each size takes a slab.
// synchronized_slab_pool is for several threads, and takes a lock for each call; process_pool's own form needs none,
// but has no sizes by address.
//
// Members, besides the names of containers, make_shared, make_unique and resource as in process_pool:
//   pool()                        multipool over slabs; in_mode applies
//   make<T>(…), destroy(p)        in the place of new and delete; p may be of a base with a virtual destructor
//   allocate_bytes(n)             of malloc: null if there is no memory; aligned as malloc aligns
//   free_bytes(p)                 of free, for blocks of the pool and of malloc
//   resize_bytes(p, n)            of realloc, for both; what it returns is for free_bytes
//   owns(p)                       true if the block is one of the pool
//   deallocate_bytes(p, n), resize_bytes(p, n, new_n)      as free_bytes and resize_bytes, where the size is known
//
// Requests of these above 32 KiB are malloc's. The pool's slabs come in chunks of 2 MiB, doubling up to 64 MiB, and
// serve their size until the process ends. The pool is never destroyed, so static containers may use it to the end.
// Cost: allocation as multipool; a free by address 3 loads more. 64 KiB of addresses for each tag. slab_pool is for one
// thread at a time, except owns. In a child made by fork, the synchronized one works only if no thread was inside.
// Throws: make and the containers throw std::bad_alloc, and what constructors throw; then nothing leaks.
//
// Example:
//     using nodes = millpond::advise::slab_pool<struct nodes_tag>;
//     void* const block = nodes::allocate_bytes(50);
//     void* const other = std::malloc(50);
//     assert(nodes::owns(block) && !nodes::owns(other));
//     nodes::free_bytes(nodes::resize_bytes(block, 5000));
//     nodes::free_bytes(other);
#pragma once

#include "../core/abi.hpp"
#include "../core/four_an_octave.hpp"
#include "../local/multipool.hpp"
#include "../wrap/in_mode.hpp"
#include "../wrap/synchronized.hpp"
#include "detail/address_slabs.hpp"
#include "detail/lasting.hpp"
#include "detail/place.hpp"
#include "detail/slab_blocks.hpp"

namespace millpond::inline MILLPOND_ABI::advise {

template <class Tag>
class slab_pool : public detail::pool_place<slab_pool<Tag>>,
                  public detail::slab_blocks<slab_pool<Tag>, detail::address_slabs<slab_pool<Tag>>> {
  public:
    using pool_type = in_mode<multipool<detail::address_slabs<slab_pool>, four_an_octave<slab_pool::pooled_bytes_max>>>;

    [[nodiscard]] static pool_type& pool() { return detail::only_pool<slab_pool, pool_type, 0>(); }
};

template <class Tag>
class synchronized_slab_pool
    : public detail::pool_place<synchronized_slab_pool<Tag>>,
      public detail::slab_blocks<synchronized_slab_pool<Tag>, detail::address_slabs<synchronized_slab_pool<Tag>>> {
    using unlocked = multipool<detail::address_slabs<synchronized_slab_pool>,
                               four_an_octave<synchronized_slab_pool::pooled_bytes_max>>;

  public:
    using pool_type = in_mode<synchronized<unlocked>>;

    [[nodiscard]] static pool_type& pool() { return detail::only_pool<synchronized_slab_pool, pool_type, 0>(); }
};

}  // namespace millpond::inline MILLPOND_ABI::advise
