// SPDX-License-Identifier: BSL-1.0
// A program with containers in a template's instance, in an anonymous namespace, in a lambda, in a local class and
// behind aliases, and with hand-made nodes. It prints the values that it reads back from all of them.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shop {

template <class T>
class cache {
  public:
    [[gnu::noinline]] void put(int key, const T& value) {
        if (entries_.size() > 500) entries_.erase(entries_.begin());
        entries_[key] = value;
        order_.push_back(key);
    }
    long sum() const {
        long total = 0;
        for (typename std::map<int, T>::const_iterator at = entries_.begin(); at != entries_.end(); ++at)
            total += at->first + static_cast<long>(at->second.size());
        return total + static_cast<long>(order_.size());
    }

  private:
    std::map<int, T> entries_;
    std::deque<int> order_;
};

}  // namespace shop

namespace {

struct hidden {
    int values[6];
};

class hidden_index {
  public:
    [[gnu::noinline]] void add(int key) {
        by_key_.emplace(key, hidden{{key}});
        last_ = recent_.insert(recent_.end(), hidden{{key}});
        if (recent_.size() > 100) recent_.pop_front();
    }
    long sum() const {
        long total = last_->values[0];
        for (const hidden& one : recent_) total += one.values[0];
        for (const auto& [key, value] : by_key_) total += key ^ value.values[0];
        return total;
    }

  private:
    using table = std::unordered_multimap<int, hidden>;
    table by_key_;
    std::list<hidden> recent_;
    std::list<hidden>::iterator last_;
};

}  // namespace

[[gnu::noinline]] long count_words(int many) {
    std::vector<int> all;
    const auto add = [&all](int n) {
        std::set<int> seen;
        for (int i = 0; i < n % 17; ++i) seen.insert(i * n);
        all.insert(all.end(), seen.begin(), seen.end());
    };
    for (int i = 0; i < many; ++i) add(i);
    long total = 0;
    for (const int one : all) total = total * 31 % 1000003 + one % 7;
    return total;
}

[[gnu::noinline]] long local_class(int many) {
    struct tree {
        std::multiset<int> numbers;
        void add(int n) { numbers.insert(n % 97); }
    } grown;
    for (int i = 0; i < many; ++i) grown.add(i);
    long total = 0;
    for (const int n : grown.numbers) total += n;
    return total;
}

struct node {
    node* next;
    long value;
};

[[gnu::noinline]] long by_hand(int many) {
    node* first = nullptr;
    for (int i = 0; i < many; ++i) first = new node{first, i};
    long total = 0;
    while (first != nullptr) {
        total += first->value;
        delete std::exchange(first, first->next);
    }
    return total;
}

int main(int count, char** arguments) {
    const int many = count > 1 ? std::atoi(arguments[1]) : 2000;
    shop::cache<std::string> names;
    shop::cache<std::vector<int>> rows;
    hidden_index index;
    for (int i = 0; i < many; ++i) {
        names.put(i, std::string(static_cast<std::size_t>(i % 60), 'x'));
        rows.put(i, std::vector<int>(static_cast<std::size_t>(i % 9), i));
        index.add(i);
    }
    std::printf("%ld %ld %ld\n", names.sum(), rows.sum(), index.sum());
    std::printf("%ld %ld %ld\n", count_words(many), local_class(many), by_hand(many));
}
