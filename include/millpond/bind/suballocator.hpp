// SPDX-License-Identifier: BSL-1.0
// suballocator: a standard allocator over any other one, for node-based containers. It gives the lowest free slot
// first, and returns empty memory while other slots are in use.
//
//   std::set<key, …, suballocator<std::allocator<key>>>   ─▶ slots of 40 bytes, 40.3 bytes each in total
//   allocate(1)  ─▶ a slot of a compact_pool ──chunks of 4 KiB──▶ Alloc
//   allocate(n)  ─▶ an array of n ───────────────────────────────▶ Alloc, as if there were no suballocator
//
// Return of memory: after all elements are freed a few pages remain, even if the allocator beneath keeps its memory.
// Over std::allocator, std::pmr::polymorphic_allocator and millpond::allocator, chunks come in blocks of up to 2 MB:
// the pages of empty chunks go back to the system, and an empty block goes back to the allocator. Over any other
// allocator each empty chunk except the lowest goes back at once; whether its pages reach the system is up to that
// allocator.
//
// Use it in place of a container's allocator. Nodes stay together while the container grows and shrinks, so traversals
// stay fast, and memory shrinks with it. For very many nodes in memory of the system itself, compact_pool with a
// binding of type allocator is faster. Elements of more than 512 bytes, or aligned to more than 64, pass to Alloc one
// by one.
//
// Copies of a suballocator, and its rebinds to other types, share pools by a counted handle: one pool for each size of
// slot. They compare equal, and splice, merge, swap and node handles are legal between containers that hold them. A
// suballocator constructed on its own has pools of its own. A copied container gets new pools; to share them, name the
// allocator: `set b(a, a.get_allocator())`. Move and swap take the pools along, so all iterators stay valid. Copy
// assignment leaves each container its own. Nothing is thread-local: containers that share a handle belong to one
// thread at a time, and any thread may free. In checked mode calls that overlap end the program.
//
// Its pointers are those of Alloc, also if they are a class such as boost::interprocess::offset_ptr. Then a container
// that links by them (Boost.Container's, libc++'s, every std::vector) can be read through another mapping of its
// memory. Its pools hold addresses, so it is changed only through the mapping in which it was made.
//
// In libstdc++ 12, inserting a node handle leaks a copy of its allocator. Its pools, empty by then except for a chunk
// or two, stay until the program ends.
//
// suballocator64 and suballocator32 differ in the width of the words searched for free slots; suballocator is the one
// for this processor. allocate, deallocate: O(1), as compact_pool. Construction: one allocation; a copy: one atomic
// count.
// After the suballocator of F. J. Tapia's Counter Tree Library (2012), chapter 4, which returns only its last row.
//
// Example:
//     using allocator = millpond::suballocator<std::allocator<int>>;
//     std::list<int, allocator> a({1, 2, 3}), b(a.get_allocator());
//     b.splice(b.begin(), a, a.begin());  // they share a handle
//     assert(b.front() == 1 && a.size() == 2);
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "../core/abi.hpp"
#include "../core/detail/alignment.hpp"
#include "../core/detail/at_least_result.hpp"
#include "../core/detail/upstream_memory.hpp"
#include "../local/slot_shape.hpp"
#include "detail/slot_pools.hpp"

namespace millpond::inline MILLPOND_ABI {

template <class Alloc, class Word>
class basic_suballocator {
    template <class U>
    using rebound = typename std::allocator_traits<Alloc>::template rebind_alloc<U>;
    using pools = detail::slot_pools<rebound<unsigned char>, Word>;

    template <class OtherAlloc, class OtherWord>
    friend class basic_suballocator;

  public:
    using value_type = typename std::allocator_traits<Alloc>::value_type;
    using pointer = typename std::allocator_traits<Alloc>::pointer;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;
    using is_always_equal = std::false_type;

    template <class U>
    struct rebind {
        using other = basic_suballocator<rebound<U>, Word>;
    };

    static constexpr std::size_t largest_slot_bytes = 512;
    static constexpr std::size_t largest_alignment = 64;

    // Effects: makes pools of its own. Throws: what the allocator throws.
    basic_suballocator()
        requires std::default_initializable<rebound<unsigned char>>
        : pools_(pools::make(rebound<unsigned char>())) {}
    explicit basic_suballocator(const Alloc& upstream) : pools_(pools::make(rebound<unsigned char>(upstream))) {}

    // Effects: shares the pools of `other`.
    basic_suballocator(const basic_suballocator& other) noexcept : pools_(other.pools_), pool_(other.pool_) {
        pools_->add_copy();
    }
    template <class U>
        requires(!std::same_as<U, Alloc>)
    basic_suballocator(const basic_suballocator<U, Word>& other) noexcept : pools_(other.pools_) {
        pools_->add_copy();
    }

    basic_suballocator& operator=(const basic_suballocator& other) noexcept {
        if (this == &other) return *this;
        other.pools_->add_copy();
        pools_->drop_copy();
        pools_ = other.pools_;
        pool_ = other.pool_;
        return *this;
    }

    ~basic_suballocator() { pools_->drop_copy(); }

