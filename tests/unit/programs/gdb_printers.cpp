// SPDX-License-Identifier: BSL-1.0
// gdb_printers: containers of every kind, and a function where a debugger stops to look at them.
#include <cstdio>
#include <millpond/container.hpp>

namespace {

struct large {
    int number;
    long rest[20];
    friend bool operator<(const large& a, const large& b) { return a.number < b.number; }
};

// A function of its own, so that everything is alive when the debugger stops here.
[[gnu::noinline]] void look_at_them() {
    asm volatile("");
    std::puts("looked at");
}

}  // namespace

int main() {
    millpond::dyn_array<int> array(100);
    array.push_back(3);
    array.push_back(5);
    const millpond::counted_set<int> scores{310, 120, 250, 470};
    const millpond::pooled_counted_multimap<int, unsigned long> pairs{{2, 20}, {1, 10}, {2, 22}};
    millpond::ordered_set<unsigned long> tree;
    for (unsigned long i = 0; i < 150; ++i) tree.insert(i * i);
    const millpond::ordered_map<unsigned long, char> letters{{7, 'g'}, {1, 'a'}};
    millpond::ordered_multiset<large> large_ones;
    large_ones.insert({7, {}});
    millpond::vector_tree<short> sequence;
    for (short i = 0; i < 300; ++i) sequence.insert(sequence.begin(), i);
    const millpond::pooled_set<int> pooled{3, 1, 2};
    const auto third = scores.nth(2);
    const auto first = letters.begin();
    const auto none = scores.end();
    look_at_them();
    return array.size() + scores.size() + pairs.size() + tree.size() + letters.size() + large_ones.size() == 162 &&
                   sequence.size() == 300 && pooled.size() == 3 && third != none && first->second == 'a'
               ? 0
               : 1;
}
