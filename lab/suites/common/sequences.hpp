// SPDX-License-Identifier: BSL-1.0
// sequences: containers that insert numbers in the middle, each with the same few calls.
//
//   tree_sequence    vector_tree, pooled_vector_tree     a counted B+-tree
//   rope_sequence    __gnu_cxx::rope                     a balanced tree of texts that are shared
//   ranked_sequence  pb_ds's tree with order statistics  a red-black tree; its keys are made from those of neighbours
//   array_sequence   std::vector, std::deque             elements behind are shifted
//
// insert(index, number), erase(index), [index], begin and end; rotate(index): splits there and joins the parts in
// reverse order, if that does not copy everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/tree_policy.hpp>
#include <ext/rope>
#include <string_view>
#include <utility>
#include <vector>

#include "millpond/container/vector_tree.hpp"

namespace millpond::suites {

template <class Tree>
class tree_sequence {
  public:
    void insert(std::size_t index, int number) { tree_.insert(tree_.nth(index), number); }
    void erase(std::size_t index) { tree_.erase_at(index, index + 1); }
    void rotate(std::size_t index) {
        Tree rest = tree_.split(index);
        rest.append(std::move(tree_));
        tree_ = std::move(rest);
    }
    [[nodiscard]] int operator[](std::size_t index) const { return tree_[index]; }
    [[nodiscard]] auto begin() const { return tree_.begin(); }
    [[nodiscard]] auto end() const { return tree_.end(); }

  private:
    Tree tree_;
};
struct millpond_sequence : tree_sequence<vector_tree<int>> {
    static constexpr std::string_view name = "vector_tree";
};
struct pooled_sequence : tree_sequence<pooled_vector_tree<int>> {
    static constexpr std::string_view name = "pooled_vector_tree";
};

class rope_sequence {
  public:
    static constexpr std::string_view name = "rope";

    void insert(std::size_t index, int number) { rope_.insert(index, number); }
    void erase(std::size_t index) { rope_.erase(index, 1); }
    void rotate(std::size_t index) {
        const __gnu_cxx::rope<int> first = rope_.substr(0, index);
        rope_ = rope_.substr(index, rope_.size() - index) + first;
    }
    [[nodiscard]] int operator[](std::size_t index) const { return rope_[index]; }
    [[nodiscard]] auto begin() const { return rope_.begin(); }
    [[nodiscard]] auto end() const { return rope_.end(); }

  private:
    __gnu_cxx::rope<int> rope_;
};

class ranked_sequence {
    __extension__ using key = unsigned __int128;
    using tree = __gnu_pbds::tree<key, int, std::less<key>, __gnu_pbds::rb_tree_tag,
                                  __gnu_pbds::tree_order_statistics_node_update>;

  public:
    static constexpr std::string_view name = "pb_ds_tree";

    void insert(std::size_t index, int number) {
        const auto next = tree_.find_by_order(index);
        const key above = next == tree_.end() ? ~key{0} : next->first;
        const key below = index == 0 ? key{0} : tree_.find_by_order(index - 1)->first;
        tree_.insert({below + (above - below) / 2, number});
    }
    void erase(std::size_t index) { tree_.erase(tree_.find_by_order(index)); }
    [[nodiscard]] int operator[](std::size_t index) const { return tree_.find_by_order(index)->second; }

    class iterator {
      public:
        explicit iterator(tree::const_iterator at) : at_(at) {}
        int operator*() const { return at_->second; }
        iterator& operator++() {
            ++at_;
            return *this;
        }
        friend bool operator!=(const iterator& a, const iterator& b) { return a.at_ != b.at_; }

      private:
        tree::const_iterator at_;
    };
    [[nodiscard]] iterator begin() const { return iterator(tree_.begin()); }
    [[nodiscard]] iterator end() const { return iterator(tree_.end()); }

  private:
    tree tree_;
};

template <class Array>
class array_sequence {
  public:
    void insert(std::size_t index, int number) { array_.insert(at(index), number); }
    void erase(std::size_t index) { array_.erase(at(index)); }
    void push_back(int number) { array_.push_back(number); }
    [[nodiscard]] int operator[](std::size_t index) const { return array_[index]; }
    [[nodiscard]] auto begin() const { return array_.begin(); }
    [[nodiscard]] auto end() const { return array_.end(); }

  private:
    [[nodiscard]] auto at(std::size_t index) { return array_.begin() + static_cast<std::ptrdiff_t>(index); }

    Array array_;
};
struct vector_sequence : array_sequence<std::vector<int>> {
    static constexpr std::string_view name = "vector";
};
struct deque_sequence : array_sequence<std::deque<int>> {
    static constexpr std::string_view name = "deque";
};

}  // namespace millpond::suites
