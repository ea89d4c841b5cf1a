// SPDX-License-Identifier: BSL-1.0
// arena_place: what scope_arena and thread_arena offer over the arena that is current when a container is made.
#pragma once

#include "../../core/abi.hpp"
#include "../arena_allocator.hpp"
#include "../containers.hpp"
#include "headed_blocks.hpp"
#include "made_object.hpp"
#include "owning_pointers.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Place>
struct arena_allocators {
    template <class T>
    using of = advise::arena_allocator<T, Place>;
};

template <class Place>
class arena_place : public advise::containers<arena_allocators<Place>::template of>,
                    public owning_pointers<arena_allocators<Place>::template of>,
                    public object_functions<arena_allocators<Place>::template of>,
                    public headed_blocks<arena_allocators<Place>::template of> {};

}  // namespace millpond::inline MILLPOND_ABI::detail
