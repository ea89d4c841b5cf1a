// SPDX-License-Identifier: BSL-1.0
// registered_table: the block_table of one checked allocator, with its lock, in a list of all such tables. So a block
// given back to the wrong allocator is told from an unknown one.
//
//   all tables ─▶ table of pool a ⇄ table of pool b ⇄ table of pool c
//
// Part of block_ledger. Construction, destruction: O(1), a short lock. owner_elsewhere: O(tables). Thread-safe.
#pragma once

#include <mutex>

#include "../../core/abi.hpp"
#include "../../core/detail/brief_lock.hpp"
#include "block_record.hpp"
#include "block_table.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class registered_table {
  public:
    // `owner`: the allocator, whose address names it in reports.
    explicit registered_table(const void* owner) noexcept : owner_(owner) {
        lock_registry();
        next_ = first_;
        if (first_ != nullptr) first_->previous_ = this;
        first_ = this;
        registry_lock_.unlock();
    }
    registered_table(const registered_table&) = delete;
    registered_table& operator=(const registered_table&) = delete;
    ~registered_table() {
        lock_registry();
        (previous_ != nullptr ? previous_->next_ : first_) = next_;
        if (next_ != nullptr) next_->previous_ = previous_;
        registry_lock_.unlock();
    }

    [[nodiscard]] const void* owner() const noexcept { return owner_; }
    // The owner holds it around every use of the table.
    [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }
    [[nodiscard]] block_table& blocks() noexcept { return blocks_; }

    // Returns: the other allocator that has this live block, whose record is copied to `found`; or null. A table that
    // is locked is skipped, because its thread may be waiting for us.
    [[nodiscard]] const void* owner_elsewhere(const void* start, block_record& found) const noexcept {
        return owner_but(this, start, found);
    }

    // Returns: the allocator that has this live block, as owner_elsewhere, for a caller without a table of its own.
    [[nodiscard]] static const void* owner_of(const void* start, block_record& found) noexcept {
        if (first_ == nullptr) return nullptr;
        return owner_but(nullptr, start, found);
    }

  private:
    [[nodiscard]] static const void* owner_but(const registered_table* own, const void* start,
                                               block_record& found) noexcept {
        if (!registry_lock_.try_lock()) return nullptr;
        const void* owner = nullptr;
        for (registered_table* other = first_; other != nullptr && owner == nullptr; other = other->next_) {
            if (other == own || !other->mutex_.try_lock()) continue;
            const block_record* const record = other->blocks_.find(start);
            if (record != nullptr && record->ending == block_ending::none) {
                owner = other->owner_;
                found = *record;
            }
            other->mutex_.unlock();
        }
        registry_lock_.unlock();
        return owner;
    }

    static void lock_registry() noexcept {
        while (!registry_lock_.try_lock()) {
        }
    }

    // Constant-initialised and trivially destroyed: static allocators may be made and destroyed at any time.
    static inline constinit brief_lock registry_lock_;
    static inline constinit registered_table* first_ = nullptr;

    const void* owner_;
    registered_table* previous_ = nullptr;
    registered_table* next_ = nullptr;
    std::mutex mutex_;
    block_table blocks_;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
