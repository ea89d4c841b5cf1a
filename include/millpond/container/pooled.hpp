// SPDX-License-Identifier: BSL-1.0
// pooled: a node-based standard container with a compact_pool inside, and with the standard's whole interface.
//
//   pooled_set<key> a      │root│pool│──▶ compact_pool ──chunks──▶ the allocator that you give, or the process
//   a.merge(b)             a ──▶ pool A ◀──┐ one group: both allocate from the larger pool, nodes stay where they are,
//                          b ──▶ pool B ───┘ and each goes back to the pool in which it lies
//
// Use it in place of std::list, std::forward_list, std::set, std::map, their multi and unordered forms, when they grow
// large, or grow and shrink for long: nodes stay together, cost no header, and memory goes back as the container
// empties. pooled<std::set<key, less, Alloc>> and pooled_set<key, less, Alloc> are the same; the latter deduces its
// arguments. Do not use it for nodes above 512 bytes, which pass to Alloc, or for containers whose nodes several
// threads exchange.
//
// Nodes move as the standard says. splice, merge, insert of a node handle and swap copy nothing and allocate nothing.
// Pointers, references and iterators to elements stay valid, also over moves. For that the pools between which nodes
// move become a group, counted by its containers and handles:
// - Members allocate from the pool that had most live nodes when they joined; the other pools only empty.
// - A pool that has emptied gives its memory back at once, and ends when no container and no handle refers to it.
// - A node that stays keeps its page (over an Alloc its chunk of 4 KiB) and the bookkeeping of its own pool: under 2
//   KiB, a row of 1 KiB and, for a pool with a range, the address space. It never keeps another pool of the group.
// - An empty container leaves its group at a splice or merge from it; so does one from which a move took everything.
//
// Cost: a word for each container. The first 16 nodes come from Alloc, one by one, so a small container takes 1.02 of
// its bytes without a pool. The 17th makes the pool: about 500 bytes and a row of 1 KiB. insert and erase: the
// container's, with O(1) of compact_pool instead of malloc. A node of another pool of the group is found by an index
// once there are more than five pools, in O(1). clear and the destructor of trivially destructible elements drop the
// pool as wink does. reserve_bytes(n): makes n bytes of nodes ready before they are inserted, also the first ones.
// wink(): frees the pool's memory at once without destructors, if is_winkable allows it and the pool is not shared;
// otherwise it is clear. It has to find those of the first 16 nodes that are left: O(1) after reserve_bytes, else
// O(elements); it always walks hashed containers. stats(): O(pools).
//
// Alloc: std::allocator counts as process memory, so above 64 KiB a pool grows in a range of its own. Any other one,
// std::pmr and stateful ones included, supplies every chunk, array and first node. Constructors take it last, like the
// standard's, and get_allocator() returns it. Its pointers may be a class: libc++'s containers link by them, so that
// they can be read through another mapping of shared memory; libstdc++'s link by addresses. Copying a container makes a
// new pool; a copy assignment leaves each its own.
//
// Containers that share a group are for one thread at a time, whichever it is, and any thread may free. In checked mode
// every node lies in a checked pool: writes behind it are reported, and calls that overlap end the program.
// Exceptions: the standard's guarantees, except with libstdc++ 12: its merge of trees ends the program if a comparison
// throws; a node handle forgets its allocator, which is repaired here. sort and merge of lists lose nothing if a
// comparison throws, nor does merge of unordered containers if memory runs out. Unordered containers with equal keys
// whose comparison may throw ignore hints. An element whose comparison throws in merge goes back, or is lost if that
// throws as well.
// Never call splice, merge or insert through a reference to the base: the pools would not join.
//
// Example:
//     millpond::pooled<std::list<int>> a{1, 2, 3}, b{4};
//     const int& one = a.front();
//     b.splice(b.end(), a);
//     assert(&b.back() != &one && *std::next(b.begin()) == 1 && &one == &*std::next(b.begin()));
//     b.wink();
#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "../bind/is_winkable.hpp"
#include "../core/abi.hpp"
#include "detail/element_order.hpp"
#include "detail/forward_order.hpp"
#include "detail/group_allocator.hpp"
#include "detail/with_pool.hpp"
#include "pooled_stats.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// The word in which a pool searches for free slots: that of this processor.
using natural_word = std::conditional_t<sizeof(void*) == 8, std::uint64_t, std::uint32_t>;

