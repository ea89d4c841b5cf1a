// SPDX-License-Identifier: BSL-1.0
// made_object: constructs an object in a block, and gives the block back if the constructor throws.
#pragma once

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "../../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// Returns: a T in `place`, made by T(…), or by T{…} where there is no such constructor. Throws: what the constructor
// throws, after give_back(place).
template <class T, class GiveBack, class... Arguments>
[[nodiscard]] T* made_object(void* place, GiveBack give_back, Arguments&&... arguments) {
    struct guard {
        GiveBack& give_back;
        void* block;
        ~guard() {
            if (block != nullptr) give_back(block);
        }
    } unfinished{give_back, place};
    T* object;
    if constexpr (std::is_constructible_v<T, Arguments...>)
        object = ::new (place) T(std::forward<Arguments>(arguments)...);
    else
        object = ::new (place) T{std::forward<Arguments>(arguments)...};
    unfinished.block = nullptr;
    return object;
}

// The same in a block of an allocator of T.
template <class T, class Allocator, class... Arguments>
[[nodiscard]] T* made_by(Allocator& from, Arguments&&... arguments) {
    T* const place = from.allocate(1);
    return made_object<T>(
        place, [&](void*) noexcept { from.deallocate(place, 1); }, std::forward<Arguments>(arguments)...);
}

// make and destroy of a place, for objects of exactly the type T.
template <template <class> class Allocator>
class object_functions {
  public:
    template <class T, class... Arguments>
    [[nodiscard]] static T* make(Arguments&&... arguments) {
        Allocator<T> from;
        return made_by<T>(from, std::forward<Arguments>(arguments)...);
    }
    template <class T>
    static void destroy(T* object) noexcept {
        if (object == nullptr) return;
        std::destroy_at(object);
        Allocator<T>().deallocate(object, 1);
    }
};

}  // namespace millpond::inline MILLPOND_ABI::detail
