// SPDX-License-Identifier: BSL-1.0
// streams: references of invented programs: random ones, and patterns that are known to be bad for caches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "lab/references/reference.h"

namespace millpond::test {

using stream = std::vector<millpond_reference>;

inline millpond_reference at(std::uint64_t address, std::uint16_t bytes = 1, std::uint8_t kind = millpond_load,
                             std::uint8_t origin = millpond_of_program, std::uint32_t subject = 0) {
    return {address, subject, bytes, kind, origin};
}

// Returns random references: some places are visited again soon, some late; a few accesses are long, have no bytes, or
// lie at the ends of memory.
inline stream random_stream(std::mt19937_64& random, std::size_t count, std::uint64_t places, unsigned spread_bytes) {
    constexpr std::uint64_t bases[] = {0, 0x555555554000, 0x7fffffffe000, ~std::uint64_t{0} - 8000};
    stream made;
    std::uint64_t near = 0;
    while (made.size() < count) {
        if (random() % 8 == 0) near = random() % places;
        const std::uint64_t place = random() % 4 == 0 ? random() % places : (near + random() % 6) % places;
        const std::uint64_t base = random() % 16 == 0 ? bases[random() % 4] : bases[1];
        const auto bytes = static_cast<std::uint16_t>(random() % 50 == 0 ? random() % 600 : 1 + random() % 8);
        made.push_back(at(base + place * spread_bytes + random() % 8, bytes, static_cast<std::uint8_t>(random() % 3),
                          static_cast<std::uint8_t>(random() % 8 == 0 ? random() % 3 : 0),
                          static_cast<std::uint32_t>(random() % 5)));
    }
    return made;
}

// References that are taken at once. `is_flushed`: the caches are emptied after them.
struct batch_of_stream {
    stream references;
    bool is_flushed;
};

// Returns the stream in batches of random sizes, many of them of one reference; none crosses a multiple of
// `flush_every` references, if it is not zero.
inline std::vector<batch_of_stream> random_batches(std::mt19937_64& random, const stream& all,
                                                   std::size_t flush_every) {
    std::vector<batch_of_stream> made;
    for (std::size_t begin = 0; begin < all.size();) {
        const std::size_t next_flush = flush_every == 0 ? all.size() : (begin / flush_every + 1) * flush_every;
        const std::size_t size = random() % 2 == 0 ? 1 : 1 + random() % 200;
        const std::size_t end = std::min({begin + size, next_flush, all.size()});
        made.push_back(
            {stream(all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end)),
             end == next_flush && flush_every != 0});
        begin = end;
    }
    return made;
}

// Returns known bad patterns: a loop over a little more than fits, which an LRU cache never hits; two lines that
// collide in every direct-mapped cache; calls down a stack and up again.
inline stream hand_made_stream() {
    stream made;
    for (int round = 0; round < 6; ++round) {
        for (std::uint64_t line = 0; line < 70; ++line) made.push_back(at(0x10000 + 32 * line, 4));
    }
    for (int i = 0; i < 40; ++i) made.push_back(at(0x100000 + static_cast<std::uint64_t>(i % 2) * 0x100000, 8));
    for (std::uint64_t depth = 0; depth < 200; ++depth) made.push_back(at(0x7fff0000 - 24 * depth, 24, millpond_store));
    for (std::uint64_t depth = 200; depth-- > 0;) made.push_back(at(0x7fff0000 - 24 * depth, 24));
    return made;
}

}  // namespace millpond::test
