// SPDX-License-Identifier: BSL-1.0
// layout_program [containers|threads] [ROUNDS]: calls its allocator in every way, and does the same in every run.
//
//   containers   standard ones: maps of strings, lists of aligned objects, vectors; built, changed, traversed
//   threads      three threads, one after the other, each with containers and with malloc's whole family
//
// Without arguments it runs both, briefly, so that a process in which its calls are played can have the same stack.
#include <stdio.h>
#include <stdlib.h>

#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

struct alignas(64) line {
    std::uint64_t words[8];
};

std::uint64_t next(std::uint64_t& state) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

std::uint64_t containers(std::uint64_t seed, int rounds) {
    std::uint64_t sum = 0;
    std::map<std::uint64_t, std::string> names;
    std::list<std::unique_ptr<line>> lines;
    for (int i = 0; i < rounds; ++i) {
        const std::uint64_t key = next(seed) % 700;
        names[key] += std::string(next(seed) % 90, 'a');
        if (next(seed) % 3 == 0) names.erase(next(seed) % 700);
        lines.push_back(std::make_unique<line>());
        lines.back()->words[next(seed) % 8] = key;
        if (lines.size() > 300) lines.pop_front();
    }
    for (const auto& [key, name] : names) sum += key * name.size();
    for (const auto& each : lines)
        for (const std::uint64_t word : each->words) sum += word;
    return sum;
}

std::uint64_t family(std::uint64_t seed, int rounds) {
    std::vector<char*> blocks(200);
    std::uint64_t sum = 0;
    for (int i = 0; i < rounds; ++i) {
        char*& block = blocks[next(seed) % blocks.size()];
        const std::size_t bytes = 1 + next(seed) % 3000;
        void* aligned = nullptr;
        switch (next(seed) % 6) {
            case 0: {
                auto* const resized = static_cast<char*>(realloc(block, bytes));
                if (resized == nullptr) abort();
                block = resized;
                break;
            }
            case 1:
                free(block);
                block = static_cast<char*>(calloc(bytes, 1));
                break;
            case 2:
                free(block);
                if (posix_memalign(&aligned, 256, bytes) != 0) abort();
                block = static_cast<char*>(aligned);
                break;
            case 3:
                free(block);
                block = static_cast<char*>(aligned_alloc(64, (bytes + 63) / 64 * 64));
                break;
            case 4:
                free(block);
                block = nullptr;
                continue;
            default:
                free(block);
                block = static_cast<char*>(malloc(bytes));
                break;
        }
        std::memset(block, i, bytes);
        sum += static_cast<unsigned char>(block[bytes / 2]);
    }
    for (char* block : blocks) free(block);
    return sum;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    const int rounds = argc > 2 ? atoi(argv[2]) : 3000;
    if ((argc > 1 && what != "containers" && what != "threads") || rounds < 1) {
        fprintf(stderr, "usage: %s [containers|threads] [ROUNDS]\n", argv[0]);
        return 2;
    }
    std::uint64_t sum = 1;
    if (what != "threads") sum += containers(1, rounds) + family(2, what.empty() ? rounds : 1);
    for (std::uint64_t i = 0; i < 3 && what != "containers"; ++i) {
        std::thread other([&] { sum += containers(i, rounds / 2) + family(i, rounds / 2); });
        other.join();
    }
    return sum == 0 ? 1 : 0;
}
