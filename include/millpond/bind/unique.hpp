// SPDX-License-Identifier: BSL-1.0
// unique: std::unique_ptr to objects that live in an allocator: allocate_unique, and the deleter behind it.
//
//   unique_ptr │ object ─────────▶ │ T │   in the pool
//              │ deleter: pool ──▶ destroys the object, gives its block back
//
// Use it for single objects, also polymorphic ones: the deleter of a unique_ptr<Derived> converts to that of its base
// and keeps the size of what was made. The pointer is two or, with a size, three times as large as a plain unique_ptr.
// An object that can take an allocator gets the pool's, as in our containers.
//
// allocate_unique: one allocation and the constructor. It throws what these throw, and then leaks nothing. As
// thread-safe as the pool, which must outlive the pointer.
//
// Example:
//     millpond::multipool<> pool;
//     auto number = millpond::allocate_unique<int>(pool, 42);
//     auto squares = millpond::allocate_unique<int[]>(pool, 100);  // value-initialised
//     squares[99] = 99 * 99;
//     assert(*number == 42 && squares[0] == 0);
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "../core/abi.hpp"
#include "../core/concepts.hpp"
#include "../core/out_of_memory.hpp"
#include "allocator.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// Holds a block that goes back unless it is taken.
template <allocator_like A>
class block_guard {
  public:
    block_guard(A& pool, std::size_t bytes, std::size_t alignment)
        : pool_(pool), block_(pool.allocate(bytes, alignment)), bytes_(bytes), alignment_(alignment) {}
    block_guard(const block_guard&) = delete;
    block_guard& operator=(const block_guard&) = delete;
    ~block_guard() {
        if (block_ != nullptr) pool_.deallocate(block_, bytes_, alignment_);
    }

    [[nodiscard]] void* get() const noexcept { return block_; }
    void take() noexcept { block_ = nullptr; }

  private:
    A& pool_;
    void* block_;
    std::size_t bytes_;
    std::size_t alignment_;
};

}  // namespace millpond::inline MILLPOND_ABI::detail

namespace millpond::inline MILLPOND_ABI {

// Destroys an object of T, or of a class derived from it, and gives its block back.
template <class T, allocator_like A>
class pool_delete {
  public:
    pool_delete() noexcept = default;
    explicit pool_delete(A& pool) noexcept : pool_(&pool), bytes_(sizeof(T)), alignment_(alignof(T)) {}

    // Converts the deleter of a derived class; T must be able to destroy its objects.
    template <class Derived>
        requires(std::is_base_of_v<T, Derived> && !std::is_same_v<T, Derived>)
    pool_delete(const pool_delete<Derived, A>& other) noexcept
        : pool_(other.pool_), bytes_(other.bytes_), alignment_(other.alignment_) {
        static_assert(std::has_virtual_destructor_v<T>, "pool_delete: the base class needs a virtual destructor");
    }

    void operator()(T* object) const noexcept {
        void* block = object;
        if constexpr (std::is_polymorphic_v<T>) block = dynamic_cast<void*>(object);
        std::destroy_at(object);
        pool_->deallocate(block, bytes_, alignment_);
    }

  private:
    template <class, allocator_like>
    friend class pool_delete;

    A* pool_ = nullptr;
    std::size_t bytes_ = 0;
    std::size_t alignment_ = 0;
};

template <class T, allocator_like A>
class pool_delete<T[], A> {
  public:
    pool_delete() noexcept = default;
    pool_delete(A& pool, std::size_t count) noexcept : pool_(&pool), count_(count) {}

    void operator()(T* objects) const noexcept {
        std::destroy_n(objects, count_);
        pool_->deallocate(objects, count_ * sizeof(T), alignof(T));
    }

    [[nodiscard]] std::size_t count() const noexcept { return count_; }

  private:
    A* pool_ = nullptr;
    std::size_t count_ = 0;
};

template <class T, allocator_like A>
using pool_unique_ptr = std::unique_ptr<T, pool_delete<T, A>>;

// Returns: a T in memory of `pool`, made from the arguments. Throws: what the pool and the constructor throw.
template <class T, allocator_like A, class... Arguments>
    requires(!std::is_array_v<T>)
[[nodiscard]] pool_unique_ptr<T, A> allocate_unique(A& pool, Arguments&&... arguments) {
    detail::block_guard<A> memory(pool, sizeof(T), alignof(T));
    T* const object = detail::construct_with(static_cast<T*>(memory.get()), allocator<T, A>(&pool),
                                             std::forward<Arguments>(arguments)...);
    memory.take();
    return pool_unique_ptr<T, A>(object, pool_delete<T, A>(pool));
}

// Returns: `count` value-initialised elements in memory of `pool`. Throws: as above, and std::bad_array_new_length if
// their size in bytes overflows.
template <class T, allocator_like A>
    requires(std::is_unbounded_array_v<T>)
[[nodiscard]] pool_unique_ptr<T, A> allocate_unique(A& pool, std::size_t count) {
    using element = std::remove_extent_t<T>;
    if (count > detail::max_bytes / sizeof(element)) detail::array_too_long(detail::max_bytes, alignof(element));
    detail::block_guard<A> memory(pool, count * sizeof(element), alignof(element));
    auto* const elements = static_cast<element*>(memory.get());
    std::uninitialized_value_construct_n(elements, count);
    memory.take();
    return pool_unique_ptr<T, A>(elements, pool_delete<T, A>(pool, count));
}

}  // namespace millpond::inline MILLPOND_ABI
