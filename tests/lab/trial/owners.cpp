// SPDX-License-Identifier: BSL-1.0
// owners KIND ADDS: 32 containers of one type that grow in turns, so that no call stack tells which container an object
// belongs to. KIND: list, map, set, strings (vectors of strings), nodes (hand-written lists), or coroutine (blocks
// allocated at the very end of a program's own stack, behind which nothing is mapped).
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace {

std::uint64_t random_state = 88172645463325252u;
std::uint64_t draw(std::uint64_t below) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % below;
}

struct lists {
    std::list<std::uint64_t> held;
    void add(std::uint64_t x) { held.push_back(x); }
};
struct maps {
    std::map<std::uint64_t, std::uint64_t> held;
    void add(std::uint64_t x) { held[draw(1u << 30)] = x; }
};
struct sets {
    std::set<std::uint64_t> held;
    void add(std::uint64_t) { held.insert(draw(1u << 30)); }
};
struct strings {
    std::vector<std::string> held;
    void add(std::uint64_t x) { held.emplace_back(40 + x % 8, 'a'); }
};
struct nodes {
    struct node {
        node* next;
        std::uint64_t value;
    };
    node* first = nullptr;
    nodes() = default;
    nodes(const nodes&) = delete;
    nodes& operator=(const nodes&) = delete;
    ~nodes() {
        while (first != nullptr) {
            node* const next = first->next;
            std::free(first);
            first = next;
        }
    }
    __attribute__((noinline)) void add(std::uint64_t x) {
        auto* const made = static_cast<node*>(std::malloc(sizeof(node)));
        if (made == nullptr) std::abort();
        *made = {first, x};
        first = made;
    }
};

template <class Container>
int fill(long adds) {
    constexpr std::size_t instances = 32;
    std::vector<std::unique_ptr<Container>> all;
    for (std::size_t i = 0; i < instances; ++i) all.push_back(std::make_unique<Container>());
    for (long i = 0; i < adds; ++i) all[draw(instances)]->add(static_cast<std::uint64_t>(i));
    return 0;
}

ucontext_t outside, inside;
long blocks = 0;

void allocate_at_the_end() {
    for (long i = 0; i < blocks; ++i) {
        void* const block = std::malloc(24);
        __asm__ volatile("" : : "r"(block) : "memory");
        std::free(block);
    }
}

int run_coroutine(long adds) {
    constexpr std::size_t page = 4096, stack = 16 * page;
    auto* const memory =
        static_cast<char*>(mmap(nullptr, stack + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory == MAP_FAILED || mprotect(memory + page, stack, PROT_READ | PROT_WRITE) != 0) return 3;
    blocks = adds;
    getcontext(&inside);
    inside.uc_stack.ss_sp = memory + page;
    inside.uc_stack.ss_size = stack;
    inside.uc_link = &outside;
    makecontext(&inside, allocate_at_the_end, 0);
    return swapcontext(&outside, &inside) == 0 ? 0 : 3;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const std::string kind = argv[1];
    const long adds = std::atol(argv[2]);
    if (kind == "list") return fill<lists>(adds);
    if (kind == "map") return fill<maps>(adds);
    if (kind == "set") return fill<sets>(adds);
    if (kind == "strings") return fill<strings>(adds);
    if (kind == "coroutine") return run_coroutine(adds);
    return kind == "nodes" ? fill<nodes>(adds) : 2;
}
