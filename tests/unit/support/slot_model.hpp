// SPDX-License-Identifier: BSL-1.0
// slot_model: the slots of a compact_pool; checks that the pool gives out the lowest free one.
//
//   source ──rows──▶ free slots of each │ range ──▶ slots from its first address on, without end
//   allocate ──▶ must be the lowest of them, or the first slot of a row that is new
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <millpond/local/detail/slot_chunks.hpp>
#include <set>

#include "accounting_source.hpp"
#include "fake_pages.hpp"

namespace millpond::test {

// The memory of a process from a pool's point of view; its pages can fail and are counted.
class ranged_source : public accounting_source {
  public:
    using pages = fake_pages;
};

template <class Shape>
class slot_model {
    using chunks = detail::slot_chunks<Shape>;

  public:
    explicit slot_model(const accounting_source& source) : source_(source) {}

    // From now on slots of a range that begins here count as well.
    void has_range_from(char* first) { range_ = next_in_range_ = first; }

    // Checks an allocated slot and writes a pattern to it.
    void add(void* block) {
        ASSERT_NE(block, nullptr);
        auto* const slot = static_cast<char*>(block);
        const char* const lowest_before = free_.empty() ? nullptr : *free_.begin();
        see_rows();
        if (range_ != nullptr && slot == next_in_range_ && lowest_before == nullptr) {
            next_in_range_ += Shape::bytes;
        } else {
            ASSERT_TRUE(free_.count(slot)) << "no free slot";
            ASSERT_TRUE(lowest_before == nullptr || slot == lowest_before)
                << static_cast<void*>(slot) << " is not " << static_cast<const void*>(lowest_before);
            if (lowest_before == nullptr) {
                ASSERT_EQ(slot, *free_.begin()) << "the first of a new row";
            }
            free_.erase(slot);
        }
        ASSERT_TRUE(detail::is_aligned(slot, Shape::alignment));
        const auto pattern = static_cast<unsigned char>(++patterns_);
        std::memset(slot, pattern, Shape::bytes);
        live_.emplace(slot, pattern);
    }

    // Checks the contents of a slot that is about to be freed.
    void remove(char* slot) {
        const auto found = live_.find(slot);
        ASSERT_NE(found, live_.end());
        for (std::size_t i = 0; i < Shape::bytes; ++i)
            ASSERT_EQ(static_cast<unsigned char>(slot[i]), found->second) << "byte " << i;
        live_.erase(found);
        free_.insert(slot);
    }

    // Records the rows that the pool has obtained or returned.
    void see_rows() {
        std::map<char*, std::size_t> now;
        for (const auto& [block, gift] : source_.given()) {
            if (gift.bytes == chunks::chunk_bytes && gift.alignment == chunks::row_alignment)
                now.emplace(static_cast<char*>(block), chunks::chunk_slots);
            else if (gift.bytes == chunks::small_bytes && gift.alignment == chunks::row_alignment)
                now.emplace(static_cast<char*>(block), chunks::small_slots);
        }
        for (const auto& [start, slots] : rows_) {
            if (now.count(start)) continue;
            for (std::size_t n = 0; n < slots; ++n)
                ASSERT_EQ(free_.erase(slot_of(start, slots, n)), 1U) << "a row with a live slot was given back";
        }
        for (const auto& [start, slots] : now) {
            if (rows_.count(start)) continue;
            for (std::size_t n = 0; n < slots; ++n) free_.insert(slot_of(start, slots, n));
        }
        rows_ = std::move(now);
    }

    void clear() {
        for (const auto& [slot, pattern] : live_) free_.insert(slot);
        live_.clear();
    }
    void forget() {
        live_.clear();
        free_.clear();
        rows_.clear();
        range_ = next_in_range_ = nullptr;
    }

    [[nodiscard]] const std::map<char*, unsigned char>& live() const noexcept { return live_; }
    [[nodiscard]] std::size_t free_slots() const noexcept { return free_.size(); }
    [[nodiscard]] char* range() const noexcept { return range_; }

  private:
    [[nodiscard]] static char* slot_of(char* start, std::size_t slots, std::size_t n) noexcept {
        return start + chunks::header_for(slots) + n * Shape::bytes;
    }

    const accounting_source& source_;
    std::map<char*, std::size_t> rows_;
    std::set<char*> free_;
    std::map<char*, unsigned char> live_;
    char* range_ = nullptr;
    char* next_in_range_ = nullptr;
    unsigned patterns_ = 0;
};

}  // namespace millpond::test
