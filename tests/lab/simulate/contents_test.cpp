// SPDX-License-Identifier: BSL-1.0
// The bytes of cached lines by the code that accessed them last, against a map from bytes to origins.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "counted.hpp"
#include "lab/simulate/cache_contents.hpp"
#include "lab/simulate/process_system.hpp"
#include "models.hpp"
#include "tests/lab/trace/seed.hpp"

namespace millpond::test {
namespace {

using simulate::cache_contents;
using simulate::line_walk;
using simulate::process_system;

// A model with a map from bytes to origins, and the searched lists of the cache.
class model_contents {
  public:
    model_contents(std::uint64_t line_bytes, std::uint64_t sets, unsigned ways)
        : line_bytes_(line_bytes), cache_(sets, ways) {}

    cache_contents::counts sum{};  // of the lines that have left the cache

    void take(const millpond_reference& r) {
        for (const std::uint64_t line : lines_of(r, line_bytes_)) {
            if (cache_.has(line)) {
                cache_.use(line);
            } else {
                if (const auto evicted = cache_.insert(line)) leave(*evicted);
                inside_.insert(line);
            }
            for (std::uint64_t byte = std::max(r.address, line * line_bytes_);
                 byte < std::min(r.address + r.bytes, (line + 1) * line_bytes_); ++byte)
                last_[byte] = cache_contents::owner_of(r);
        }
    }

    void flush() {
        while (!inside_.empty()) leave(*inside_.begin());
        cache_.flush();
    }

  private:
    void leave(std::uint64_t line) {
        inside_.erase(line);
        sum.fetched += line_bytes_;
        for (auto byte = last_.lower_bound(line * line_bytes_);
             byte != last_.end() && byte->first < (line + 1) * line_bytes_; ++byte)
            ++sum.held[byte->second];
    }

    std::uint64_t line_bytes_;
    model_cache cache_;
    std::set<std::uint64_t> inside_;
    std::map<std::uint64_t, unsigned> last_;  // by address
};

TEST(cache_contents, bytes_are_those_of_a_map) {
    std::mt19937_64 random(seed());
    stream all = random_stream(random, 4000, 400, 40);
    for (millpond_reference& r : all) {
        r.origin = static_cast<std::uint8_t>(random() % 3);
        r.bytes = static_cast<std::uint16_t>(r.bytes + 1);
        r.address &= 0xffff;
    }
    for (const auto& [sets, ways] : {std::pair(16, 1u), {8, 2u}, {1, 16u}, {12, 1u}, {12, 3u}}) {
        for (const std::uint32_t line_bytes : {4u, 32u, 64u}) {
            for (const std::size_t flush_every : {std::size_t{0}, std::size_t{700}}) {
                const auto of_sets = static_cast<std::uint64_t>(sets);
                cache_contents found(process_system, line_walk(line_bytes), of_sets, ways, simulate::replacement::lru,
                                     1);
                model_contents model(line_bytes, of_sets, ways);
                for (const auto& batch : random_batches(random, all, flush_every)) {
                    for (const millpond_reference& r : batch.references) model.take(r);
                    found.take(batch.references.data(), batch.references.size());
                    if (!batch.is_flushed) continue;
                    model.flush();
                    found.flush();
                }
                model.flush();
                const cache_contents::counts is = found.total();
                EXPECT_EQ(is.fetched, model.sum.fetched) << sets << " sets, lines of " << line_bytes;
                for (unsigned origin = 0; origin < cache_contents::origins; ++origin)
                    EXPECT_EQ(is.held[origin], model.sum.held[origin]) << "origin " << origin;
            }
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
