// SPDX-License-Identifier: BSL-1.0
// vector_tree_iterator: the random access iterator of a vector_tree. It follows its element when that moves.
//
// Part of vector_tree. Its end and those behind it differ from elements by having no leaf.
//
// ++, --, *: O(1). +=, [], -, <: O(log size), O(1) within a leaf. Copies: a few nanoseconds (tree_follower).
#pragma once

#include <compare>
#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>

#include "../../core/abi.hpp"
#include "tree_follower.hpp"

#if defined(MILLPOND_CHECKED)
#include "../../wrap/misuse.hpp"
#endif

namespace millpond::inline MILLPOND_ABI::detail {

template <class Core, bool IsConst>
class vector_tree_iterator {
    using leaf = typename Core::leaf;
    using core_position = typename Core::position;
    using element = typename Core::value_type;
    template <class OtherCore, bool OtherConst>
    friend class vector_tree_iterator;

  public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = element;
    using difference_type = std::ptrdiff_t;
    using reference = std::conditional_t<IsConst, const element&, element&>;
    using pointer = std::conditional_t<IsConst, const element*, element*>;

    vector_tree_iterator() noexcept = default;
    vector_tree_iterator(const vector_tree_iterator<Core, false>& other) noexcept  // NOLINT: iterator converts to const
        requires IsConst
        : place_(other.place_) {}
    vector_tree_iterator(const vector_tree_iterator&) noexcept = default;
    vector_tree_iterator& operator=(const vector_tree_iterator&) noexcept = default;
    ~vector_tree_iterator() = default;

    // For vector_tree: makes an iterator to an element, or to the end of a tree.
    vector_tree_iterator(const core_position& of, const Core* tree) noexcept
        : place_(is_element(of) ? tree_follower<leaf>(of.at, of.slot) : tree_follower<leaf>(tree)) {}
    [[nodiscard]] core_position position() const noexcept {
        return place_.at() != nullptr ? core_position{place_.at(), place_.slot()} : owner()->end();
    }
    // Returns: the tree whose element or end this is; null if it is singular.
    [[nodiscard]] const Core* owner() const noexcept {
        if (place_.at() == nullptr) return static_cast<const Core*>(place_.owner());
        return static_cast<const Core*>(Core::last_beside(place_.at())->tracked.owner);
    }

    [[nodiscard]] reference operator*() const noexcept {
        expect(place_.at() != nullptr);
        return place_.at()->slots[place_.slot()].value();
    }
    [[nodiscard]] pointer operator->() const noexcept { return std::addressof(**this); }

    vector_tree_iterator& operator++() noexcept {
        expect(place_.at() != nullptr);
        if (const std::size_t slot = place_.slot() + 1; slot < place_.at()->n) [[likely]] {
            place_.set_slot(slot);
        } else {
            leave(place_.at()->next);
        }
        return *this;
    }
    vector_tree_iterator operator++(int) noexcept {
        vector_tree_iterator before = *this;
        ++*this;
        return before;
    }
    vector_tree_iterator& operator--() noexcept {
        if (place_.at() != nullptr && place_.slot() != 0) [[likely]] {
            place_.set_slot(place_.slot() - 1);
        } else {
            core_position to = position();
            expect(to.at != nullptr);
            Core::step_back(to);
            place_.go_to(to.at, to.slot);
        }
        return *this;
    }
    vector_tree_iterator operator--(int) noexcept {
        vector_tree_iterator before = *this;
        --*this;
        return before;
    }

    vector_tree_iterator& operator+=(difference_type by) noexcept {
        if (by == 0) return *this;
        if (place_.at() != nullptr && place_.slot() + static_cast<std::size_t>(by) < place_.at()->n) {
            place_.set_slot(place_.slot() + static_cast<std::size_t>(by));
            return *this;
        }
        const core_position from = position();
        expect(from.at != nullptr);
        const core_position to = Core::nth_beside(from.at, Core::index_of(from) + static_cast<std::size_t>(by));
        expect(to.slot <= to.at->n);
        to.slot < to.at->n ? place_.go_to(to.at, to.slot) : place_.go_to_end(to.at->tracked.owner);
        return *this;
    }
    vector_tree_iterator& operator-=(difference_type by) noexcept { return *this += -by; }
    [[nodiscard]] friend vector_tree_iterator operator+(vector_tree_iterator from, difference_type by) noexcept {
        return from += by;
    }
    [[nodiscard]] friend vector_tree_iterator operator+(difference_type by, vector_tree_iterator from) noexcept {
        return from += by;
    }
    [[nodiscard]] friend vector_tree_iterator operator-(vector_tree_iterator from, difference_type by) noexcept {
        return from -= by;
    }
    [[nodiscard]] friend difference_type operator-(const vector_tree_iterator& a,
                                                   const vector_tree_iterator& b) noexcept {
        if (a.place_.at() == b.place_.at())
            return static_cast<difference_type>(a.place_.slot()) - static_cast<difference_type>(b.place_.slot());
        return static_cast<difference_type>(a.index()) - static_cast<difference_type>(b.index());
    }
    [[nodiscard]] reference operator[](difference_type by) const noexcept { return *(*this + by); }

    [[nodiscard]] friend bool operator==(const vector_tree_iterator& a, const vector_tree_iterator& b) noexcept {
        return a.place_ == b.place_;
    }
    [[nodiscard]] friend std::strong_ordering operator<=>(const vector_tree_iterator& a,
                                                          const vector_tree_iterator& b) noexcept {
        return a - b <=> 0;
    }

  private:
    [[nodiscard]] static bool is_element(const core_position& of) noexcept {
        return of.at != nullptr && of.slot < of.at->n;
    }
    [[nodiscard]] std::size_t index() const noexcept {
        if (place_.at() != nullptr) return Core::index_of({place_.at(), place_.slot()});
        return owner() == nullptr ? 0 : owner()->size();
    }

    [[gnu::noinline]] void leave(leaf* next) noexcept {
        if (next != nullptr) {
            if (next->next != nullptr) Core::prefetch(next->next->next);
            return place_.go_to(next, 0);
        }
        place_.go_to_end(place_.at()->tracked.owner);
    }

    // Effects: in checked mode, ends the program if the iterator has no element.
    static void expect([[maybe_unused]] bool is_element) noexcept {
#if defined(MILLPOND_CHECKED)
        if (!is_element)
            report_use(misuse_kind::stale_iterator,
                       "an iterator of a vector_tree is used, but its element was erased or it had none");
#endif
    }

    tree_follower<leaf> place_;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
