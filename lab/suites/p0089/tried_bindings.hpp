// SPDX-License-Identifier: BSL-1.0
// tried_bindings: bindings that differ from type, or from base, in one detail that may cause an anomaly.
//
//   type_called     the pool's own functions, called instead of inlined, with sizes that the caller keeps to itself
//   type_padded     a handle of two pointers: every container is larger by one
//   type_written    the first byte of every block is written as soon as it is handed out
//   base_may_throw  copies of the handle are not noexcept. Where a container's move is noexcept only if its
//                   allocator's is, a vector of such containers copies them when it grows, by std::move_if_noexcept
//   base_copied     containers in containers whose moves are not noexcept, so that this happens with every library
//
// On one pool, and compiled for the structures that the anomaly was seen in (pools.hpp, strategy.hpp). Costs are those
// of the binding that they differ from, and what they are named after.
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <type_traits>
#include <utility>

#include "base_pool.hpp"
#include "lab/suites/common/bindings.hpp"
#include "lab/suites/common/hidden.hpp"
#include "millpond/bind/is_winkable.hpp"
#include "millpond/local/multipool.hpp"

namespace millpond::p0089 {

// A pool out of line. Sizes and alignments are hidden: otherwise the compiler would make functions for single values.
template <class A>
class called_pool {
  public:
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        return allocate_out_of_line(suites::hidden(bytes), suites::hidden(alignment));
    }
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        return pool_.try_allocate(bytes, alignment);
    }
    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        deallocate_out_of_line(block, suites::hidden(bytes), suites::hidden(alignment));
    }

  private:
    [[gnu::noinline]] void* allocate_out_of_line(std::size_t bytes, std::size_t alignment) {
        return pool_.allocate(bytes, alignment);
    }
    [[gnu::noinline]] void deallocate_out_of_line(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        pool_.deallocate(block, bytes, alignment);
    }

    A pool_;
};

template <class A>
class written {
  public:
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        void* const block = pool_.allocate(bytes, alignment);
        *static_cast<volatile char*>(block) = 0;
        return block;
    }
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        return pool_.try_allocate(bytes, alignment);
    }
    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        pool_.deallocate(block, bytes, alignment);
    }

  private:
    A pool_;
};

template <class T, class A>
class padded_allocator : public allocator<T, A> {
  public:
    using allocator<T, A>::allocator;
    template <class U>
    padded_allocator(const allocator<U, A>& other) noexcept : allocator<T, A>(other) {}
    template <class U>
    struct rebind {
        using other = padded_allocator<U, A>;
    };

  private:
    void* padding_ = nullptr;
};

template <class A>
struct by_padded_type : suites::by_type<A> {
    template <class T>
    using allocator = padded_allocator<T, A>;
    template <class T>
    static allocator<T> bind(A& pool) noexcept {
        return &pool;
    }
};

template <class T>
class may_throw_allocator : public std::pmr::polymorphic_allocator<T> {
  public:
    may_throw_allocator(std::pmr::memory_resource* resource) noexcept : std::pmr::polymorphic_allocator<T>(resource) {}
    may_throw_allocator(const may_throw_allocator& other) noexcept(false)
        : std::pmr::polymorphic_allocator<T>(other.resource()) {}
    template <class U>
    may_throw_allocator(const std::pmr::polymorphic_allocator<U>& other) noexcept
        : std::pmr::polymorphic_allocator<T>(other.resource()) {}
    may_throw_allocator& operator=(const may_throw_allocator&) = delete;
    // The base's is deprecated.
    template <class U>
    void destroy(U* object) noexcept {
        std::destroy_at(object);
    }
    [[nodiscard]] may_throw_allocator select_on_container_copy_construction() const { return *this; }
};

template <class Pool>
struct by_may_throw_base : by_made_base<Pool> {
    template <class T>
    using allocator = may_throw_allocator<T>;
    template <class T>
    static allocator<T> bind(Pool& pool) noexcept {
        return by_made_base<Pool>::handle(pool);
    }
};

template <class Container>
class moved_at_risk : public Container {
  public:
    using Container::Container;
    moved_at_risk() = default;
    moved_at_risk(const moved_at_risk&) = default;
    moved_at_risk(moved_at_risk&& other) noexcept(false) : Container(std::move(other)) {}
    moved_at_risk& operator=(const moved_at_risk&) = default;
    moved_at_risk& operator=(moved_at_risk&&) = default;
    ~moved_at_risk() = default;
};

template <class Pool>
struct by_copied_base : by_made_base<Pool> {
    template <class Container>
    using nested = moved_at_risk<Container>;
};

template <binding_kind Kind, class C>
struct tried_binding {
    static constexpr binding_kind kind = Kind;
    using way = C;
};
template <class... Tried>
struct tried_list {};

using tried_nowhere = tried_list<>;
using tried_by_type = tried_list<tried_binding<binding_kind::type_called, suites::by_type<called_pool<multipool<>>>>,
                                 tried_binding<binding_kind::type_padded, by_padded_type<multipool<>>>,
                                 tried_binding<binding_kind::type_written, suites::by_type<written<multipool<>>>>>;
using tried_by_base = tried_list<tried_binding<binding_kind::base_may_throw, by_may_throw_base<base_pool>>,
                                 tried_binding<binding_kind::base_copied, by_copied_base<base_pool>>>;

}  // namespace millpond::p0089

namespace millpond {

template <class T, class A>
struct is_binding<p0089::padded_allocator<T, A>> : std::true_type {};
template <class T>
struct is_binding<p0089::may_throw_allocator<T>> : std::true_type {};
template <class Container>
struct is_winkable<p0089::moved_at_risk<Container>> : is_winkable<Container> {};

}  // namespace millpond
