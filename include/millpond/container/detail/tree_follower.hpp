// SPDX-License-Identifier: BSL-1.0
// tree_follower: the place of an element in a counted_tree, kept right when the element moves; the base of an iterator.
//
//   leaf │ first ●─┼─▶ follower (slot 3) ─▶ follower (slot 0)       every leaf knows the followers of its elements:
//        │ slots   │                                                an insertion before slot 3 makes it slot 4
//
// Part of vector_tree. The tree tells `follower_tracker`, its policy of tracking, of every element that moves or ends.
// A leaf without followers costs one comparison, one with followers O(followers in that leaf). A follower becomes
// singular when its element is erased.
//
// A follower of the end is in no list: it knows its owner. The last leaf of a tree also knows the owner, so that an
// iterator that leaves it becomes that end.
//
// Construction, copy, destruction: two links under a lock of the leaf. As with any container, several threads may make
// and destroy followers of one tree at once while no thread changes it; one follower belongs to one thread.
#pragma once

#include <cstddef>
#include <thread>

#include "../../core/abi.hpp"
#include "../../core/detail/brief_lock.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Leaf>
class tree_follower;

struct follower_tracker {
    template <class Leaf>
    struct in_leaf {
        tree_follower<Leaf>* first = nullptr;
        const void* owner = nullptr;  // set in the last leaf of a tree
        brief_lock lock;
    };

    template <class Leaf>
    static void moved(Leaf* from, std::size_t first, std::size_t n, Leaf* to, std::size_t at) noexcept {
        if (from->tracked.first != nullptr) [[unlikely]]
            tree_follower<Leaf>::move_all(from, first, n, to, at);
    }
    template <class Leaf>
    static void erased(Leaf* from, std::size_t first, std::size_t n) noexcept {
        if (from->tracked.first != nullptr) [[unlikely]]
            tree_follower<Leaf>::end_all(from, first, n);
    }
};

template <class Leaf>
class tree_follower {
  public:
    // Makes a singular follower, which follows nothing.
    tree_follower() noexcept = default;
    // Follows the end of `owner`.
    explicit tree_follower(const void* owner) noexcept : end_of(owner) {}
    tree_follower(Leaf* at, std::size_t slot) noexcept : at_(at), slot_(slot) { link(); }
    tree_follower(const tree_follower& other) noexcept : at_(other.at_), slot_(other.slot_) {
        at_ != nullptr ? link() : void(end_of = other.end_of);
    }
    tree_follower& operator=(const tree_follower& other) noexcept {
        if (this == &other) return *this;
        if (other.at_ == nullptr) {
            go_to_end(other.end_of);
        } else {
            go_to(other.at_, other.slot_);
        }
        return *this;
    }
    ~tree_follower() {
        if (at_ != nullptr) unlink();
    }

    [[nodiscard]] Leaf* at() const noexcept { return at_; }
    [[nodiscard]] std::size_t slot() const noexcept { return slot_; }
    // Returns: the owner of an end, else null.
    [[nodiscard]] const void* owner() const noexcept { return at_ == nullptr ? end_of : nullptr; }

    // Effects: follows another element of the same leaf.
    void set_slot(std::size_t slot) noexcept { slot_ = slot; }
    void go_to(Leaf* at, std::size_t slot) noexcept {
        slot_ = slot;
        if (at == at_) return;
        if (at_ != nullptr) unlink();
        at_ = at;
        link();
    }
    void go_to_end(const void* owner) noexcept {
        if (at_ != nullptr) unlink();
        at_ = nullptr;
        slot_ = 0;
        end_of = owner;
    }

    [[nodiscard]] friend bool operator==(const tree_follower& a, const tree_follower& b) noexcept {
        return a.at_ == b.at_ && a.slot_ == b.slot_ && (a.at_ != nullptr || a.end_of == b.end_of);
    }

  private:
    friend follower_tracker;

    class leaf_lock {
      public:
        explicit leaf_lock(Leaf* at) noexcept : lock_(at->tracked.lock) {
            while (!lock_.try_lock()) std::this_thread::yield();
        }
        leaf_lock(const leaf_lock&) = delete;
        leaf_lock& operator=(const leaf_lock&) = delete;
        ~leaf_lock() { lock_.unlock(); }

      private:
        brief_lock& lock_;
    };

    void link() noexcept {
        const leaf_lock here(at_);
        link_locked();
    }
    void link_locked() noexcept {
        tree_follower*& first = at_->tracked.first;
        list_next = first;
        if (list_next != nullptr) list_next->back_ = &list_next;
        back_ = &first;
        first = this;
    }
    void unlink() noexcept {
        const leaf_lock here(at_);
        unlink_locked();
    }
    void unlink_locked() noexcept {
        *back_ = list_next;
        if (list_next != nullptr) list_next->back_ = back_;
    }

    // The caller changes the tree, so no other thread is here.
    [[gnu::noinline]] static void move_all(Leaf* from, std::size_t first, std::size_t n, Leaf* to,
                                           std::size_t at) noexcept {
        for (tree_follower* follower = from->tracked.first; follower != nullptr;) {
            tree_follower* const next = follower->list_next;
            if (follower->slot_ - first < n) {
                follower->slot_ += at - first;
                if (from != to) {
                    follower->unlink_locked();
                    follower->at_ = to;
                    follower->link_locked();
                }
            }
            follower = next;
        }
    }
    [[gnu::noinline]] static void end_all(Leaf* from, std::size_t first, std::size_t n) noexcept {
        for (tree_follower* follower = from->tracked.first; follower != nullptr;) {
            tree_follower* const next = follower->list_next;
            if (follower->slot_ - first < n) {
                follower->unlink_locked();
                follower->at_ = nullptr;
                follower->slot_ = 0;
                follower->end_of = nullptr;
            }
            follower = next;
        }
    }

    Leaf* at_ = nullptr;  // null: the end of the owner, or singular without one
    std::size_t slot_ = 0;
    union {
        const void* end_of = nullptr;
        tree_follower* list_next;
    };
    tree_follower** back_ = nullptr;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
