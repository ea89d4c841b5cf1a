// SPDX-License-Identifier: BSL-1.0
// library_wink_out: a tree of strings that is dropped without visiting a node.
//
// A class whose members are all winkable declares itself winkable by specialising is_winkable.
#include <cstdio>
#include <map>
#include <memory_resource>
#include <millpond/millpond.hpp>
#include <string>
#include <vector>

struct entry {
    using allocator_type = std::pmr::polymorphic_allocator<>;
    explicit entry(const allocator_type& pool = {}) : name(pool), children(pool) {}
    std::pmr::string name;
    std::pmr::vector<int> children;
};

template <>
struct millpond::is_winkable<entry> : std::true_type {};

int main() {
    using pool_type = millpond::resource<millpond::monotonic<>>;
    pool_type pool;
    std::size_t entries = 0;
    {
        millpond::wink_out<std::pmr::map<int, entry>, pool_type> tree(pool);
        for (int i = 0; i < 10000; ++i) {
            entry& added = (*tree)[i];
            added.name = "an entry whose name is too long to lie inside the string";
            (*tree)[i / 2].children.push_back(i);
        }
        entries = tree->size();
    }  // 10 000 nodes, names and lists of children go with about ten chunks
    std::printf("%zu entries winked out, %zu bytes left in the pool\n", entries, pool.target().held_bytes());
    return pool.target().held_bytes() == 0 ? 0 : 1;
}
