// SPDX-License-Identifier: BSL-1.0
// associative: the standard interface of an associative container, and order statistics, over any core.
//
//   counted_set<Key> ─▶ associative ─▶ associative_changes ─▶ associative_search ─▶ weight_tree
//                       copies         insert, erase          find, rank, nth       or ordered_core
//
// Part of counted_set, ordered_set and their variants. A core keeps elements in an order that it does not know:
//   position, place    trivially copyable: an element or the end; where a new one goes. hint_place: before a position
//   searches by key    find, lower, upper; unique_place, first_place, last_place; lower_index, upper_index
//   changes            insert(place, arguments…), make and insert_made, extract and insert_held, transfer, erase
//   whole              fill, take_elements, swap_elements, clear, set_allocator, swap_allocators
//   in checked mode    owns(iterator), and is_stale(iterator) where changes end iterators
//
// Exceptions: as in the standard's containers. If elements of a container with an unequal allocator are taken over, a
// failure leaves that container as it was; elements that are neither copied nor moved without exceptions stay there as
// far as they were not moved. A map's element of that kind whose value throws has lost its key by then, so clear the
// container or the handle. Not thread-safe.
#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../../core/abi.hpp"
#include "associative_changes.hpp"
#include "element_order.hpp"
#include "element_transfer.hpp"
#include "guides.hpp"
#include "refused.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Derived, class Core, class Compare, bool IsUnique>
class associative : public associative_changes<Core, Compare, IsUnique> {
    using base = associative_changes<Core, Compare, IsUnique>;
    using typename base::element;
    using typename base::position;
    using allocator_traits = std::allocator_traits<typename Core::allocator_type>;

    static constexpr bool is_swap_safe =
        allocator_traits::is_always_equal::value && std::is_nothrow_swappable_v<Compare>;

    template <class, class, class, bool>
    friend class associative;

  public:
    using typename base::allocator_type;
    using typename base::const_iterator;
    using typename base::iterator;
    using typename base::key_type;
    using typename base::size_type;
    using typename base::value_type;

    // Compares elements by their keys.
    class compares_pairs {
      public:
        [[nodiscard]] bool operator()(const value_type& a, const value_type& b) const {
            return compare_(element::key(a), element::key(b));
        }

      private:
        friend associative;
        explicit compares_pairs(const Compare& compare) : compare_(compare) {}
        [[no_unique_address]] Compare compare_;
    };
    using value_compare = std::conditional_t<element::is_map, compares_pairs, Compare>;

    associative()
        requires std::default_initializable<Compare>
        : associative(Compare()) {}
    explicit associative(const Compare& compare, const allocator_type& allocator = allocator_type())
        : base(compare, allocator) {}
    explicit associative(const allocator_type& allocator) : base(Compare(), allocator) {}
    template <std::input_iterator First, std::sentinel_for<First> Last>
    associative(First first, Last last, const Compare& compare = Compare(),
                const allocator_type& allocator = allocator_type())
        : base(compare, allocator) {
        this->insert(std::move(first), std::move(last));
    }
    template <std::input_iterator First, std::sentinel_for<First> Last>
    associative(First first, Last last, const allocator_type& allocator)
        : associative(std::move(first), std::move(last), Compare(), allocator) {}
    associative(std::initializer_list<value_type> values, const Compare& compare = Compare(),
                const allocator_type& allocator = allocator_type())
        : associative(values.begin(), values.end(), compare, allocator) {}
    associative(std::initializer_list<value_type> values, const allocator_type& allocator)
        : associative(values.begin(), values.end(), Compare(), allocator) {}
#if defined(__cpp_lib_containers_ranges)
    template <std::ranges::input_range Range>
    associative(std::from_range_t, Range&& range, const Compare& compare = Compare(),
                const allocator_type& allocator = allocator_type())
        : base(compare, allocator) {
        this->insert_range(std::forward<Range>(range));
    }
    template <std::ranges::input_range Range>
    associative(std::from_range_t, Range&& range, const allocator_type& allocator)
        : associative(std::from_range, std::forward<Range>(range), Compare(), allocator) {}
#endif

    associative(const associative& other)
        : associative(other, allocator_traits::select_on_container_copy_construction(other.get_allocator())) {}
    associative(const associative& other, const std::type_identity_t<allocator_type>& allocator)
        : base(other.compare_, allocator) {
        copy_into(core_, other);
    }
    associative(associative&&) = default;
    // Effects: takes the elements where they are if the allocators are equal; otherwise moves each.
    associative(associative&& other, const std::type_identity_t<allocator_type>& allocator)
        : base(other.compare_, allocator) {
        take(other);
    }

    void swap(Derived& other) noexcept(is_swap_safe) {
        using std::swap;
        swap(this->compare_, other.compare_);  // may throw
        if constexpr (allocator_traits::propagate_on_container_swap::value) core_.swap_allocators(other.core_);
        core_.swap_elements(other.core_);
    }
    friend void swap(Derived& a, Derived& b) noexcept(is_swap_safe) { a.swap(b); }

