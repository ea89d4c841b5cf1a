// SPDX-License-Identifier: BSL-1.0
// call_trees: programs whose call stacks are the hard case for a recorder: recursion and many call sites.
//
//   --shape 1  recursive descent: random expressions are parsed into trees, evaluated and dropped; nearly every event
//              has a stack of its own
//   --shape 2  a deep tree is built and destroyed by recursion, up to 200 frames
//   --shape 3  divide and conquer: sets of words are split and merged by recursion through four functions, with small
//              arrays on the way
//   --shape 4  call-dense: small functions that allocate from many call sites, without frame pointers
//
// Use it to measure the cost of recording and look-ups with many contexts; heap_churn has 256 stacks in turns.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "command_line.hpp"

namespace {

using std::uint64_t;

uint64_t events = 0;
uint64_t state = 1;

uint64_t draw(uint64_t limit) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return ((state * 2685821657736338717u) >> 11) % limit;
}

template <class T>
T* make(std::size_t count = 1) {
    ++events;
    auto* const memory = static_cast<T*>(std::calloc(count, sizeof(T)));
    if (memory == nullptr) std::abort();
    return memory;
}
void drop(void* memory) {
    ++events;
    std::free(memory);
}

struct node {
    uint64_t value;
    char kind;
    node* left;
    node* right;
};

[[gnu::noinline]] uint64_t value_of(const node* tree) {
    if (tree->kind == '+') return value_of(tree->left) + value_of(tree->right);
    if (tree->kind == '*') return value_of(tree->left) * value_of(tree->right) % 1000003;
    if (tree->kind == '(') return value_of(tree->left);
    return tree->value;
}

// The other work of a program with its data: without it an event would take 20 ns.
uint64_t use(const node* tree) {
    uint64_t sum = 0;
    for (int pass = 0; pass < 10; ++pass) sum += value_of(tree);
    return sum;
}

[[gnu::noinline]] void drop_tree(node* tree) {
    if (tree == nullptr) return;
    drop_tree(tree->left);
    drop_tree(tree->right);
    drop(tree);
}

// Shape 1

struct parser {
    const char* at;

    [[gnu::noinline]] node* leaf(char kind, node* left, node* right) {
        node* const fresh = make<node>();
        *fresh = {0, kind, left, right};
        return fresh;
    }
    [[gnu::noinline]] node* sum() {
        node* left = product();
        while (*at == '+') {
            ++at;
            left = leaf('+', left, product());
        }
        return left;
    }
    [[gnu::noinline]] node* product() {
        node* left = factor();
        while (*at == '*') {
            ++at;
            left = leaf('*', left, factor());
        }
        return left;
    }
    [[gnu::noinline]] node* factor() {
        if (*at == '(') {
            ++at;
            node* const inner = sum();
            ++at;
            return leaf('(', inner, nullptr);
        }
        node* const number = leaf('n', nullptr, nullptr);
        while (*at >= '0' && *at <= '9') number->value = number->value * 10 + static_cast<uint64_t>(*at++ - '0');
        return number;
    }
};

void write_expression(std::string& text, unsigned depth) {
    for (uint64_t terms = 1 + draw(3); terms > 0; --terms) {
        if (depth > 0 && draw(5) != 0) {
            text += '(';
            write_expression(text, depth - 1 - static_cast<unsigned>(draw(std::min(depth, 3u))));
            text += ')';
        } else {
            text += std::to_string(draw(1000000));
        }
        if (terms > 1) text += draw(2) != 0 ? '+' : '*';
    }
}

uint64_t descend() {
    const uint64_t first = events;
    uint64_t sum = 0;
    std::string text;
    while (events - first < 60'000) {
        text.clear();
        write_expression(text, 12 + static_cast<unsigned>(draw(8)));
        parser parsing{text.c_str()};
        node* const tree = parsing.sum();
        sum = sum * 31 + use(tree);
        drop_tree(tree);
    }
    return sum;
}

// Shape 2

[[gnu::noinline]] node* build(unsigned depth) {
    node* const fresh = make<node>();
    fresh->kind = depth < 2 ? 'n' : '+';
    fresh->value = draw(1000);
    if (depth < 2) return fresh;
    const auto shorter = static_cast<unsigned>(draw(depth < 12 ? depth : 12));
    fresh->left = build(depth - 1);
    fresh->right = build(shorter);
    return fresh;
}

uint64_t build_and_destroy() {
    const uint64_t first = events;
    uint64_t sum = 0;
    while (events - first < 60'000) {
        node* const tree = build(200);
        sum = sum * 31 + use(tree);
        drop_tree(tree);
    }
    return sum;
}

// Shape 3

