// SPDX-License-Identifier: BSL-1.0
// A program in which each function fills one container of the standard library: use_map fills the type that stands
// behind "// use_map:". The test compares these lines with the names that Millpond finds.
#include <algorithm>
#include <any>
#include <cstdio>
#include <deque>
#include <forward_list>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <queue>
#include <set>
#include <sstream>
#include <stack>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <valarray>
#include <vector>

namespace shop {

struct order {
    int number = 0;
    double price = 0;
    char note[40] = {};
    friend bool operator<(const order& a, const order& b) { return a.number < b.number; }
    friend bool operator==(const order& a, const order& b) { return a.number == b.number; }
};

struct by_number {
    std::size_t operator()(const order& o) const { return static_cast<std::size_t>(o.number); }
};

}  // namespace shop

namespace {

struct hidden {
    int values[10] = {};
};

using shop::order;
constexpr int many = 700;
const std::string long_text = "a text that does not fit into the small buffer of a string";

template <class Container>
[[gnu::noinline]] std::size_t keep(const Container& container) {
    asm volatile("" : : "r"(&container) : "memory");
    return sizeof(container);
}

// Returns a resource of its own kind, so that a pmr container takes its blocks from operator new one by one.
std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

}  // namespace

#define USE [[gnu::noinline]] std::size_t

