// SPDX-License-Identifier: BSL-1.0
// The bytes of cached lines by the code that accessed them last, against a map from bytes to origins.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "counted.hpp"
#include "lab/simulate/cache_contents.hpp"
#include "lab/simulate/process_system.hpp"
#include "tests/lab/trace/seed.hpp"

namespace millpond::test {
namespace {

using simulate::cache_contents;
using simulate::line_walk;
using simulate::process_system;

// A model with a map from bytes to origins, and a cache with one line a set.
cache_contents::counts contents_of_model(const stream& all, std::uint64_t line_bytes, std::uint64_t sets,
                                         std::uint64_t flush_every) {
    std::map<std::uint64_t, unsigned> last;         // by address
    std::map<std::uint64_t, std::uint64_t> inside;  // the line of a set
    cache_contents::counts sum{};
    const auto leave = [&](std::uint64_t line) {
        sum.fetched += line_bytes;
        for (auto byte = last.lower_bound(line * line_bytes);
             byte != last.end() && byte->first < (line + 1) * line_bytes; ++byte)
            ++sum.held[byte->second];
    };
    const auto empty = [&] {
        for (const auto& [set, line] : inside) leave(line);
        inside.clear();
    };
    std::uint64_t taken = 0;
    for (const millpond_reference& r : all) {
        for (std::uint64_t line = r.address / line_bytes; line <= (r.address + r.bytes - 1) / line_bytes; ++line) {
            const auto [place, is_new] = inside.try_emplace(line % sets, line);
            if (!is_new && place->second != line) {
                leave(place->second);
                place->second = line;
            }
            for (std::uint64_t byte = std::max(r.address, line * line_bytes);
                 byte < std::min(r.address + r.bytes, (line + 1) * line_bytes); ++byte)
                last[byte] = cache_contents::owner_of(r);
        }
        if (flush_every != 0 && ++taken % flush_every == 0) empty();
    }
    empty();
    return sum;
}

TEST(cache_contents, bytes_are_those_of_a_map) {
    std::mt19937_64 random(seed());
    stream all = random_stream(random, 4000, 400, 40);
    for (millpond_reference& r : all) {
        r.origin = static_cast<std::uint8_t>(random() % 3);
        r.bytes = static_cast<std::uint16_t>(r.bytes + 1);
        r.address &= 0xffff;
    }
    for (const std::uint32_t line_bytes : {4u, 32u, 64u}) {
        for (const std::uint64_t flush_every : {0, 700}) {
            cache_contents found(process_system, line_walk(line_bytes), 16, 1, simulate::replacement::lru, 1);
            for (std::size_t i = 0; i < all.size(); ++i) {
                found.take(&all[i], 1);
                if (flush_every != 0 && (i + 1) % flush_every == 0) found.flush();
            }
            const cache_contents::counts is = found.total();
            const cache_contents::counts expected = contents_of_model(all, line_bytes, 16, flush_every);
            EXPECT_EQ(is.fetched, expected.fetched);
            for (unsigned origin = 0; origin < cache_contents::origins; ++origin)
                EXPECT_EQ(is.held[origin], expected.held[origin]) << "origin " << origin;
        }
    }
}

// A line of four words: two of an object, a tag, and one that is never accessed. It is fetched twice.
TEST(cache_contents, cleared_and_copied_blocks_are_the_programs) {
    const auto by_allocator = [](std::uint64_t address, std::uint16_t bytes) {
        return at(address, bytes, millpond_store, millpond_of_allocator);
    };
    const stream all = {by_allocator(0, 4), by_allocator(8, 16), by_allocator(32, 1), by_allocator(64, 32)};
    const counted found(all, "contents:line=32,size=1K,ways=1");
    const auto of = [&](std::uint32_t origin) {
        return found.sum("held", [origin](const auto& row) { return row.origin == origin; });
    };
    EXPECT_EQ(of(millpond_of_allocator), 20u);
    EXPECT_EQ(of(millpond_of_program), 33u);
}

TEST(cache_contents, tags_count_as_often_as_their_line_is_fetched) {
    const auto tag = [] { return at(16, 8, millpond_store, millpond_of_allocator); };
    const stream all = {tag(), at(0, 16), at(64, 8), at(0, 8)};
    const counted found(all, "contents:line=32,size=32,ways=1");
    const auto of = [&](std::uint32_t origin) {
        return found.sum("held", [origin](const auto& row) { return row.origin == origin; });
    };
    EXPECT_EQ(found.sum("fetched"), 96u);
    EXPECT_EQ(of(millpond_of_allocator), 16u);
    EXPECT_EQ(of(millpond_of_program), 40u);
}

}  // namespace
}  // namespace millpond::test