    // Returns: memory for `n` objects: a slot for one, an array of the allocator beneath for more.
    // Throws: what that allocator throws, or std::bad_alloc.
    template <class T = value_type>
    [[nodiscard]] pointer allocate(std::size_t n) {
        static_assert(std::is_same_v<T, value_type>);
        if constexpr (is_slot<T>()) {
            if (n == 1) [[likely]]
                return to_pointer<T>(pool<T>().allocate(sizeof(T), alignof(T)));
        }
        if constexpr (is_checked_mode) {
            if (n > static_cast<std::size_t>(-1) / sizeof(T)) detail::array_too_long(detail::max_bytes, alignof(T));
            return to_pointer<T>(pools_->arrays().allocate(n * sizeof(T), alignof(T)));
        } else {
            rebound<T> upstream(pools_->upstream());
            return std::allocator_traits<rebound<T>>::allocate(upstream, n);
        }
    }

    // Returns: memory for at least `n` objects, and the number that fit; for arrays the upstream decides.
    template <class T = value_type>
    [[nodiscard]] detail::at_least_result<pointer> allocate_at_least(std::size_t n) {
        static_assert(std::is_same_v<T, value_type>);
        if constexpr (!is_checked_mode && requires(rebound<T> upstream) { upstream.allocate_at_least(n); }) {
            if (n > 1 || (n == 1 && !is_slot<T>())) {
                rebound<T> upstream(pools_->upstream());
                const auto result = upstream.allocate_at_least(n);
                return {result.ptr, result.count};
            }
        }
        return {allocate(n), n};
    }

    template <class T = value_type>
    void deallocate(pointer objects, std::size_t n = 1) noexcept {
        static_assert(std::is_same_v<T, value_type>);
        if constexpr (is_slot<T>()) {
            if (n == 1) [[likely]]
                return pool<T>().deallocate(std::to_address(objects), sizeof(T), alignof(T));
        }
        if constexpr (is_checked_mode) {
            pools_->arrays().deallocate(std::to_address(objects), n * sizeof(T), alignof(T));
        } else {
            rebound<T> upstream(pools_->upstream());
            std::allocator_traits<rebound<T>>::deallocate(upstream, objects, n);
        }
    }

    [[nodiscard]] std::size_t max_size() const noexcept
        requires(!std::is_void_v<value_type>)
    {
        const rebound<value_type> upstream(pools_->upstream());
        return std::allocator_traits<rebound<value_type>>::max_size(upstream);
    }

    // Effects: constructs as the allocator beneath does, if it defines construct.
    template <class U, class... Arguments>
        requires requires(rebound<U> upstream, U* place, Arguments&&... arguments) {
            upstream.construct(place, std::forward<Arguments>(arguments)...);
        }
    void construct(U* place, Arguments&&... arguments) {
        rebound<U> upstream(pools_->upstream());
        upstream.construct(place, std::forward<Arguments>(arguments)...);
    }

    // Returns: the allocator for a copy of the container, with pools of its own.
    [[nodiscard]] basic_suballocator select_on_container_copy_construction() const {
        return basic_suballocator(Alloc(
            std::allocator_traits<rebound<unsigned char>>::select_on_container_copy_construction(pools_->upstream())));
    }

    // Returns: the allocator that the chunks and arrays come from.
    [[nodiscard]] Alloc upstream() const noexcept { return Alloc(pools_->upstream()); }

    template <class U>
    [[nodiscard]] friend bool operator==(const basic_suballocator& a, const basic_suballocator<U, Word>& b) noexcept {
        return a.is_same_handle(b);
    }

  private:
    template <class T>
    [[nodiscard]] static pointer to_pointer(void* memory) noexcept {
        return detail::pointer_to<pointer>(static_cast<T*>(memory));
    }
    template <class T>
    [[nodiscard]] static constexpr bool is_slot() noexcept {
        return sizeof(T) <= largest_slot_bytes && alignof(T) <= largest_alignment;
    }
    template <class T>
    struct shape {
        static constexpr std::size_t alignment = alignof(T) > detail::slot_alignment(sizeof(T))
                                                     ? alignof(T)
                                                     : detail::slot_alignment(sizeof(T));
        using type = slot_shape<sizeof(T), alignment, Word>;
    };

    template <class T>
    [[nodiscard]] auto& pool() {
        using type = typename pools::template pool_type<typename shape<T>::type>;
        if (pool_ == nullptr) [[unlikely]]
            pool_ = &pools_->template pool<typename shape<T>::type>();
        return *static_cast<type*>(pool_);
    }

    template <class U>
    [[nodiscard]] bool is_same_handle(const basic_suballocator<U, Word>& other) const noexcept {
        return pools_ == other.pools_;
    }

    pools* pools_;
    void* pool_ = nullptr;  // the pool of value_type, once it was used
};

template <class Alloc>
using suballocator64 = basic_suballocator<Alloc, std::uint64_t>;
template <class Alloc>
using suballocator32 = basic_suballocator<Alloc, std::uint32_t>;
template <class Alloc>
using suballocator = basic_suballocator<Alloc, std::conditional_t<sizeof(void*) == 8, std::uint64_t, std::uint32_t>>;

}  // namespace millpond::inline MILLPOND_ABI