    [[nodiscard]] value_compare value_comp() const { return value_compare(this->compare_); }

    // Effects: takes elements from `source`: all, or those that have no equal here.
    template <class D, class C, bool U>
    void merge(associative<D, Core, C, U>& source) {
        if (static_cast<const void*>(&source.core_) == &core_) return;
        for (position from = source.core_.begin(); from != source.core_.end();) {
            const auto where = this->find_place(source.core_.key(from));
            from = where.is_new ? core_.transfer(where.to, source.core_, from) : source.core_.next(from);
        }
    }
    template <class D, class C, bool U>
    void merge(associative<D, Core, C, U>&& source) {
        merge(source);
    }

    // Effects: erases the elements for which the predicate is true. Returns: their number.
    template <class Predicate>
    friend size_type erase_if(Derived& from, Predicate predicate) {
        const size_type before = from.size();
        for (iterator at = from.begin(); at != from.end();) {
            at = predicate(std::as_const(*at)) ? from.erase(at) : std::next(at);
        }
        return before - from.size();
    }

    [[nodiscard]] friend bool operator==(const Derived& a, const Derived& b) {
        return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
    }
    [[nodiscard]] friend auto operator<=>(const Derived& a, const Derived& b)
        requires is_ordered_somehow<value_type>
    {
        return compare_in_order(a.begin(), a.end(), b.begin(), b.end());
    }

  protected:
    using base::core_;

    // Makes the copy first: if that fails, nothing has changed.
    associative& operator=(const associative& other) {
        if (this == &other) return *this;
        constexpr bool takes_allocator = allocator_traits::propagate_on_container_copy_assignment::value;
        Core copy(takes_allocator ? other.get_allocator() : this->get_allocator());
        copy_into(copy, other);
        this->compare_ = other.compare_;
        if constexpr (takes_allocator) {
            core_.clear();
            core_.set_allocator(other.core_);
        }
        core_.take_elements(copy);
        return *this;
    }
    associative& operator=(associative&& other) noexcept(allocator_traits::is_always_equal::value &&
                                                         std::is_nothrow_copy_assignable_v<Compare>) {
        if (this == &other) return *this;
        core_.clear();
        this->compare_ = other.compare_;
        if constexpr (allocator_traits::propagate_on_container_move_assignment::value) {
            core_.set_allocator(other.core_);
            core_.take_elements(other.core_);
        } else {
            take(other);
        }
        return *this;
    }
    void assign(std::initializer_list<value_type> values) {
        Core made(this->get_allocator());
        core_.swap_elements(made);
        this->insert(values);
    }

  private:
    using stored_key = std::remove_const_t<typename base::key_type>;
    // The part of a map's element besides its key; for a set, the key once more.
    using stored_value = std::conditional_t<element::is_map, typename element::mapped_type, stored_key>;

    // True if elements are made here by their own move, which cannot fail, and can be moved back.
    template <class Part>
    static constexpr bool goes_back =
        std::is_nothrow_move_constructible_v<Part> && std::is_nothrow_destructible_v<Part> &&
        !might_take_allocator<Part, allocator_type>;
    static constexpr bool moves_back = goes_back<stored_key> && goes_back<stored_value>;

    // Effects: takes the elements of `other`, one by one if the allocators differ. Precondition: this is empty.
    void take(associative& other) {
        if (core_.is_compatible(other.core_)) return core_.take_elements(other.core_);
        position from = other.core_.begin();
        if constexpr (moves_back) {
            position home = from;
            core_.fill(
                [&](auto create) {
                    if (from == other.core_.end()) return false;
                    element::moved(other.core_.at(from), create);
                    from = other.core_.next(from);
                    return true;
                },
                [&](value_type& away) noexcept {
                    value_type& to = other.core_.at(home);
                    home = other.core_.next(home);
                    std::destroy_at(std::addressof(to));
                    element::moved(away, [&]<class... Parts>(Parts&&... parts) {
                        std::construct_at(std::addressof(to), std::forward<Parts>(parts)...);
                    });
                });
        } else if constexpr (is_copyable<stored_key> && is_copyable<stored_value>) {
            Core copy(this->get_allocator());
            copy_into(copy, other);
            core_.take_elements(copy);
        } else {
            while (from != other.core_.end())
                from = core_.transfer(this->find_place(other.core_.key(from)).to, other.core_, from);
        }
        other.core_.clear();
    }
    static void copy_into(Core& copy, const associative& other) {
        position from = other.core_.begin();
        copy.fill([&](auto create) {
            if (from == other.core_.end()) return false;
            create(std::as_const(other.core_.at(from)));
            from = other.core_.next(from);
            return true;
        });
    }
};

}  // namespace millpond::inline MILLPOND_ABI::detail
