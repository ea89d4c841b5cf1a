// SPDX-License-Identifier: BSL-1.0
// with_pool: a standard container over a group_allocator. It adds access to the allocator inside, an insertion of node
// handles that joins pools, and a sort of forward lists that keeps all nodes.
//
//   container │ … group_allocator: state │   ◀── get_allocator() of the base gives one that remembers where this is
//   handle    │ node, group_allocator    │   ──insert──▶ the pools join, and the node is found when it is freed
//
// Part of basic_pooled. O(1), plus the cost of the base.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "../../core/abi.hpp"
#include "element_allocator.hpp"
#include "forward_order.hpp"
#include "group_allocator.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// The allocator in a container.
struct stored_allocator {
    std::uintptr_t& state;
    const group_operations& operations;
};

// Ends references that would otherwise stay: libstdc++ 12 forgets to destroy the allocator of a node handle whose node
// it inserts, also for each node of a merge of hashed containers.
class reference_balance {
  public:
    // Ownership: the caller's reference keeps the pool as long as this lives.
    reference_balance(const group_operations& operations, std::uintptr_t state) noexcept
        : operations_(operations), state_(state), references_(operations.references(state)) {}
    reference_balance(const reference_balance&) = delete;
    reference_balance& operator=(const reference_balance&) = delete;
    ~reference_balance() {
        const std::size_t found = operations_.references(state_);
        if (found > references_) operations_.forget_references(state_, found - references_);
    }

    // Effects: notes that one of the references ends by itself.
    void expect_one_less() noexcept { references_ -= references_ != 0; }

  private:
    const group_operations& operations_;
    std::uintptr_t state_;
    std::size_t references_;
};

template <class Base>
class pool_access : public Base {
    template <class>
    friend class pool_access;

  public:
    using Base::Base;

  protected:
    [[nodiscard]] stored_allocator inside() noexcept {
        const auto named = Base::get_allocator();
        return {named.operations().state_of(named.stored()), named.operations()};
    }

    // Effects: enables this container to free the nodes of the other one.
    template <class Other>
    void join(Other& other) noexcept {
        const stored_allocator to = inside();
        pool_access<typename Other::base>& from = other;
        if constexpr (is_checked_mode) {
            if (!(Base::get_allocator().upstream() == from.get_allocator().upstream()))
                report_use(misuse_kind::different_sources, "nodes went to a container over another allocator");
        }
        to.operations.join(to.state, from.inside().state);
    }

    // Effects: makes an empty container leave its group.
    void leave_if_empty() noexcept {
        if (!Base::empty()) return;
        const stored_allocator own = inside();
        own.operations.leave(own.state);
    }
};

template <class Base>
class with_pool : public pool_access<Base> {
  public:
    using pool_access<Base>::pool_access;
};

template <class Base>
    requires requires(Base& of) { of.before_begin(); }
class with_pool<Base> : public pool_access<Base> {
  public:
    using pool_access<Base>::pool_access;

    // Effects: as the standard's, but if a comparison throws, all elements are still there.
    void sort() { sort(std::less<>()); }
    template <class Compare>
    void sort(Compare compare) {
        sort_forward(static_cast<Base&>(*this), compare);
    }
};

// True if keys compare without exceptions. std::equal_to does not declare it.
template <class Equal, class Key>
inline constexpr bool compares_safely = std::is_nothrow_invocable_v<const Equal&, const Key&, const Key&>;
template <class Key>
inline constexpr bool compares_safely<std::equal_to<Key>, Key> =
    noexcept(static_cast<bool>(std::declval<const Key&>() == std::declval<const Key&>()));
template <class Key>
inline constexpr bool compares_safely<std::equal_to<>, Key> = compares_safely<std::equal_to<Key>, Key>;

// True for unordered containers with equal keys whose comparison may throw.
template <class Base>
inline constexpr bool takes_no_hints = false;
template <class Base>
    requires(
                requires { typename Base::hasher; } && !requires { typename Base::insert_return_type; })
