// SPDX-License-Identifier: BSL-1.0
// resource: binds containers to an allocator by base: a std::pmr::memory_resource over any allocator.
//
//   std::pmr::vector<…> ──virtual call──▶ resource<multipool<>>  ──▶ the multipool inside it
//   std::pmr::string    ──virtual call──▶ resource<multipool<>&> ──▶ a multipool elsewhere
//
// Use it where the type of the container must not depend on the allocator: at interfaces, and with std::pmr. The price
// is a virtual call for each allocation; binding by type with allocator avoids it.
// resource<A> owns its allocator; resource<A&> refers to one, so that one allocator can serve both bindings.
//
// Complexity and thread-safety: those of the allocator. Two are equal if they refer to one allocator, or to two of
// which one has absorbed the other.
//
// Example:
//     millpond::resource<millpond::monotonic<>> pool;
//     std::pmr::vector<std::pmr::string> lines(&pool);
//     lines.emplace_back("a line that is longer than the small buffer of a string");
#pragma once

#include <concepts>
#include <cstddef>
#if __has_include(<memory_resource>)  // else core/abi.hpp says which library has it
#include <memory_resource>
#endif
#include <type_traits>
#include <utility>

#include "../core/abi.hpp"
#include "../core/concepts.hpp"
#include "../core/detail/alignment.hpp"
#include "allocator.hpp"

namespace millpond::inline MILLPOND_ABI {

template <class A>
    requires allocator_like<std::remove_reference_t<A>>
class resource : public std::pmr::memory_resource {
    using target_type = std::remove_reference_t<A>;

  public:
    // Ownership: the allocator is a member, made from the arguments; resource<A&> refers to its argument instead,
    // which must outlive this.
    template <class... Arguments>
        requires std::constructible_from<A, Arguments...>
    explicit resource(Arguments&&... arguments) : target_(std::forward<Arguments>(arguments)...) {}

    resource(const resource&) = delete;
    resource& operator=(const resource&) = delete;

    // The allocator's own calls, without the virtual call. They make a resource an allocator itself.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        return target_.try_allocate(bytes, alignment);
    }
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = detail::default_alignment) {
        return target_.allocate(bytes, alignment);
    }
    void deallocate(void* block, std::size_t bytes, std::size_t alignment = detail::default_alignment) noexcept {
        target_.deallocate(block, bytes, alignment);
    }
    void reset() noexcept
        requires managed_allocator<target_type>
    {
        target_.reset();
    }
    void release() noexcept
        requires managed_allocator<target_type>
    {
        target_.release();
    }

    // Returns: the standard allocator that reaches this resource.
    template <class T>
    [[nodiscard]] std::pmr::polymorphic_allocator<T> binding() noexcept {
        return this;
    }

    [[nodiscard]] target_type& target() noexcept { return target_; }
    [[nodiscard]] const target_type& target() const noexcept { return target_; }

  private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override { return target_.allocate(bytes, alignment); }

    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
        target_.deallocate(block, bytes, alignment);
    }

    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        if (this == &other) return true;
#if defined(__cpp_rtti)
        if (const auto* owner = dynamic_cast<const resource<target_type>*>(&other))
            return detail::is_same_target(owner->target(), target());
        if (const auto* user = dynamic_cast<const resource<target_type&>*>(&other))
            return detail::is_same_target(user->target(), target());
#endif
        return false;
    }

    A target_;
};

}  // namespace millpond::inline MILLPOND_ABI
