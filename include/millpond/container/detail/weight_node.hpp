// SPDX-License-Identifier: BSL-1.0
// weight_node: a node of a weight_tree with its value, and the iterators over such nodes.
//
//   │ child[2] │ parent │ size │ value │     40 bytes for a uint64_t; an iterator is a pointer to it
//   └───────── weight_links ───┘
//
// Part of weight_tree. An iterator is valid as long as its node, in whichever tree that is. Not thread-safe.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include "../../core/abi.hpp"
#include "iterator_checks.hpp"
#include "weight_links.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Value>
struct weight_node : weight_links {
    weight_node() noexcept {}  // NOLINT(modernize-use-equals-default): the value is made later
    weight_node(const weight_node&) = delete;
    weight_node& operator=(const weight_node&) = delete;
    ~weight_node() {}  // NOLINT(modernize-use-equals-default)

    union {
        Value value;
    };
};

template <class Value, bool IsConst>
class weight_iterator {
  public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = Value;
    using difference_type = std::ptrdiff_t;
    using reference = std::conditional_t<IsConst, const Value&, Value&>;
    using pointer = std::conditional_t<IsConst, const Value*, Value*>;

    weight_iterator() = default;
    explicit weight_iterator(weight_links* at) noexcept : at_(at) {}
    template <bool IsOtherConst>
        requires(IsConst && !IsOtherConst)
    weight_iterator(const weight_iterator<Value, IsOtherConst>& other) noexcept  // NOLINT(google-explicit-constructor)
        : at_(other.position()) {}

    [[nodiscard]] reference operator*() const noexcept {
        expect_element();
        return static_cast<weight_node<Value>*>(at_)->value;
    }
    [[nodiscard]] pointer operator->() const noexcept { return std::addressof(**this); }
    weight_iterator& operator++() noexcept {
        expect_element();
        at_ = at_->next();
        return *this;
    }
    weight_iterator operator++(int) noexcept {
        expect_element();
        return weight_iterator(std::exchange(at_, at_->next()));
    }
    weight_iterator& operator--() noexcept {
        at_ = at_->previous();
        return *this;
    }
    weight_iterator operator--(int) noexcept { return weight_iterator(std::exchange(at_, at_->previous())); }
    [[nodiscard]] friend bool operator==(const weight_iterator&, const weight_iterator&) = default;

    [[nodiscard]] weight_links* position() const noexcept { return at_; }

  private:
    void expect_element() const noexcept { iterator_checks::expect_element(at_ != nullptr && !at_->is_head()); }

    weight_links* at_ = nullptr;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
