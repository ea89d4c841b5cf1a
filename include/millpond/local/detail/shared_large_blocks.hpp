// SPDX-License-Identifier: BSL-1.0
// shared_large_blocks: blocks that come from a block source one by one, for many threads, without a lock.
//
//   │block……………………………│redzone│ slots, index, bytes, alignment │     the record lies behind the block,
//                             ▲                                       as in large_blocks
//   slots │used 1101…│ ▲ │ ▲ │ – │ ▲ │ … ─▶ slots │used …│ … │      64 to a group; the first group is a member
//
// synchronized_multipool uses it for requests above its classes. A list would need a lock to take a block out of its
// middle; a slot is taken and left by one atomic operation. Groups are kept until release. try_allocate: one call of
// the source; O(1) if the slot left last is still free, else O(blocks / 64). deallocate: O(1) and one call of the
// source; with MILLPOND_HARDENED it first checks the record, in O(blocks / 64). release: O(blocks). As thread-safe as
// the source, except release and forget, during which no other thread may be here.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "../../core/abi.hpp"
#include "../../core/concepts.hpp"
#include "../../core/detail/alignment.hpp"
#include "../../core/detail/hardening.hpp"
#include "../../core/detail/sanitizer.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class shared_large_blocks {
  public:
    shared_large_blocks() noexcept {}
    shared_large_blocks(const shared_large_blocks&) = delete;
    shared_large_blocks& operator=(const shared_large_blocks&) = delete;

    // Returns: a block of `bytes` aligned to `alignment`; or null, and nothing has changed.
    template <block_source Source>
    [[nodiscard]] void* try_allocate(Source& source, std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes > max_bytes - record_offset(0) - 2 * sizeof(record)) return nullptr;
        bytes += bytes == 0;
        const slot taken = take_slot(source);
        if (taken.group == nullptr) return nullptr;
        void* const block = source.try_allocate(record_offset(bytes) + sizeof(record), source_alignment(alignment));
        if (block == nullptr) {
            leave(taken);
            return nullptr;
        }
        taken.group->records[taken.index] =
            ::new (static_cast<char*>(block) + record_offset(bytes)) record{taken, bytes, alignment};
        held_bytes_.fetch_add(record_offset(bytes) + sizeof(record), std::memory_order_relaxed);
        poison(static_cast<char*>(block) + bytes, record_offset(bytes) - bytes);
        return block;
    }

    // Effects: gives the block back to the source it came from.
    template <block_source Source>
    void deallocate(Source& source, void* block, std::size_t bytes) noexcept {
        record* const gone = record_of(block, bytes + (bytes == 0));
        if (is_hardened) expect_live(block, bytes + (bytes == 0), gone);
        const slot left = gone->place;
        left.group->records[left.index] = nullptr;
        give_back(source, gone);
        leave(left);
    }

    // Effects: gives everything back to the source.
    template <block_source Source>
    void release(Source& source) noexcept {
        slots* group = newest_.load(std::memory_order_acquire);
        while (group != nullptr) {
            for (record* const gone : group->records) {
                if (gone != nullptr) give_back(source, gone);
            }
            slots* const older = group->older;
            if (group != &first_) source.deallocate(group, sizeof(slots), alignof(slots));
            group = older;
        }
        forget();
    }

    // Effects: forgets all blocks, because the source itself has been released.
    void forget() noexcept {
        first_.used.store(0, std::memory_order_relaxed);
        for (record*& gone : first_.records) gone = nullptr;
        newest_.store(&first_, std::memory_order_relaxed);
        latest_left_.store(&first_, std::memory_order_relaxed);
        held_bytes_.store(0, std::memory_order_relaxed);
    }

    // Returns: the bytes obtained from the source and not returned.
    [[nodiscard]] std::size_t held_bytes() const noexcept { return held_bytes_.load(std::memory_order_relaxed); }

  private:
    struct slots;
    struct slot {
        slots* group;
        unsigned index;
    };
    struct record {
        slot place;
        std::size_t bytes;
        std::size_t alignment;
    };
    struct slots {
        slots* older = nullptr;
        std::atomic<std::uint64_t> used{0};
        // Each record belongs to the thread that has taken the slot. It is null if there is no block, and in a slot
        // that is taken but not filled yet, or no longer: a child of fork() may find it so, and release it.
        record* records[64] = {};
    };

    [[nodiscard]] static slot take_from(slots& group) noexcept {
        std::uint64_t used = group.used.load(std::memory_order_relaxed);
        while (~used != 0) {
            const auto index = static_cast<unsigned>(std::countr_one(used));
            if (group.used.compare_exchange_weak(used, used | std::uint64_t{1} << index, std::memory_order_acquire,
                                                 std::memory_order_relaxed))
                return {&group, index};
        }
        return {nullptr, 0};
    }

    template <block_source Source>
    [[nodiscard]] slot take_slot(Source& source) noexcept {
        if (const slot found = take_from(*latest_left_.load(std::memory_order_acquire)); found.group != nullptr)
            return found;
        for (slots* group = newest_.load(std::memory_order_acquire); group != nullptr; group = group->older) {
            if (const slot found = take_from(*group); found.group != nullptr) {
                latest_left_.store(group, std::memory_order_release);
                return found;
            }
        }
        void* const memory = source.try_allocate(sizeof(slots), alignof(slots));
        if (memory == nullptr) return {nullptr, 0};
        auto* const group = ::new (memory) slots;
        group->used.store(1, std::memory_order_relaxed);
        group->older = newest_.load(std::memory_order_relaxed);
        while (!newest_.compare_exchange_weak(group->older, group, std::memory_order_acq_rel)) {
        }
        latest_left_.store(group, std::memory_order_release);
        held_bytes_.fetch_add(sizeof(slots), std::memory_order_relaxed);
        return {group, 0};
    }

    void leave(const slot& left) noexcept {
        left.group->used.fetch_and(~(std::uint64_t{1} << left.index), std::memory_order_release);
        if (latest_left_.load(std::memory_order_relaxed) != left.group)
            latest_left_.store(left.group, std::memory_order_release);
    }

    [[nodiscard]] static constexpr std::size_t record_offset(std::size_t bytes) noexcept {
        return align_up(bytes, alignof(record)) + redzone_bytes;
    }

    [[nodiscard]] static constexpr std::size_t source_alignment(std::size_t alignment) noexcept {
        return alignment < alignof(record) ? alignof(record) : alignment;
    }

    [[nodiscard]] static record* record_of(void* block, std::size_t bytes) noexcept {
        return std::launder(reinterpret_cast<record*>(static_cast<char*>(block) + record_offset(bytes)));
    }

    // Effects: ends the program unless the record is that of a live block. A double free finds the record without its
    // slot, as long as the memory still exists. O(blocks / 64).
    void expect_live(const void* block, std::size_t bytes, const record* found) const noexcept {
        const slots* group = newest_.load(std::memory_order_acquire);
        while (group != nullptr && group != found->place.group) group = group->older;
        const bool has_slot = group != nullptr && found->place.index < 64;
        if (!has_slot || group->records[found->place.index] != found) misuse_found("a block was freed twice", block);
        if (found->bytes != bytes) misuse_found("a block was written to beyond its end", block);
    }

    template <block_source Source>
    void give_back(Source& source, record* gone) noexcept {
        const std::size_t offset = record_offset(gone->bytes);
        const std::size_t alignment = source_alignment(gone->alignment);
        void* const block = reinterpret_cast<char*>(gone) - offset;
        held_bytes_.fetch_sub(offset + sizeof(record), std::memory_order_relaxed);
        unpoison(block, offset);
        source.deallocate(block, offset + sizeof(record), alignment);
    }

    slots first_;
    std::atomic<slots*> newest_{&first_};
    std::atomic<slots*> latest_left_{&first_};
    std::atomic<std::size_t> held_bytes_{0};
};

}  // namespace millpond::inline MILLPOND_ABI::detail