// base: the container over a group_allocator; is_hashed: true if it holds arrays in addition to its nodes.
template <class Container, class Word>
struct pooled_traits {
    static_assert(!std::is_same_v<Word, Word>,
                  "pooled: the header of this container is missing, such as millpond/container/pooled_set.hpp for "
                  "std::set; or it is no standard container of nodes");
};

// True if the container forgets its nodes without reading them: its comparison holds nothing.
template <class Base>
inline constexpr bool is_renewable = true;
template <class Base>
    requires requires { typename Base::key_compare; }
inline constexpr bool is_renewable<Base> = std::is_trivially_destructible_v<typename Base::key_compare> &&
                                           std::is_nothrow_copy_constructible_v<typename Base::key_compare>;
template <class Base>
    requires requires { typename Base::hasher; }
inline constexpr bool is_renewable<Base> =
    std::is_nothrow_invocable_v<const typename Base::hasher&, const typename Base::key_type&>;

template <class Base>
concept is_three_way = requires(const Base& a, const Base& b) { a <=> b; };

}  // namespace millpond::inline MILLPOND_ABI::detail

namespace millpond::inline MILLPOND_ABI {

template <class Container, class Word>
class basic_pooled : public detail::with_pool<typename detail::pooled_traits<Container, Word>::base> {
    using traits = detail::pooled_traits<Container, Word>;
    using access = detail::with_pool<typename traits::base>;
    using stored_allocator = detail::stored_allocator;
    using upstream = typename Container::allocator_type;
    using upstream_traits = std::allocator_traits<upstream>;

    template <class, class>
    friend class basic_pooled;

  public:
    using base = typename traits::base;
    using allocator_type = upstream;
    using value_type = typename Container::value_type;
    using typename base::const_iterator;

    using access::access;
    basic_pooled() = default;
    basic_pooled(const basic_pooled&) = default;
    basic_pooled(basic_pooled&&) = default;

    // Effects: as the standard's; elements stay where they are if the upstreams are equal.
    template <std::derived_from<basic_pooled> Other>
    basic_pooled(const Other& other, const std::type_identity_t<upstream>& to)
        : access(static_cast<const base&>(other), to) {}
    template <std::derived_from<basic_pooled> Other>
    basic_pooled(Other&& other, const std::type_identity_t<upstream>& to)
        : access(std::move(other.as_base()), other.allocator_for(to)) {
        other.leave_if_empty();
    }

    basic_pooled& operator=(const basic_pooled&) = default;
    basic_pooled& operator=(basic_pooled&& other) noexcept(propagates_on_move &&
                                                           std::is_nothrow_move_assignable_v<base>) {
        if (this == &other) return *this;
        clear();
        if constexpr (!propagates_on_move) {
            if (get_allocator() == other.get_allocator()) this->join(other);
        }
        as_base() = std::move(other.as_base());
        if constexpr (!propagates_on_move) other.leave_if_empty();
        return *this;
    }
    basic_pooled& operator=(std::initializer_list<value_type> values) {
        as_base() = values;
        return *this;
    }
    ~basic_pooled() {
        if constexpr (is_droppable<std::is_trivially_destructible_v<value_type>>) static_cast<void>(try_drop());
    }

    // Returns: the upstream, which supplies the chunks, the arrays and the first nodes.
    [[nodiscard]] allocator_type get_allocator() const noexcept { return base::get_allocator().upstream(); }