struct words {
    uint64_t* first;
    std::size_t count;
};

words copy_of(words from) {
    words fresh{make<uint64_t>(from.count + 1), from.count};
    std::copy_n(from.first, from.count, fresh.first);
    return fresh;
}

words solve(words set, unsigned bit);

[[gnu::noinline]] words merge(words a, words b) {
    words fresh{make<uint64_t>(a.count + b.count + 1), a.count + b.count};
    std::merge(a.first, a.first + a.count, b.first, b.first + b.count, fresh.first);
    drop(a.first);
    drop(b.first);
    return fresh;
}
template <int Way>
[[gnu::noinline]] words cofactor(words set, unsigned bit, bool one) {
    words half{make<uint64_t>(set.count + 1), 0};
    for (std::size_t i = 0; i < set.count; ++i)
        if (((set.first[i] >> bit) & 1) == one) half.first[half.count++] = set.first[i];
    const words solved = solve(half, bit + 1 + Way % 2);
    drop(half.first);
    return solved;
}
[[gnu::noinline]] words solve(words set, unsigned bit) {
    if (set.count < 3 || bit > 40) {
        const words done = copy_of(set);
        std::sort(done.first, done.first + done.count);
        return done;
    }
    switch (set.first[0] & 3) {
        case 0:
            return merge(cofactor<0>(set, bit, false), cofactor<1>(set, bit, true));
        case 1:
            return merge(cofactor<1>(set, bit, false), cofactor<0>(set, bit, true));
        case 2:
            return merge(cofactor<2>(set, bit, true), cofactor<3>(set, bit, false));
        default:
            return merge(cofactor<3>(set, bit, true), cofactor<2>(set, bit, false));
    }
}

uint64_t divide() {
    const uint64_t first = events;
    uint64_t sum = 0;
    while (events - first < 60'000) {
        words set{make<uint64_t>(256), 256};
        for (std::size_t i = 0; i < set.count; ++i)
            for (int pass = 0; pass < 40; ++pass) set.first[i] = draw(~uint64_t{0});
        const words solved = solve(set, 0);
        for (std::size_t i = 0; i < solved.count; ++i) sum = sum * 31 + solved.first[i];
        drop(solved.first);
        drop(set.first);
    }
    return sum;
}

// Shape 4

struct record {
    unsigned char* bytes;
    uint64_t count;
};

template <int Site>
[[gnu::noinline]] void touch(record* table, uint64_t at) {
    record& r = table[at & 1023];
    for (uint64_t pass = 0; pass < 4; ++pass)
        for (uint64_t i = 0; i < r.count; ++i) r.bytes[0] = static_cast<unsigned char>(r.bytes[0] + r.bytes[i]);
    if (r.bytes != nullptr) drop(r.bytes);
    r.count = 16 + (at * (Site + 3)) % 112;
    r.bytes = make<unsigned char>(r.count);
    std::memset(r.bytes, Site, r.count);
}

template <int Site>
[[gnu::noinline]] void visit(record* table, uint64_t at, unsigned depth) {
    touch<Site>(table, at);
    if (depth == 0) return;
    switch (at % 7) {
        case 0:
            visit<(Site + 1) % 16>(table, at / 7 + 11, depth - 1);
            break;
        case 1:
            visit<(Site + 5) % 16>(table, at / 7 + 12, depth - 1);
            break;
        case 2:
            visit<(Site + 6) % 16>(table, at / 7 + 13, depth - 1);
            break;
        default:
            touch<(Site + 2) % 16>(table, at + 14);
            touch<(Site + 3) % 16>(table, at + 15);
    }
    touch<(Site + 7) % 16>(table, at + 16);
}

uint64_t visit_densely() {
    const uint64_t first = events;
    static record table[1024];
    while (events - first < 60'000) visit<0>(table, draw(uint64_t{1} << 40), 12);
    return table[5].count;
}

}  // namespace

int main(int argc, char** argv) {
    uint64_t shape = 1;
    uint64_t rounds = 20;
    uint64_t seed = 1;
    millpond::suites::read_options(argc, argv, "call_trees",
                                   {{"--shape", shape, 1}, {"--rounds", rounds}, {"--seed", seed}});
    state = seed * 0x9E3779B97F4A7C15u | 1;
    uint64_t sum = 0;
    for (uint64_t round = 0; round < rounds; ++round)
        sum = sum * 31 + (shape == 1   ? descend()
                          : shape == 2 ? build_and_destroy()
                          : shape == 3 ? divide()
                                       : visit_densely());

    std::printf("events %llu, checksum %016llx\n", static_cast<unsigned long long>(events),
                static_cast<unsigned long long>(sum));
    millpond::suites::print_cost(events);
    return 0;
}
