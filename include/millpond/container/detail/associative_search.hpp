// SPDX-License-Identifier: BSL-1.0
// associative_search: the constant members of an associative container with order statistics.
//
//   rank ─────▶  0   1   2   3   4   5      rank(e) = 3, nth(3) = e      count_between(c, f) = 3: c, d, e
//   elements     b   c   d   e   f   g      ranks(1, 4): c, d, e         lower_bound, find, … as std::set
//
// Part of the associative containers (associative.hpp). Each search takes the key's type, and any other type if the
// comparison is transparent.
//
// All O(log n), the counts too. Thread-safe as long as no thread changes the container.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

#include "../../core/abi.hpp"
#include "iterator_checks.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Compare>
concept is_transparent = requires { typename Compare::is_transparent; };

template <class Core, class Compare, bool IsUnique>
class associative_search {
  protected:
    using element = typename Core::element;
    using position = typename Core::position;
    using place = typename Core::place;

  public:
    using key_type = typename element::key_type;
    using value_type = typename element::value_type;
    using key_compare = Compare;
    using allocator_type = typename Core::allocator_type;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = value_type&;
    using const_reference = const value_type&;
    using pointer = typename std::allocator_traits<allocator_type>::pointer;
    using const_pointer = typename std::allocator_traits<allocator_type>::const_pointer;
    using iterator = typename Core::iterator;
    using const_iterator = typename Core::const_iterator;
    using reverse_iterator = std::reverse_iterator<iterator>;
    using const_reverse_iterator = std::reverse_iterator<const_iterator>;
    // Elements in a range of ranks, with their number.
    using rank_range = std::ranges::subrange<iterator, iterator, std::ranges::subrange_kind::sized>;
    using const_rank_range = std::ranges::subrange<const_iterator, const_iterator, std::ranges::subrange_kind::sized>;