    void swap(basic_pooled& other) noexcept(noexcept(std::declval<base&>().swap(std::declval<base&>()))) {
        as_base().swap(other.as_base());
        if constexpr (!propagates_on_swap) std::swap(this->inside().state, other.inside().state);
    }
    friend void swap(basic_pooled& a, basic_pooled& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }

    // For standard libraries whose own operator works only with their own allocators (libc++ 19).
    friend auto operator<=>(const basic_pooled& a, const basic_pooled& b)
        requires(!detail::is_three_way<base> && detail::is_ordered_somehow<value_type> && !traits::is_hashed)
    {
        return detail::compare_in_order(a.begin(), a.end(), b.begin(), b.end());
    }

    void clear() noexcept {
        if constexpr (is_droppable<std::is_trivially_destructible_v<value_type>>) {
            if (try_drop()) return;
        }
        base::clear();
    }

    // Effects: empties the container. If no other container shares its pools they are dropped at once, without the
    // elements' destructors.
    void wink() noexcept {
        static_assert(is_winkable_v<value_type>,
                      "wink: the destructor of an element may do more than free memory of "
                      "its container; if it does not, specialise millpond::is_winkable");
        if constexpr (is_droppable<true>) {
            if (try_drop()) return;
        }
        base::clear();
    }

    // Effects: makes memory for `bytes` of nodes ready before they are inserted. Throws: what the upstream throws.
    void reserve_bytes(std::size_t bytes) {
        const auto named = base::get_allocator();
        named.operations().reserve(named.stored(), bytes);
    }

    [[nodiscard]] pooled_stats stats() const noexcept {
        auto named = base::get_allocator();
        return named.operations().stats(named.state());
    }

    // Effects: as the standard's; the pools of the two join.
    template <class... Where>
        requires requires(base& to, base& from, const_iterator at, const Where&... where) {
            to.splice(at, std::move(from), where...);
        }
    void splice(const_iterator at, basic_pooled& other, const Where&... where) noexcept {
        this->join(other);
        as_base().splice(at, std::move(other.as_base()), where...);
        if (&other != this) other.leave_if_empty();
    }
    template <class... Where>
    void splice(const_iterator at, basic_pooled&& other, const Where&... where) noexcept
        requires requires { this->splice(at, other, where...); }
    {
        splice(at, other, where...);
    }
    template <class... Where>
        requires requires(base& to, base& from, const_iterator at, const Where&... where) {
            to.splice_after(at, std::move(from), where...);
        }
    void splice_after(const_iterator at, basic_pooled& other, const Where&... where) noexcept {
        this->join(other);
        as_base().splice_after(at, std::move(other.as_base()), where...);
        if (&other != this) other.leave_if_empty();
    }
    template <class... Where>
    void splice_after(const_iterator at, basic_pooled&& other, const Where&... where) noexcept
        requires requires { this->splice_after(at, other, where...); }
    {
        splice_after(at, other, where...);
    }

    template <class From, class... Compare>
        requires requires(base& to, typename basic_pooled<From, Word>::base& from, Compare... compare) {
            to.merge(from, compare...);
        }
    void merge(basic_pooled<From, Word>& other, Compare... compare) {
        if (static_cast<void*>(&other) == this) return;
        this->join(other);
        {
            const stored_allocator from = other.inside();
            const detail::reference_balance balance(from.operations, from.state);
            merge_nodes(other.as_base(), std::move(compare)...);
        }
        other.leave_if_empty();
    }
    template <class From, class... Compare>
        requires requires(base& to, typename basic_pooled<From, Word>::base& from, Compare... compare) {
            to.merge(from, compare...);
        }
    void merge(basic_pooled<From, Word>&& other, Compare... compare) {
        merge(other, std::move(compare)...);
    }

