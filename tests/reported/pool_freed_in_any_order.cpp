// SPDX-License-Identifier: BSL-1.0
// Report: boostorg/pool 30, NVIDIA/cccl 585
// Situation: small and oversized blocks of a pool are freed first to last, last to first and in random order.
// Holds: the pool stays sound in each order, and gives all of it back when it is destroyed.
// Library: yes
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <millpond/millpond.hpp>
#include <random>
#include <vector>
struct counting {
    static inline long held = 0;
    void* try_allocate(std::size_t n, std::size_t alignment) noexcept {
        held += static_cast<long>(n);
        return ::operator new(n, std::align_val_t(alignment), std::nothrow);
    }
    void deallocate(void* at, std::size_t n, std::size_t alignment) noexcept {
        held -= static_cast<long>(n);
        ::operator delete(at, n, std::align_val_t(alignment));
    }
};
int main() {
    std::mt19937 random(7);
    for (int order = 0; order < 3; ++order) {
        millpond::multipool<counting> pool;
        for (int round = 0; round < 5; ++round) {
            std::vector<std::pair<char*, std::size_t>> blocks;
            for (int i = 0; i < 400; ++i) {
                const std::size_t bytes =
                    i % 20 == 0 ? (std::size_t{1} << 20) + 512 * std::size_t(i) : 1 + random() % 3000;
                blocks.emplace_back(static_cast<char*>(pool.allocate(bytes, 16)), bytes);
                std::memset(blocks.back().first, i & 127, bytes);
            }
            for (std::size_t i = 0; i < blocks.size(); ++i)
                if (blocks[i].first[0] != char(i & 127) || blocks[i].first[blocks[i].second - 1] != char(i & 127))
                    return 1;
            if (order == 1) std::reverse(blocks.begin(), blocks.end());
            if (order == 2) std::shuffle(blocks.begin(), blocks.end(), random);
            for (auto [at, bytes] : blocks) pool.deallocate(at, bytes, 16);
        }
    }
    std::puts(counting::held == 0 ? "ok" : "memory was kept");
    return counting::held != 0;
}
