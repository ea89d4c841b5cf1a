// SPDX-License-Identifier: BSL-1.0
// counted_tree_slots: the elements of a counted_tree in a leaf, kept so that moving one within the tree cannot fail.
//
//   moves without exceptions, ≤ 64 bytes   │ T │ T │ T │ …   in the leaf itself
//   everything else                        │ ● │ ● │ ● │ …   a pointer to an element of its own: it never moves
//                                            └─▶ T
//
// Part of counted_tree. A leaf shifts its elements at each insertion and passes half of them on when it is split. An
// element whose move may throw would leave a hole there. It gets memory of its own instead, so every operation keeps
// the strong guarantee. The key of a std::pair<const Key, Value> is moved all the same: the pair is made again
// elsewhere.
//
// create, destroy: O(1). relocate: O(elements), memmove if T allows. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "../../core/abi.hpp"
#include "../../core/detail/upstream_memory.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class T>
struct relocation {
    static constexpr bool is_safe = std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>;

    template <class Alloc>
    static void construct(Alloc& alloc, T* to, T* from) noexcept {
        std::allocator_traits<Alloc>::construct(alloc, to, std::move(*from));
    }
};
template <class Key, class Value>
struct relocation<std::pair<const Key, Value>> {
    using pair = std::pair<const Key, Value>;
    static constexpr bool is_safe = relocation<Key>::is_safe && relocation<Value>::is_safe;

    template <class Alloc>
    static void construct(Alloc& alloc, pair* to, pair* from) noexcept {
        std::allocator_traits<Alloc>::construct(alloc, to, std::move(const_cast<Key&>(from->first)),
                                                std::move(from->second));
    }
};

template <class T>
inline constexpr bool is_kept_in_leaf = relocation<T>::is_safe && sizeof(T) <= 64 && alignof(T) <= 16;

// Elements in the leaf itself.
template <class T, bool InLeaf = is_kept_in_leaf<T>>
class leaf_slot {
  public:
    static constexpr bool is_bitwise = std::is_trivially_move_constructible_v<T> && std::is_trivially_destructible_v<T>;

    [[nodiscard]] T& value() noexcept { return *std::launder(reinterpret_cast<T*>(bytes_)); }
    [[nodiscard]] const T& value() const noexcept { return *std::launder(reinterpret_cast<const T*>(bytes_)); }

    template <class Alloc, class... Arguments>
    void create(Alloc& alloc, Arguments&&... arguments) {
        std::allocator_traits<Alloc>::construct(alloc, reinterpret_cast<T*>(bytes_),
                                                std::forward<Arguments>(arguments)...);
    }
    template <class Alloc>
    void destroy(Alloc& alloc) noexcept {
        std::allocator_traits<Alloc>::destroy(alloc, std::addressof(value()));
    }

    // Effects: moves the element to a slot elsewhere; what is left here may only be destroyed.
    template <class Alloc>
    void give(Alloc& alloc, leaf_slot& to) noexcept {
        relocation<T>::construct(alloc, reinterpret_cast<T*>(to.bytes_), std::addressof(value()));
    }

    // Effects: moves `n` elements from `from` to `to`, which holds no others; the two may overlap.
    template <class Alloc>
    static void relocate([[maybe_unused]] Alloc& alloc, leaf_slot* to, leaf_slot* from, std::size_t n) noexcept {
        if constexpr (is_bitwise) {
            std::memmove(static_cast<void*>(to), static_cast<const void*>(from), n * sizeof(leaf_slot));
        } else if (to < from) {
            for (std::size_t i = 0; i < n; ++i) relocate_one(alloc, to[i], from[i]);
        } else {
            for (std::size_t i = n; i-- > 0;) relocate_one(alloc, to[i], from[i]);
        }
    }

  private:
    template <class Alloc>
    static void relocate_one(Alloc& alloc, leaf_slot& to, leaf_slot& from) noexcept {
        relocation<T>::construct(alloc, reinterpret_cast<T*>(to.bytes_), std::addressof(from.value()));
        from.destroy(alloc);
    }

    alignas(T) unsigned char bytes_[sizeof(T)];
};

// Elements with memory of their own.
template <class T>
class leaf_slot<T, false> {
  public:
    [[nodiscard]] T& value() noexcept { return *element_; }
    [[nodiscard]] const T& value() const noexcept { return *element_; }

    template <class Alloc, class... Arguments>
    void create(Alloc& alloc, Arguments&&... arguments) {
        using element_alloc = typename std::allocator_traits<Alloc>::template rebind_alloc<T>;
        struct memory {
            element_alloc alloc;
            T* place;
            ~memory() {
                if (place != nullptr) deallocate_at_address(alloc, place, 1);
            }
        };
        element_alloc own(alloc);
        memory made{own, allocate_at_address(own, 1)};
        std::allocator_traits<Alloc>::construct(alloc, made.place, std::forward<Arguments>(arguments)...);
        element_ = std::exchange(made.place, nullptr);
    }
    template <class Alloc>
    void give(Alloc&, leaf_slot& to) noexcept {
        to.element_ = std::exchange(element_, nullptr);
    }
    template <class Alloc>
    void destroy(Alloc& alloc) noexcept {
        if (element_ == nullptr) return;
        using element_alloc = typename std::allocator_traits<Alloc>::template rebind_alloc<T>;
        std::allocator_traits<Alloc>::destroy(alloc, element_);
        element_alloc own(alloc);
        deallocate_at_address(own, element_, 1);
    }
    template <class Alloc>
    static void relocate(Alloc&, leaf_slot* to, leaf_slot* from, std::size_t n) noexcept {
        std::memmove(static_cast<void*>(to), static_cast<const void*>(from), n * sizeof(leaf_slot));
    }

  private:
    T* element_;
};

// An element made before the tree makes room for it, because its arguments may lie in the tree.
template <class T, class Alloc>
class held_element {
  public:
    template <class... Arguments>
    explicit held_element(Alloc& alloc, Arguments&&... arguments) : alloc_(alloc) {
        slot_.create(alloc_, std::forward<Arguments>(arguments)...);
    }
    held_element(const held_element&) = delete;
    held_element& operator=(const held_element&) = delete;
    ~held_element() {
        if (is_here_) slot_.destroy(alloc_);
    }

    [[nodiscard]] const T& value() const noexcept { return slot_.value(); }
    void pass_on(leaf_slot<T>& to) noexcept {
        leaf_slot<T>::relocate(alloc_, &to, &slot_, 1);
        is_here_ = false;
    }

  private:
    Alloc& alloc_;
    leaf_slot<T> slot_;
    bool is_here_ = true;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