  private:
    static constexpr bool propagates_on_move =
        upstream_traits::is_always_equal::value || upstream_traits::propagate_on_container_move_assignment::value;
    static constexpr bool propagates_on_swap =
        upstream_traits::is_always_equal::value || upstream_traits::propagate_on_container_swap::value;
    // In checked mode destructors run, so that frees to other places are seen.
    template <bool MayVanish>
    static constexpr bool is_droppable =
        MayVanish && !detail::upstream_destroys<upstream, value_type> && !is_checked_mode && detail::is_renewable<base>;

    [[nodiscard]] base& as_base() noexcept { return *this; }
    [[nodiscard]] const base& as_base() const noexcept { return *this; }

    template <class From, class... Compare>
    void merge_nodes(From& from, Compare... compare) {
        if constexpr (detail::takes_no_hints<base>) {
            access::merge_nodes(from);
        } else if constexpr (!requires { base::before_begin(); }) {
            // libstdc++ would make room while an element is in neither container.
            if constexpr (traits::is_hashed) {
                const std::size_t together = base::size() + from.size();
                if (static_cast<float>(together) > static_cast<float>(base::bucket_count()) * base::max_load_factor())
                    base::reserve(together);
            }
            as_base().merge(from, std::move(compare)...);
        } else if constexpr (sizeof...(Compare) == 0) {
            merge_nodes(from, std::less<>());
        } else {
            detail::merge_forward(as_base(), from, compare...);
        }
    }

    // Returns: the allocator for a container that takes over the elements.
    [[nodiscard]] auto allocator_for(const upstream& to) noexcept {
        auto own = base::get_allocator();
        own.forget_stored();
        return own.upstream() == to ? own : typename base::allocator_type(to);
    }

    // Effects: erases the nodes that lie in no pool. O(elements), until the last such node is found.
    void erase_outside(const stored_allocator& own) noexcept {
        const auto lies_outside = [&](const value_type& element) {
            return !own.operations.lies_in_pool(own.state, std::addressof(element));
        };
        if constexpr (requires { base::before_begin(); }) {
            auto before = base::before_begin();
            for (auto at = base::begin(); at != base::end() && own.operations.outside(own.state) != 0;) {
                if (lies_outside(*at)) {
                    at = base::erase_after(before);
                } else {
                    before = at++;
                }
            }
        } else {
            for (auto at = base::begin(); at != base::end() && own.operations.outside(own.state) != 0;)
                at = lies_outside(*at) ? base::erase(at) : std::next(at);
        }
    }

    // Effects: drops the elements with the pools. Returns: false if another container or a handle shares the pools.
    [[nodiscard]] bool try_drop() noexcept {
        const stored_allocator own = this->inside();
        if (!detail::refers_to_pool(own.state) || !own.operations.is_alone(own.state)) return false;
        erase_outside(own);
        if constexpr (traits::is_hashed) {
            const std::uintptr_t pool = std::exchange(own.state, detail::dropping_nodes);
            base::clear();
            own.state = pool;
            own.operations.drop(own.state);
        } else {
            own.operations.drop(own.state);
            renew();
        }
        return true;
    }

    // Effects: empties the base without reading its nodes.
    void renew() noexcept {
        auto named = base::get_allocator();
        void* const stored = named.stored();
        named.forget_stored();
        if constexpr (requires { base::key_comp(); }) {
            auto compare = base::key_comp();
            named.operations().destroy(stored);
            ::new (static_cast<void*>(static_cast<base*>(this))) base(compare, named);
        } else {
            named.operations().destroy(stored);
            ::new (static_cast<void*>(static_cast<base*>(this))) base(named);
        }
    }
};

// The default word of this processor, words of 64 bits, and words of 32.
template <class Container>
using pooled = basic_pooled<Container, detail::natural_word>;
template <class Container>
using pooled64 = basic_pooled<Container, std::uint64_t>;
template <class Container>
using pooled32 = basic_pooled<Container, std::uint32_t>;

}  // namespace millpond::inline MILLPOND_ABI
