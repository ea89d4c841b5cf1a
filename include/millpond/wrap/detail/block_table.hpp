// SPDX-License-Identifier: BSL-1.0
// block_table: records of blocks, found by the address at which a block starts, and kept apart from the blocks.
//
//   address ──hash──▶ │ bucket │─▶ record ─▶ record       records and buckets come from malloc: a block that is
//                     │ bucket │─▶ record                  overrun does not take them along
//
// Part of checked. Each record is also in one of the lists of its ledger, linked through itself.
//
// find, insert, remove: O(1) expected. Not thread-safe. If malloc has no memory, insert fails or chains grow longer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "../../core/abi.hpp"
#include "block_record.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class block_table {
  public:
    block_table() = default;
    block_table(const block_table&) = delete;
    block_table& operator=(const block_table&) = delete;
    ~block_table() {
        for (std::size_t i = 0; i < buckets_count(); ++i) {
            while (block_record* const record = buckets_[i]) {
                buckets_[i] = record->next_in_bucket;
                free_record(record);
            }
        }
        std::free(buckets_);
    }

    // Returns: an empty record, or null. It belongs to the caller until it is inserted or freed.
    [[nodiscard]] static block_record* new_record() noexcept {
        void* const memory = std::malloc(sizeof(block_record));
        return memory == nullptr ? nullptr : ::new (memory) block_record{};
    }

    static void free_record(block_record* record) noexcept { std::free(record); }

    // Effects: makes room for one more if it can. Returns: false if there are no buckets at all; then insert must not
    // be called.
    [[nodiscard]] bool reserve() noexcept {
        if (size_ < buckets_count()) return true;
        const unsigned bits = buckets_ == nullptr ? first_bits : bits_ + 1;
        auto* const more = static_cast<block_record**>(std::calloc(std::size_t{1} << bits, sizeof(block_record*)));
        if (more == nullptr) return buckets_ != nullptr;
        block_record** const old = buckets_;
        const std::size_t old_count = buckets_count();
        buckets_ = more;
        bits_ = bits;
        for (std::size_t i = 0; i < old_count; ++i) {
            while (block_record* const record = old[i]) {
                old[i] = record->next_in_bucket;
                link(record);
            }
        }
        std::free(old);
        return true;
    }

    // Precondition: reserve() has returned true, and no record has this start.
    void insert(block_record* record) noexcept {
        link(record);
        ++size_;
    }

    void remove(const block_record* record) noexcept {
        block_record** place = &bucket_of(record->start);
        while (*place != record) place = &(*place)->next_in_bucket;
        *place = record->next_in_bucket;
        --size_;
    }

    [[nodiscard]] block_record* find(const void* start) const noexcept {
        if (buckets_ == nullptr) return nullptr;
        block_record* record = bucket_of(start);
        while (record != nullptr && record->start != start) record = record->next_in_bucket;
        return record;
    }

    void swap(block_table& other) noexcept {
        std::swap(buckets_, other.buckets_);
        std::swap(bits_, other.bits_);
        std::swap(size_, other.size_);
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }

  private:
    static constexpr unsigned first_bits = 4;

    [[nodiscard]] std::size_t buckets_count() const noexcept {
        return buckets_ == nullptr ? 0 : std::size_t{1} << bits_;
    }

    [[nodiscard]] block_record*& bucket_of(const void* start) const noexcept {
        const auto mixed = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(start)) * 0x9E3779B97F4A7C15u;
        return buckets_[mixed >> (64 - bits_)];
    }

    void link(block_record* record) noexcept {
        block_record*& bucket = bucket_of(record->start);
        record->next_in_bucket = bucket;
        bucket = record;
    }

    block_record** buckets_ = nullptr;
    unsigned bits_ = 0;
    std::size_t size_ = 0;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
