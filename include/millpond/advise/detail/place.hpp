// SPDX-License-Identifier: BSL-1.0
// place: the parts that places share: names of containers over one allocator, owning pointers, a resource.
//
//   pool_place    containers, make_shared, make_unique, resource      over pool_allocator: one pool for the process
//   sized_place   make, destroy; allocate_bytes and its relatives     a free tells the size
#pragma once

#if __has_include(<memory_resource>)  // else core/abi.hpp says which library has it
#include <memory_resource>
#endif

#include "../../bind/resource.hpp"
#include "../../core/abi.hpp"
#include "../containers.hpp"
#include "../pool_allocator.hpp"
#include "lasting.hpp"
#include "made_object.hpp"
#include "owning_pointers.hpp"
#include "sized_blocks.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// The allocator template of a place whose pool is the process's.
template <class Place>
struct pool_allocators {
    template <class T>
    using of = advise::pool_allocator<T, Place>;
};

template <class Place>
class pool_place : public advise::containers<pool_allocators<Place>::template of>,
                   public owning_pointers<pool_allocators<Place>::template of> {
  public:
    // Returns: the pool, for containers of std::pmr. It is never destroyed.
    [[nodiscard]] static std::pmr::memory_resource* resource() {
        static lasting<millpond::resource<typename Place::pool_type&>> only(Place::pool());
        return &only.object;
    }
};

template <class Place>
class sized_place : public object_functions<pool_allocators<Place>::template of>, public sized_blocks<Place> {};

}  // namespace millpond::inline MILLPOND_ABI::detail
