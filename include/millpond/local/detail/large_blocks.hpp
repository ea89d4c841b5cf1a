// SPDX-License-Identifier: BSL-1.0
// large_blocks: blocks that come from a block source one by one, recorded so that all can be returned at once.
//
//   │block……………………………│redzone│ previous, next, bytes, alignment │       the record lies behind the block:
//                             ▲  found from the block's size          no header, any alignment, O(1) to unlink
//
// multipool uses it for requests above its classes. The redzone exists only under an address sanitizer. With
// MILLPOND_HARDENED a free checks the record first. try_allocate, deallocate: O(1) and one call of the source. absorb:
// O(1). release: O(blocks). Not thread-safe.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include "../../core/abi.hpp"
#include "../../core/concepts.hpp"
#include "../../core/detail/alignment.hpp"
#include "../../core/detail/hardening.hpp"
#include "../../core/detail/sanitizer.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class large_blocks {
  public:
    constexpr large_blocks() noexcept {
        if (std::is_constant_evaluated()) oldest_ = nullptr;  // a pool that the compiler makes leaves nothing open
    }
    large_blocks(const large_blocks&) = delete;
    large_blocks& operator=(const large_blocks&) = delete;

    // Returns: a block of `bytes` aligned to `alignment`; or null, and nothing has changed.
    template <block_source Source>
    [[nodiscard]] void* try_allocate(Source& source, std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes > max_bytes - record_offset(0) - 2 * sizeof(record)) return nullptr;
        bytes += bytes == 0;
        void* const block = source.try_allocate(record_offset(bytes) + sizeof(record), source_alignment(alignment));
        if (block == nullptr) return nullptr;
        newest_ = ::new (static_cast<char*>(block) + record_offset(bytes)) record{nullptr, newest_, bytes, alignment};
        (newest_->next != nullptr ? newest_->next->previous : oldest_) = newest_;
        poison(static_cast<char*>(block) + bytes, record_offset(bytes) - bytes);
        return block;
    }

    // Effects: gives the block back to the source it came from.
    template <block_source Source>
    void deallocate(Source& source, void* block, std::size_t bytes) noexcept {
        record* const gone = record_of(block, bytes + (bytes == 0));
        if (is_hardened) expect_live(block, bytes + (bytes == 0), gone);
        (gone->previous != nullptr ? gone->previous->next : newest_) = gone->next;
        (gone->next != nullptr ? gone->next->previous : oldest_) = gone->previous;
        give_back(source, gone);
    }

    // Effects: gives every block back to the source.
    template <block_source Source>
    void release(Source& source) noexcept {
        while (newest_ != nullptr) {
            record* const gone = newest_;
            newest_ = gone->next;
            give_back(source, gone);
        }
    }

    // Effects: takes over all blocks of `other`, which came from the same source.
    void absorb(large_blocks& other) noexcept {
        if (other.newest_ == nullptr) return;
        (newest_ != nullptr ? oldest_->next : newest_) = other.newest_;
        other.newest_->previous = newest_ == other.newest_ ? nullptr : oldest_;
        oldest_ = other.oldest_;
        other.newest_ = nullptr;
    }

    // Effects: forgets all blocks, because the source itself has been released.
    void forget() noexcept { newest_ = nullptr; }

    [[nodiscard]] bool any() const noexcept { return newest_ != nullptr; }

    // Returns: the bytes obtained from the source and not returned. Complexity: O(blocks).
    [[nodiscard]] std::size_t held_bytes() const noexcept {
        std::size_t sum = 0;
        for (const record* r = newest_; r != nullptr; r = r->next) sum += record_offset(r->bytes) + sizeof(record);
        return sum;
    }

  private:
    struct record {
        record* previous;
        record* next;
        std::size_t bytes;
        std::size_t alignment;
    };

    [[nodiscard]] static constexpr std::size_t record_offset(std::size_t bytes) noexcept {
        return align_up(bytes, alignof(record)) + redzone_bytes;
    }

    [[nodiscard]] static constexpr std::size_t source_alignment(std::size_t alignment) noexcept {
        return alignment < alignof(record) ? alignof(record) : alignment;
    }

    [[nodiscard]] static record* record_of(void* block, std::size_t bytes) noexcept {
        return std::launder(reinterpret_cast<record*>(static_cast<char*>(block) + record_offset(bytes)));
    }

    // Effects: ends the program unless the record is that of a live block. A double free finds the record unlinked, as
    // long as the memory still exists.
    void expect_live(const void* block, std::size_t bytes, const record* found) const noexcept {
        if ((found->previous != nullptr ? found->previous->next : newest_) != found)
            misuse_found("a block was freed twice", block);
        if (found->bytes != bytes) misuse_found("a block was written to beyond its end", block);
    }

    template <block_source Source>
    static void give_back(Source& source, record* gone) noexcept {
        const std::size_t offset = record_offset(gone->bytes);
        const std::size_t alignment = source_alignment(gone->alignment);
        void* const block = reinterpret_cast<char*>(gone) - offset;
        unpoison(block, offset);
        source.deallocate(block, offset + sizeof(record), alignment);
    }

    record* newest_ = nullptr;
    record* oldest_;  // if there is one
};

}  // namespace millpond::inline MILLPOND_ABI::detail
