// SPDX-License-Identifier: BSL-1.0
// Workloads of known density: `density_workloads NAME`. The counted work happens in millpond_measured_window and
// belongs to the subsystem "work".
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace work {

struct node {
    node* next;
    long value;
};

// Keeps a value, so that the compiler removes no computation of it.
template <class T>
void keep(const T& value) {
    __asm__ volatile("" : : "g"(&value) : "memory");
}

[[gnu::noinline]] node* build(std::size_t count) {
    node* first = nullptr;
    for (std::size_t i = 0; i < count; ++i) first = new node{first, static_cast<long>(i)};
    return first;
}

[[gnu::noinline]] void walk(const node* first, int times) {
    long sum = 0;
    for (int i = 0; i < times; ++i) {
        for (const node* at = first; at != nullptr; at = at->next) sum += at->value;
    }
    keep(sum);
}

[[gnu::noinline]] void destroy(node* first) {
    while (first != nullptr) delete std::exchange(first, first->next);
}

// A list that is built once and walked 200 times.
void list_walked() {
    node* const first = build(2000);
    walk(first, 200);
    destroy(first);
}

// The same list, which is never freed.
void list_left() {
    node* const first = build(2000);
    walk(first, 200);
    keep(first);
}

// A list in shuffled order, so that each step misses a cache.
void list_shuffled() {
    constexpr std::size_t count = 100'000;
    std::vector<node*> nodes;
    nodes.reserve(count);
    for (std::size_t i = 0; i < count; ++i) nodes.push_back(new node{nullptr, 1});
    std::uint64_t state = 1;
    for (std::size_t i = count - 1; i > 0; --i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        std::swap(nodes[i], nodes[(state >> 33) % i]);
    }
    for (std::size_t i = 1; i < count; ++i) nodes[i - 1]->next = nodes[i];
    walk(nodes.front(), 10);
    destroy(nodes.front());
}

[[gnu::noinline]] void churn(int pairs, std::size_t bytes, std::size_t written) {
    for (int i = 0; i < pairs; ++i) {
        char* const block = new char[bytes];
        std::memset(block, i, written);
        keep(*block);
        delete[] block;
    }
}

void pairs() { churn(200'000, 64, 1); }
void pairs_written() { churn(100'000, 512, 512); }
void pairs_large() { churn(400, 1 << 20, 4096); }

void growing() {
    for (int i = 0; i < 400; ++i) {
        std::vector<long> values;
        for (long n = 0; n < 500; ++n) values.push_back(n);
        keep(values.back());
    }
}

void texts_in_tree() {
    std::map<std::string, std::string> texts;
    for (int i = 0; i < 10'000; ++i)
        texts["the key of number " + std::to_string(i * 7919 % 10'007)] = std::string(40, 'x');
    keep(texts);
}

// Few operations, much arithmetic.
void sparse() {
    std::uint64_t state = 1;
    for (int i = 0; i < 1000; ++i) {
        char* const block = new char[100];
        for (int n = 0; n < 5000; ++n) state = state * 6364136223846793005u + 1442695040888963407u;
        block[0] = static_cast<char>(state);
        keep(*block);
        delete[] block;
    }
}

struct workload {
    std::string_view name;
    void (*run)();
    int threads = 1;
};
constexpr workload workloads[] = {
    {"list_walked", list_walked},
    {"list_left", list_left},
    {"list_shuffled", list_shuffled},
    {"pairs", pairs},
    {"pairs_written", pairs_written},
    {"pairs_large", pairs_large},
    {"growing", growing},
    {"texts_in_tree", texts_in_tree},
    {"sparse", sparse},
    {"two_threads", pairs, 2},
};

}  // namespace work

extern "C" [[gnu::noinline]] void millpond_measured_window(void (*run)()) {
    run();
    __asm__ volatile("" : : : "memory");
}

int main(int count, char** words) {
    for (const work::workload& each : work::workloads) {
        if (count != 2 || each.name != words[1]) continue;
        std::vector<std::thread> others;
        for (int i = 1; i < each.threads; ++i) others.emplace_back(millpond_measured_window, each.run);
        millpond_measured_window(each.run);
        for (std::thread& other : others) other.join();
        return 0;
    }
    std::fputs("density_workloads NAME\n", stderr);
    for (const work::workload& each : work::workloads) std::fprintf(stderr, "  %s\n", each.name.data());
    return 2;
}
