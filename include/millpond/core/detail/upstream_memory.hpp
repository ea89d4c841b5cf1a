// SPDX-License-Identifier: BSL-1.0
// upstream_memory: memory of a standard allocator by its address, whichever pointer type the allocator has.
//
//   std::allocator<T>                      T*                 nothing is converted
//   boost::interprocess::allocator<T, …>   offset_ptr<T>      by std::to_address, back by std::pointer_traits
//
// Our pools and trees hold addresses; the standard's containers hold the allocator's pointers. Requires of a pointer
// type that pointer_to makes the pointer that the allocator gave, as the standard's requirements say.
// Costs nothing for plain pointers, else one conversion. Thread-safety: that of the allocator.
//
// Example:
//     std::allocator<int> alloc;
//     int* const place = millpond::detail::allocate_at_address(alloc, 2);
//     millpond::detail::deallocate_at_address(alloc, place, 2);
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include "../abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// Returns: the pointer to the object at `address`, which is not null.
template <class Pointer>
[[nodiscard]] constexpr Pointer pointer_to(typename std::pointer_traits<Pointer>::element_type* address) noexcept {
    if constexpr (std::is_pointer_v<Pointer>) {
        return address;
    } else {
        return std::pointer_traits<Pointer>::pointer_to(*address);
    }
}

// Throws: what the allocator throws.
template <class Alloc>
[[nodiscard]] constexpr auto* allocate_at_address(Alloc& alloc, std::size_t n) {
    return std::to_address(std::allocator_traits<Alloc>::allocate(alloc, n));
}

// Effects: gives back what allocate_at_address(alloc, n) returned.
template <class Alloc>
constexpr void deallocate_at_address(Alloc& alloc, typename std::allocator_traits<Alloc>::value_type* address,
                                     std::size_t n) noexcept {
    using traits = std::allocator_traits<Alloc>;
    traits::deallocate(alloc, pointer_to<typename traits::pointer>(address), n);
}

}  // namespace millpond::inline MILLPOND_ABI::detail
