// SPDX-License-Identifier: BSL-1.0
// block_model: what an allocator has promised: live blocks that are aligned, never overlap, and keep their contents.
//
//   add ──▶ checks alignment and neighbours, writes a pattern      remove ──▶ checks the pattern
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <map>
#include <millpond/core/detail/alignment.hpp>
#include <random>

#include "seed.hpp"

namespace millpond::test {

class block_model {
  public:
    struct promise {
        std::size_t bytes;
        std::size_t alignment;
        unsigned char pattern;
    };

    // A live block, as deallocate needs it.
    struct block {
        void* start;
        std::size_t bytes;
        std::size_t alignment;
    };

    void add(void* start, std::size_t bytes, std::size_t alignment) {
        ASSERT_NE(start, nullptr);
        ASSERT_TRUE(detail::is_aligned(start, alignment))
            << bytes << " bytes aligned to " << alignment << " at " << start;
        auto* const first = static_cast<char*>(start);
        const auto after = live_.lower_bound(first);
        const std::size_t extent = bytes == 0 ? 1 : bytes;
        if (after != live_.end()) {
            ASSERT_LE(first + extent, after->first) << "overlaps the block behind it";
        }
        if (after != live_.begin()) {
            const auto& [before, promised] = *std::prev(after);
            ASSERT_LE(before + (promised.bytes == 0 ? 1 : promised.bytes), first) << "overlaps the block before it";
        }
        const auto pattern = static_cast<unsigned char>(++patterns_);
        std::memset(first, pattern, bytes);
        live_.emplace(first, promise{bytes, alignment, pattern});
    }

    // Checks the contents of a block and forgets the block.
    void remove(void* start) {
        const auto found = live_.find(static_cast<char*>(start));
        ASSERT_NE(found, live_.end());
        check(found->first, found->second);
        live_.erase(found);
    }

    void check_all() const {
        for (const auto& [start, promised] : live_) check(start, promised);
    }

    void clear() { live_.clear(); }
    [[nodiscard]] bool empty() const noexcept { return live_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return live_.size(); }

    [[nodiscard]] block any(std::mt19937_64& numbers) const {
        // Near a random address: cheap, and every block has its chance.
        auto found = live_.begin();
        const auto span = static_cast<std::size_t>(std::prev(live_.end())->first - live_.begin()->first);
        found = live_.lower_bound(live_.begin()->first + std::uniform_int_distribution<std::size_t>(0, span)(numbers));
        return {found->first, found->second.bytes, found->second.alignment};
    }

    [[nodiscard]] const std::map<char*, promise>& live() const noexcept { return live_; }

  private:
    static void check(const char* start, const promise& promised) {
        for (std::size_t i = 0; i < promised.bytes; ++i) {
            ASSERT_EQ(static_cast<unsigned char>(start[i]), promised.pattern)
                << "byte " << i << " of a block of " << promised.bytes << " bytes was overwritten";
        }
    }

    std::map<char*, promise> live_;
    unsigned patterns_ = 0;
};

// Adds a block two times out of three, otherwise removes one. Returns false if the pool refused.
template <class Pool>
bool live_a_step(Pool& pool, block_model& model, std::mt19937_64& numbers, std::size_t most_bytes, int most_shift) {
    if (model.empty() || uniform(numbers, 0, 2) != 0) {
        const auto bytes = uniform<std::size_t>(numbers, 0, most_bytes);
        const std::size_t alignment = std::size_t{1} << uniform(numbers, 0, most_shift);
        void* const block = pool.try_allocate(bytes, alignment);
        if (block == nullptr) return false;
        model.add(block, bytes, alignment);
    } else {
        const auto block = model.any(numbers);
        model.remove(block.start);
        pool.deallocate(block.start, block.bytes, block.alignment);
    }
    return true;
}

}  // namespace millpond::test
