// SPDX-License-Identifier: BSL-1.0
// block_record: the description of one block for checked, and lists of such records in their order of arrival.
//
//   oldest ─▶ record ⇄ record ⇄ record ◀─ newest        linked through themselves: a list needs no memory
//
// push, remove: O(1). Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../core/abi.hpp"
#include "../call_site.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class lone_block;

// The way in which a block came to its end; `none` while it is live.
enum class block_ending : unsigned char { none, freed, reset, released, rewound };

struct block_record {
    char* start = nullptr;
    std::size_t bytes = 0;
    std::size_t alignment = 0;
    std::size_t front_bytes = 0;  // guard before the start …
    std::size_t back_bytes = 0;   // … and behind the bytes
    void* beneath = nullptr;      // the memory that the allocator beneath gave for it …
    std::size_t beneath_bytes = 0;
    lone_block* lone = nullptr;  // … while the block itself has pages of its own, if it has
    std::uint64_t serial = 0;    // its number among the blocks of its allocator
    call_site allocated_at{};
    call_site ended_at{};
    std::uint64_t fingerprint = 0;  // of a block ended by reset, release or rewind
    block_ending ending = block_ending::none;
    bool is_held = false;  // its memory still belongs to its owner or to the ledger
    block_record* next_in_bucket = nullptr;
    block_record* older = nullptr;
    block_record* newer = nullptr;
};

// Records in the order of insertion. Each is in one list at a time.
class record_list {
  public:
    [[nodiscard]] block_record* oldest() const noexcept { return oldest_; }
    [[nodiscard]] block_record* newest() const noexcept { return newest_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    void push(block_record* record) noexcept {
        record->older = newest_;
        record->newer = nullptr;
        (newest_ != nullptr ? newest_->newer : oldest_) = record;
        newest_ = record;
        ++size_;
    }

    void push_oldest(block_record* record) noexcept {
        record->newer = oldest_;
        record->older = nullptr;
        (oldest_ != nullptr ? oldest_->older : newest_) = record;
        oldest_ = record;
        ++size_;
    }

    void remove(block_record* record) noexcept {
        (record->older != nullptr ? record->older->newer : oldest_) = record->newer;
        (record->newer != nullptr ? record->newer->older : newest_) = record->older;
        --size_;
    }

  private:
    block_record* oldest_ = nullptr;
    block_record* newest_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
