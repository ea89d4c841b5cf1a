// SPDX-License-Identifier: BSL-1.0
// with_pool: a standard container over a group_allocator, with access to the allocator inside, and with an insertion of
// node handles that joins pools.
//
//   container │ … group_allocator: state │   ◀── get_allocator() of the base gives one that remembers where this is
//   handle    │ node, group_allocator    │   ──insert──▶ the pools join, and the node is found when it is freed
//
// For basic_pooled. O(1), but for what the base does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "../../core/abi.hpp"
#include "element_allocator.hpp"
#include "group_allocator.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// The allocator in a container.
struct stored_allocator {
    std::uintptr_t& state;
    const group_operations& operations;
};

// Ends the references that come to stay while it lives: libstdc++ 12 forgets to destroy the allocator of a node handle
// whose node it inserts, for each node of a merge of hashed containers as well.
class reference_balance {
  public:
    // Ownership: the caller refers to the pool, as long as this lives.
    reference_balance(const group_operations& operations, std::uintptr_t state) noexcept
        : operations_(operations), state_(state), references_(operations.references(state)) {}
    reference_balance(const reference_balance&) = delete;
    reference_balance& operator=(const reference_balance&) = delete;
    ~reference_balance() {
        const std::size_t found = operations_.references(state_);
        if (found > references_) operations_.forget_references(state_, found - references_);
    }

    // Effects: one of the references may end.
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

    // Effects: this container can free the nodes of the other one.
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

    // Effects: an empty container leaves its group.
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
    requires requires { typename Base::node_type; }
class with_pool<Base> : public pool_access<Base> {
  public:
    using pool_access<Base>::pool_access;
    using typename Base::const_iterator;
    using typename Base::node_type;

    // Effects: as the standard's; the pools of the container and of the handle join.
    using Base::insert;
    auto insert(node_type&& node) {
        return insert_node(node, [&] { return Base::insert(std::move(node)); });
    }
    auto insert(const_iterator hint, node_type&& node) {
        return insert_node(node, [&] { return Base::insert(hint, std::move(node)); });
    }

  private:
    template <class Insert>
    auto insert_node(node_type& node, Insert insert_it) {
        if (node.empty()) return insert_it();
        auto of_node = node.get_allocator();  // as long as it lives, so does the pool that the handle refers to
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
