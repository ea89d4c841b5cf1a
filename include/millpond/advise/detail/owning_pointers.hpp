// SPDX-License-Identifier: BSL-1.0
// owning_pointers: make_shared, make_unique and unique_ptr of a place.
//
//   make_shared<T>(…)  ─▶ std::shared_ptr<T>; object and counts in one block of the place
//   make_unique<T>(…)  ─▶ unique_ptr<T>, for objects of exactly this type: its deleter knows no other size
#pragma once

#include <memory>
#include <utility>

#include "../../core/abi.hpp"
#include "made_object.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// Destroys an object of exactly this type and gives its block back. Empty where the allocator is.
template <class T, class Allocator>
struct allocator_delete {
    [[no_unique_address]] Allocator from;

    void operator()(T* object) noexcept {
        std::destroy_at(object);
        from.deallocate(object, 1);
    }
};

template <template <class> class Allocator>
class owning_pointers {
  public:
    template <class T>
    using deleter = allocator_delete<T, Allocator<T>>;
    template <class T>
    using unique_ptr = std::unique_ptr<T, deleter<T>>;

    template <class T, class... Arguments>
    [[nodiscard]] static std::shared_ptr<T> make_shared(Arguments&&... arguments) {
        return std::allocate_shared<T>(Allocator<T>(), std::forward<Arguments>(arguments)...);
    }
    template <class T, class... Arguments>
    [[nodiscard]] static unique_ptr<T> make_unique(Arguments&&... arguments) {
        deleter<T> own{};
        return unique_ptr<T>(made_by<T>(own.from, std::forward<Arguments>(arguments)...), own);
    }
};

}  // namespace millpond::inline MILLPOND_ABI::detail