inline constexpr bool takes_no_hints<Base> = !compares_safely<typename Base::key_equal, typename Base::key_type>;

// An unordered container of that kind ignores hints: libstdc++ links a node behind its hint before it has compared the
// two with the next one, and corrupts the container if that throws.
template <class Base>
class without_hints : public pool_access<Base> {
  public:
    using pool_access<Base>::pool_access;
    using typename Base::const_iterator;
    using typename Base::iterator;
    using typename Base::value_type;

    iterator insert(const value_type& value) { return Base::insert(value); }
    iterator insert(value_type&& value) { return Base::insert(std::move(value)); }
    template <class Value>
        requires(!std::same_as<typename Base::key_type, value_type> && std::is_constructible_v<value_type, Value &&>)
    iterator insert(Value&& value) {
        return Base::emplace(std::forward<Value>(value));
    }
    template <class First>
    void insert(First first, First last) {
        Base::insert(std::move(first), std::move(last));
    }
    void insert(std::initializer_list<value_type> values) { Base::insert(values); }

    iterator insert(const_iterator, const value_type& value) { return Base::insert(value); }
    iterator insert(const_iterator, value_type&& value) { return Base::insert(std::move(value)); }
    template <class Value>
        requires(!std::same_as<typename Base::key_type, value_type> && std::is_constructible_v<value_type, Value &&>)
    iterator insert(const_iterator, Value&& value) {
        return Base::emplace(std::forward<Value>(value));
    }
    template <class... Arguments>
    iterator emplace_hint(const_iterator, Arguments&&... arguments) {
        return Base::emplace(std::forward<Arguments>(arguments)...);
    }

  protected:
    // Effects: takes the nodes of another container. If a comparison throws, its element goes back, and is lost only if
    // that throws as well.
    template <class From>
    void merge_nodes(From& from) {
        struct node_in_transit {
            From& home;
            typename Base::node_type node;
            ~node_in_transit() {
                if (!node.empty()) go_home();
            }
            void go_home() noexcept {
#if defined(__cpp_exceptions)
                try {
                    home.insert(std::move(node));
                } catch (...) {
                    return;
                }
#endif
            }
        };
        for (auto at = from.begin(); at != from.end();) {
            node_in_transit one{from, from.extract(at++)};
            Base::insert(std::move(one.node));
        }
    }
};

template <class Base>
    requires requires { typename Base::node_type; }
class with_pool<Base> : public std::conditional_t<takes_no_hints<Base>, without_hints<Base>, pool_access<Base>> {
    using inner = std::conditional_t<takes_no_hints<Base>, without_hints<Base>, pool_access<Base>>;

  public:
    using inner::inner;
    using typename Base::const_iterator;
    using typename Base::node_type;

    // Effects: as the standard's; the pools of the container and of the handle join.
    using inner::insert;
    auto insert(node_type&& node) {
        return insert_node(node, [&] { return Base::insert(std::move(node)); });
    }
    auto insert([[maybe_unused]] const_iterator hint, node_type&& node) {
        return insert_node(node, [&] {
            if constexpr (takes_no_hints<Base>) {
                return Base::insert(std::move(node));
            } else {
                return Base::insert(hint, std::move(node));
            }
        });
    }

  private:
    template <class Insert>
    auto insert_node(node_type& node, Insert insert_it) {
        if (node.empty()) return insert_it();
        auto of_node = node.get_allocator();  // keeps the pool to which the handle refers alive
        const stored_allocator own = this->inside();
        {
            auto joining = of_node;
            own.operations.join(own.state, joining.state());
        }
        reference_balance balance(own.operations, of_node.state());
        auto result = insert_it();
        if (is_gone(node, result)) balance.expect_one_less();
        return result;
    }

    // Returns: true if the node is in the container now.
    template <class Result>
    [[nodiscard]] static bool is_gone(const node_type& node, const Result& result) noexcept {
        if constexpr (requires { result.node.empty(); }) {
            return node.empty() && result.node.empty();
        } else {
            return node.empty();
        }
    }
};

}  // namespace millpond::inline MILLPOND_ABI::detail