// use_vector: std::vector<shop::order>
USE use_vector() {
    std::vector<order> c;
    for (int i = 0; i < many; ++i) c.push_back({i});
    return keep(c);
}
// use_vector_of_hidden: std::vector<hidden>
USE use_vector_of_hidden() {
    std::vector<hidden> c(3);
    for (int i = 0; i < many; ++i) c.emplace_back();
    c.reserve(9000);
    return keep(c);
}
// use_vector_of_bool: std::vector<bool>
USE use_vector_of_bool() {
    std::vector<bool> c;
    for (int i = 0; i < 100 * many; ++i) c.push_back(i % 3 == 0);
    return keep(c);
}
// use_deque: std::deque<shop::order>
USE use_deque() {
    std::deque<order> c;
    for (int i = 0; i < many; ++i) c.push_back({i});
    for (int i = 0; i < many; ++i) c.push_front({i});
    return keep(c);
}
// use_list: std::list<shop::order>
USE use_list() {
    std::list<order> c;
    for (int i = 0; i < many; ++i) c.push_back({i});
    return keep(c);
}
// use_forward_list: std::forward_list<shop::order>
USE use_forward_list() {
    std::forward_list<order> c;
    for (int i = 0; i < many; ++i) c.push_front({i});
    return keep(c);
}
// use_set: std::set<shop::order>
USE use_set() {
    std::set<order> c;
    for (int i = 0; i < many; ++i) c.insert({i});
    return keep(c);
}
// use_multiset: std::multiset<shop::order>
USE use_multiset() {
    std::multiset<order> c;
    for (int i = 0; i < many; ++i) c.insert({i / 2});
    return keep(c);
}
// use_map: std::map<int, shop::order>
USE use_map() {
    std::map<int, order> c;
    for (int i = 0; i < many; ++i) c[i].number = i;
    for (int i = many; i < 2 * many; ++i) c.emplace(i, order{i});
    return keep(c);
}
// use_greater_map: std::map<int, shop::order, std::greater<int>>
USE use_greater_map() {
    std::map<int, order, std::greater<int>> c;
    for (int i = 0; i < many; ++i) c.insert({i, order{i}});
    return keep(c);
}
// use_multimap: std::multimap<int, shop::order>
USE use_multimap() {
    std::multimap<int, order> c;
    for (int i = 0; i < many; ++i) c.emplace(i / 2, order{i});
    return keep(c);
}
// use_unordered_set: std::unordered_set<shop::order, shop::by_number>
USE use_unordered_set() {
    std::unordered_set<order, shop::by_number> c;
    for (int i = 0; i < many; ++i) c.insert({i});
    return keep(c);
}
// use_unordered_multiset: std::unordered_multiset<long>
USE use_unordered_multiset() {
    std::unordered_multiset<long> c;
    for (int i = 0; i < many; ++i) c.insert(i / 2);
    return keep(c);
}
// use_unordered_map: std::unordered_map<int, shop::order>
USE use_unordered_map() {
    std::unordered_map<int, order> c;
    for (int i = 0; i < many; ++i) c[i].number = i;
    return keep(c);
}
// use_unordered_multimap: std::unordered_multimap<int, shop::order>
USE use_unordered_multimap() {
    std::unordered_multimap<int, order> c;
    for (int i = 0; i < many; ++i) c.emplace(i / 2, order{i});
    return keep(c);
}
// use_string: std::string
USE use_string() {
    std::size_t letters = 0;
    for (int i = 0; i < many; ++i) {
        std::string c = long_text;
        for (int k = 0; k < 20; ++k) c += "and some more of it";
        letters += keep(c);
    }
    return letters;
}
// use_wstring: std::wstring
USE use_wstring() {
    std::wstring c;
    for (int i = 0; i < 100 * many; ++i) c += L'x';
    return keep(c);
}
// use_map_of_strings: std::string in std::map<int, std::string>
USE use_map_of_strings() {
    std::map<int, std::string> c;
    for (int i = 0; i < many; ++i) c.emplace(i, long_text + long_text + long_text);
    return keep(c);
}
// use_make_shared: std::shared_ptr<shop::order>
USE use_make_shared() {
    std::shared_ptr<order> c;
    for (int i = 0; i < many; ++i) c = std::make_shared<order>();
    return keep(c);
}
// use_make_unique: std::unique_ptr<shop::order>
USE use_make_unique() {
    std::unique_ptr<order> c;
    for (int i = 0; i < many; ++i) {
        c = std::make_unique<order>();
        keep(c);
    }
    return keep(c);
}
// use_function: std::function<int()>
USE use_function() {
    std::function<int()> c;
    for (int i = 0; i < many; ++i) {
        order o{i};
        c = [o] { return o.number; };
        keep(c);
    }
    return keep(c);
}
// use_any: std::any
USE use_any() {
    std::any c;
    for (int i = 0; i < many; ++i) {
        c = order{i};
        keep(c);
    }
    return keep(c);
}
// use_queue: std::queue<shop::order>
USE use_queue() {
    std::queue<order> c;
    for (int i = 0; i < many; ++i) c.push({i});
    return keep(c);
}
// use_stack: std::stack<shop::order>
USE use_stack() {
    std::stack<order> c;
    for (int i = 0; i < many; ++i) c.push({i});
    return keep(c);
}
// use_priority_queue: std::priority_queue<shop::order>
USE use_priority_queue() {
    std::priority_queue<order> c;
    for (int i = 0; i < many; ++i) c.push({i});
    return keep(c);
}
// use_stringstream: std::stringstream
USE use_stringstream() {
    std::stringstream c;
    for (int i = 0; i < many; ++i) c << "line " << i << ' ' << long_text;
    return keep(c);
}
// use_ostringstream: std::ostringstream
USE use_ostringstream() {
    std::ostringstream c;
    for (int i = 0; i < many; ++i) c << "line " << i << ' ' << long_text;
    return keep(c);
}
// use_valarray: std::valarray<double>
USE use_valarray() {
    std::valarray<double> c(20 * many);
    return keep(c);
}
// use_promise: std::promise<shop::order>
USE use_promise() {
    std::size_t bytes = 0;
    for (int i = 0; i < many; ++i) {
        std::promise<order> c;
        bytes += keep(c);
    }
    return bytes;
}
// use_pmr_vector: std::pmr::vector<shop::order>
USE use_pmr_vector() {
    std::pmr::vector<order> c(heap());
    for (int i = 0; i < many; ++i) c.push_back({i});
    return keep(c);
}
// use_pmr_map: std::pmr::map<int, shop::order>
USE use_pmr_map() {
    std::pmr::map<int, order> c(heap());
    for (int i = 0; i < many; ++i) c[i].number = i;
    return keep(c);
}
// use_pmr_list: std::pmr::list<shop::order>
USE use_pmr_list() {
    std::pmr::list<order> c(heap());
    for (int i = 0; i < many; ++i) c.push_back({i});
    return keep(c);
}
// use_pmr_unordered_map: std::pmr::unordered_map<int, shop::order>
USE use_pmr_unordered_map() {
    std::pmr::unordered_map<int, order> c(heap());
    for (int i = 0; i < many; ++i) c[i].number = i;
    return keep(c);
}
// use_pmr_string: std::pmr::string
USE use_pmr_string() {
    std::pmr::string c(heap());
    for (int i = 0; i < 100 * many; ++i) c += 'x';
    return keep(c);
}
// use_node: nothing
USE use_node() {
    struct node {
        node* next;
        order o;
    };
    node* first = nullptr;
    for (int i = 0; i < many; ++i) first = new node{first, {i}};
    while (first != nullptr) delete std::exchange(first, first->next);
    return keep(first);
}

int main() {
    std::size_t bytes = use_vector() + use_vector_of_hidden() + use_vector_of_bool() + use_deque() + use_list();
    bytes += use_forward_list() + use_set() + use_multiset() + use_map() + use_greater_map() + use_multimap();
    bytes += use_unordered_set() + use_unordered_multiset() + use_unordered_map() + use_unordered_multimap();
    bytes += use_string() + use_wstring() + use_map_of_strings() + use_make_shared() + use_make_unique();
    bytes += use_function() + use_any() + use_queue() + use_stack() + use_priority_queue() + use_stringstream();
    bytes += use_ostringstream() + use_valarray() + use_promise() + use_pmr_vector() + use_pmr_map() + use_pmr_list();
    bytes += use_pmr_unordered_map() + use_pmr_string() + use_node();
    std::printf("%zu\n", bytes);
}