    [[nodiscard]] iterator begin() noexcept { return to_iterator(core_.begin()); }
    [[nodiscard]] const_iterator begin() const noexcept { return to_iterator(core_.begin()); }
    [[nodiscard]] const_iterator cbegin() const noexcept { return begin(); }
    [[nodiscard]] iterator end() noexcept { return to_iterator(core_.end()); }
    [[nodiscard]] const_iterator end() const noexcept { return to_iterator(core_.end()); }
    [[nodiscard]] const_iterator cend() const noexcept { return end(); }
    [[nodiscard]] reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
    [[nodiscard]] const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
    [[nodiscard]] const_reverse_iterator crbegin() const noexcept { return rbegin(); }
    [[nodiscard]] reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
    [[nodiscard]] const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }
    [[nodiscard]] const_reverse_iterator crend() const noexcept { return rend(); }

    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] size_type size() const noexcept { return core_.size(); }
    [[nodiscard]] size_type max_size() const noexcept { return core_.max_size(); }
    [[nodiscard]] allocator_type get_allocator() const noexcept { return core_.get_allocator(); }
    [[nodiscard]] key_compare key_comp() const { return compare_; }

    [[nodiscard]] iterator find(const key_type& key) { return to_iterator(core_.find(key, compare_)); }
    [[nodiscard]] const_iterator find(const key_type& key) const { return to_iterator(core_.find(key, compare_)); }
    [[nodiscard]] bool contains(const key_type& key) const { return core_.find(key, compare_) != core_.end(); }
    [[nodiscard]] size_type count(const key_type& key) const {
        if constexpr (IsUnique) return contains(key) ? 1 : 0;
        return count_of(key);
    }
    [[nodiscard]] iterator lower_bound(const key_type& key) { return to_iterator(core_.lower(key, compare_)); }
    [[nodiscard]] const_iterator lower_bound(const key_type& key) const {
        return to_iterator(core_.lower(key, compare_));
    }
    [[nodiscard]] iterator upper_bound(const key_type& key) { return to_iterator(core_.upper(key, compare_)); }
    [[nodiscard]] const_iterator upper_bound(const key_type& key) const {
        return to_iterator(core_.upper(key, compare_));
    }
    [[nodiscard]] std::pair<iterator, iterator> equal_range(const key_type& key) {
        return {lower_bound(key), upper_bound(key)};
    }
    [[nodiscard]] std::pair<const_iterator, const_iterator> equal_range(const key_type& key) const {
        return {lower_bound(key), upper_bound(key)};
    }
    // Returns: the number of elements that come before the key.
    [[nodiscard]] size_type rank(const key_type& key) const { return core_.lower_index(key, compare_); }
    // Returns: the number of elements from `low` on that come before `high`.
    [[nodiscard]] size_type count_between(const key_type& low, const key_type& high) const {
        return between(low, high);
    }

    template <class Key>
        requires is_transparent<Compare>
    [[nodiscard]] iterator find(const Key& key) {
        return to_iterator(core_.find(key, compare_));
    }
    template <class Key>
        requires is_transparent<Compare>
    [[nodiscard]] const_iterator find(const Key& key) const {
        return to_iterator(core_.find(key, compare_));
    }
    template <class Key>
        requires is_transparent<Compare>
    [[nodiscard]] bool contains(const Key& key) const {
        return core_.find(key, compare_) != core_.end();
    }
    template <class Key>
        requires is_transparent<Compare>
    [[nodiscard]] size_type count(const Key& key) const {
        return count_of(key);
    }
    template <class Key>
        requires is_transparent<Compare>
    [[nodiscard]] iterator lower_bound(const Key& key) {
        return to_iterator(core_.lower(key, compare_));
    }
    template <class Key>
        requires is_transparent<Compare>
    [[nodiscard]] const_iterator lower_bound(const Key& key) const {
        return to_iterator(core_.lower(key, compare_));
    }
    template <class Key>
        requires is_transparent<Compare>
    [[nodiscard]] iterator upper_bound(const Key& key) {
        return to_iterator(core_.upper(key, compare_));
    }
    template <class Key>
        requires is_transparent<Compare>
    [[nodiscard]] const_iterator upper_bound(const Key& key) const {
        return to_iterator(core_.upper(key, compare_));
    }
    template <class Key>
        requires is_transparent<Compare>
    [[nodiscard]] std::pair<iterator, iterator> equal_range(const Key& key) {
        return {lower_bound(key), upper_bound(key)};
    }
    template <class Key>
        requires is_transparent<Compare>
    [[nodiscard]] std::pair<const_iterator, const_iterator> equal_range(const Key& key) const {
        return {lower_bound(key), upper_bound(key)};
    }
    template <class Key>
        requires(is_transparent<Compare> && !std::is_convertible_v<const Key&, const_iterator>)
    [[nodiscard]] size_type rank(const Key& key) const {
        return core_.lower_index(key, compare_);
    }
    template <class Low, class High>
        requires is_transparent<Compare>
    [[nodiscard]] size_type count_between(const Low& low, const High& high) const {
        return between(low, high);
    }

    // Returns: the element with rank `index`; end() if there are not so many.
    [[nodiscard]] iterator nth(size_type index) noexcept { return to_iterator(core_.nth(index)); }
    [[nodiscard]] const_iterator nth(size_type index) const noexcept { return to_iterator(core_.nth(index)); }
    // Returns: the number of elements that come before this one: size() for end().
    [[nodiscard]] size_type rank(const_iterator where) const noexcept {
        return is_mine(where) ? core_.index_of(core_.position_of(where)) : 0;
    }
    // Returns: the elements of ranks [first, last), as far as they exist.
    [[nodiscard]] rank_range ranks(size_type first, size_type last) noexcept {
        return ranks_of<rank_range>(*this, first, last);
    }
    [[nodiscard]] const_rank_range ranks(size_type first, size_type last) const noexcept {
        return ranks_of<const_rank_range>(*this, first, last);
    }

  protected:
    associative_search(const Compare& compare, const allocator_type& allocator) : compare_(compare), core_(allocator) {}
    associative_search(associative_search&& other) noexcept(std::is_nothrow_copy_constructible_v<Compare>)
        : compare_(other.compare_), core_(std::move(other.core_)) {}

    [[nodiscard]] iterator to_iterator(position where) const noexcept { return core_.iterator_at(where); }

    // Returns: false, after a report in checked mode, if the iterator is of another container or no longer valid.
    [[nodiscard]] bool is_mine(const_iterator where) const noexcept { return iterator_checks::is_mine(core_, where); }
    // Returns: as is_mine, but false for the end, too.
    [[nodiscard]] bool is_my_element(const_iterator where) const noexcept {
        return iterator_checks::is_my_element(core_, where);
    }

    [[no_unique_address]] Compare compare_;  // before the core: if its copy throws, no element has moved yet
    Core core_;

  private:
    template <class Key>
    [[nodiscard]] size_type count_of(const Key& key) const {
        return core_.upper_index(key, compare_) - core_.lower_index(key, compare_);
    }
    template <class Low, class High>
    [[nodiscard]] size_type between(const Low& low, const High& high) const {
        const size_type first = core_.lower_index(low, compare_);
        return std::max(first, core_.lower_index(high, compare_)) - first;
    }
    template <class Range, class Self>
    [[nodiscard]] static Range ranks_of(Self& self, size_type first, size_type last) noexcept {
        last = std::min(last, self.size());
        first = std::min(first, last);
        return Range(self.nth(first), self.nth(last), last - first);
    }
};

}  // namespace millpond::inline MILLPOND_ABI::detail
