// SPDX-License-Identifier: BSL-1.0
// heap_churn: keeps many objects live; each step frees a random one and allocates another, below varied deep call
// stacks.
//
//   main ─ thread ─┬ step ─ first/second/third/fourth ─ … 20 to 27 calls, which ones is drawn ─ … ─ allocate
//                  └ the freed object is read, the new one is written, as a program would
//
// Use it to measure the cost of recording or interposing: a large heap (larger than a second-level cache), 16-143 bytes
// an object, `--paths` different call stacks of different depths and frame sizes in turns. It does little else, so a
// real program suffers less; hot_loop is even harder.
// Options: --threads T (each with its own `--live` objects), --events N (in all threads, filling and emptying
// included), --live N, --paths N, --seed S. Prints events, CPU seconds and ns an event.
// Time O(events), memory O(threads × live). Each thread works on its own heap; nothing is shared but malloc.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "command_line.hpp"

namespace {

using std::uint32_t;
using std::uint64_t;

constexpr uint32_t least_depth = 20;
constexpr uint32_t depth_variation = 8;
constexpr uint32_t least_bytes = 16;
constexpr uint32_t size_variation = 128;

// xorshift64*, a generator with a state of one word.
struct random_numbers {
    uint64_t state;

    uint32_t next() {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return static_cast<uint32_t>((state * 2685821657736338717u) >> 32);
    }
    uint32_t below(uint32_t limit) { return static_cast<uint32_t>((uint64_t{next()} * limit) >> 32); }
};

// The shape of one call stack: its depth, and two bits for every level that choose the function there.
struct path {
    uint64_t turns;
    uint32_t depth;
};

struct object {
    unsigned char* memory = nullptr;
    uint32_t bytes = 0;
};

struct request {
    path way;
    uint32_t bytes;
    uint64_t calls = 0;  // counted on the way up, so that no call is a tail call
};

unsigned char* descend(request& wanted, uint32_t level);

[[gnu::noinline]] unsigned char* allocate(request& wanted) {
    auto* const memory = static_cast<unsigned char*>(std::malloc(wanted.bytes));
    if (memory == nullptr) std::abort();
    std::memset(memory, static_cast<int>(wanted.bytes), wanted.bytes);
    return memory;
}

// Four functions with different frames, as in a program.
template <int Scratch>
[[gnu::noinline]] unsigned char* turn(request& wanted, uint32_t level) {
    volatile unsigned char scratch[Scratch];
    scratch[0] = static_cast<unsigned char>(level);
    unsigned char* const memory = descend(wanted, level + 1);
    wanted.calls += scratch[0] == static_cast<unsigned char>(level);
    return memory;
}

// Inlined into every turn: one level costs one call.
[[gnu::always_inline]] inline unsigned char* descend(request& wanted, uint32_t level) {
    if (level == wanted.way.depth) return allocate(wanted);
    switch ((wanted.way.turns >> (2 * level)) & 3) {
        case 0:
            return turn<8>(wanted, level);
        case 1:
            return turn<24>(wanted, level);
        case 2:
            return turn<56>(wanted, level);
        default:
            return turn<120>(wanted, level);
    }
}

struct tally {
    uint64_t events = 0;
    uint64_t checksum = 0;
};

class churn {
  public:
    churn(uint64_t seed, uint64_t live, uint64_t paths) : random_{seed * 0x9E3779B97F4A7C15u | 1}, objects_(live) {
        for (uint64_t i = 0; i < paths; ++i) ways_.push_back(draw_path());
    }

    tally run(uint64_t events) {
        for (object& each : objects_) fill(each);
        while (counted_.events + objects_.size() + 2 <= events) {
            object& chosen = objects_[random_.below(static_cast<uint32_t>(objects_.size()))];
            empty(chosen);
            fill(chosen);
        }
        for (object& each : objects_) empty(each);
        return counted_;
    }

  private:
    // Paths branch at only a few levels, as in a program. If every level were random, the time would go to branch
    // mispredictions, and recording would look cheap in comparison.
    path draw_path() {
        constexpr uint64_t trunk =
            0b11'01'10'00'01'11'00'10'01'00'11'10'01'11'10'00'10'01'00'11'01'10'00'11'01'10'01'00u;
        path drawn{trunk, least_depth + random_.below(depth_variation)};
        for (const uint32_t level : {4u, 11u, 17u}) drawn.turns ^= uint64_t{random_.below(4)} << (2 * level);
        return drawn;
    }

    void fill(object& place) {
        request wanted{ways_[random_.below(static_cast<uint32_t>(ways_.size()))],
                       least_bytes + random_.below(size_variation)};
        place = {descend(wanted, 0), wanted.bytes};
        counted_.checksum += wanted.calls;
        ++counted_.events;
    }

    void empty(object& place) {
        for (uint32_t i = 0; i + 8 <= place.bytes; i += 8) {
            uint64_t word;
            std::memcpy(&word, place.memory + i, sizeof word);
            counted_.checksum += word;
        }
        std::free(place.memory);
        ++counted_.events;
    }

    random_numbers random_;
    std::vector<path> ways_;
    std::vector<object> objects_;
    tally counted_;
};

}  // namespace

int main(int argc, char** argv) {
    uint64_t threads = 1;
    uint64_t events = 10'000'000;
    uint64_t live = 200'000;
    uint64_t paths = 256;
    uint64_t seed = 1;
    millpond::suites::read_options(argc, argv, "heap_churn",
                                   {{"--threads", threads, 1},
                                    {"--events", events},
                                    {"--live", live, 1},
                                    {"--paths", paths, 1},
                                    {"--seed", seed}});

    std::vector<tally> tallies(threads);
    const auto work = [&](uint64_t thread) {
        tallies[thread] = churn(seed + thread, live, paths).run(events / threads);
    };
    if (threads == 1) {
        work(0);
    } else {
        std::vector<std::thread> team;
        team.reserve(threads);
        for (uint64_t thread = 0; thread < threads; ++thread) team.emplace_back(work, thread);
        for (std::thread& each : team) each.join();
    }

    tally all;
    for (const tally& each : tallies) {
        all.events += each.events;
        all.checksum += each.checksum;
    }
    std::printf("events %llu, checksum %016llx\n", static_cast<unsigned long long>(all.events),
                static_cast<unsigned long long>(all.checksum));
    millpond::suites::print_cost(all.events);
    return 0;
}
