// SPDX-License-Identifier: BSL-1.0
// ordered_iterator: an iterator of an ordered_set and its variants: a leaf and a slot.
//
//   iterator ── leaf, slot ──▶ │ … │ element │ … │      in checked mode also the tree, and its number of changes
//
// Part of ordered_core. Each change of its container makes it invalid; checked mode reports a use of it after that.
//
// O(1). Not thread-safe.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>

#include "../../core/abi.hpp"
#include "iterator_checks.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// The number of changes of a tree; a moment is the number that an iterator remembers. Empty except in checked mode.
#if defined(MILLPOND_CHECKED)
class tree_changes {
  public:
    struct moment {
        const tree_changes* of = nullptr;
        std::size_t number = 0;

        [[nodiscard]] bool is_past() const noexcept { return of != nullptr && of->number_ != number; }
    };

    void change() noexcept { ++number_; }
    [[nodiscard]] moment now() const noexcept { return {this, number_}; }
    [[nodiscard]] bool owns(const moment& other) const noexcept { return other.of == this; }

  private:
    std::size_t number_ = 0;
};
#else
class tree_changes {
  public:
    struct moment {
        [[nodiscard]] static bool is_past() noexcept { return false; }
    };

    static void change() noexcept {}
    [[nodiscard]] static moment now() noexcept { return {}; }
    [[nodiscard]] static bool owns(const moment&) noexcept { return true; }
};
#endif

template <class Tree, class Value, bool IsConst>
class ordered_iterator {
    using position_type = typename Tree::position;

  public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = Value;
    using difference_type = std::ptrdiff_t;
    using reference = std::conditional_t<IsConst, const Value&, Value&>;
    using pointer = std::conditional_t<IsConst, const Value*, Value*>;

    ordered_iterator() = default;
    ordered_iterator(const position_type& at, const tree_changes::moment& moment) noexcept : at_(at), moment_(moment) {}
    template <bool IsOtherConst>
        requires(IsConst && !IsOtherConst)
    ordered_iterator(const ordered_iterator<Tree, Value, IsOtherConst>& other)  // NOLINT(google-explicit-constructor)
        noexcept
        : at_(other.position()), moment_(other.moment()) {}

    [[nodiscard]] reference operator*() const noexcept {
        expect_element();
        return at_.value();
    }
    [[nodiscard]] pointer operator->() const noexcept { return std::addressof(**this); }
    ordered_iterator& operator++() noexcept {
        expect_element();
        Tree::step(at_);
        return *this;
    }
    ordered_iterator operator++(int) noexcept {
        ordered_iterator before = *this;
        ++*this;
        return before;
    }
    ordered_iterator& operator--() noexcept {
        iterator_checks::expect_fresh(!moment_.is_past());
        Tree::step_back(at_);
        return *this;
    }
    ordered_iterator operator--(int) noexcept {
        ordered_iterator before = *this;
        --*this;
        return before;
    }
    [[nodiscard]] friend bool operator==(const ordered_iterator& a, const ordered_iterator& b) noexcept {
        return a.at_ == b.at_;
    }

    [[nodiscard]] const position_type& position() const noexcept { return at_; }
    [[nodiscard]] const tree_changes::moment& moment() const noexcept { return moment_; }

  private:
    void expect_element() const noexcept {
#if defined(MILLPOND_CHECKED)
        if (iterator_checks::expect_fresh(!moment_.is_past())) {
            iterator_checks::expect_element(at_.at != nullptr && at_.slot < at_.at->n);
        }
#endif
    }

    position_type at_;
    [[no_unique_address]] tree_changes::moment moment_;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
