// SPDX-License-Identifier: BSL-1.0
// instance_pool: a place in which each container owns a pool.
//
//   queues::map<int, job> first;    ─▶ pool 1         ends with `first`, and takes all its memory along
//   queues::map<int, job> second;   ─▶ pool 2
//   std::vector<queues::string, queues::scoped_allocator<queues::string>>        the strings use the vector's pool
//
// Use it for containers that live at the same time, are filled in turns, and end one by one: in a common pool their
// nodes would be mixed, and freed ones would lie scattered. Do not use it for many small containers (a pool's first
// chunk is 1 KiB), or where elements are spliced between containers.
//
// Members: the names of containers (containers.hpp) over instance_allocator, which says what copies, moves and swaps
// do; pool_type; scoped_allocator, for containers of containers of this place. An object apart from a container has no
// pool, so there is no make, allocate_bytes or resource: give its owner a member of pool_type.
//
// Cost and exceptions: those of instance_allocator. Each container is for one thread at a time. Nothing is shared, so
// fork is safe.
//
// Example:
//     using queues = millpond::advise::instance_pool<struct queues_tag>;
//     queues::map<int, int> first{{1, 2}}, second;
//     second = first;
//     assert(first == second && first.get_allocator() != second.get_allocator());
//     swap(first, second);
#pragma once

#include <scoped_allocator>

#include "../core/abi.hpp"
#include "../local/multipool.hpp"
#include "../wrap/in_mode.hpp"
#include "containers.hpp"
#include "instance_allocator.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Place>
struct instance_allocators {
    template <class T>
    using of = advise::instance_allocator<T, Place>;
};

}  // namespace millpond::inline MILLPOND_ABI::detail

namespace millpond::inline MILLPOND_ABI::advise {

template <class Tag>
class instance_pool : public containers<detail::instance_allocators<instance_pool<Tag>>::template of> {
  public:
    using pool_type = in_mode<multipool<>>;

    // For a container whose elements, containers of this place too, use its pool.
    template <class T>
    using scoped_allocator = std::scoped_allocator_adaptor<instance_allocator<T, instance_pool>>;
};

}  // namespace millpond::inline MILLPOND_ABI::advise
