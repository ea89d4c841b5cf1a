// SPDX-License-Identifier: BSL-1.0
// batch_depot: the part of a synchronized_multipool that all threads share: batches of freed blocks, and fresh memory.
//
//   thread 1 ─give─▶  class 24:  batch ─▶ batch       ─take─▶ thread 2
//                     class 40:  –                    ─take─▶ a run of fresh blocks, cut from a chunk
//                     chunks (owned_chunks) ◀─ block source
//
// Part of synchronized_multipool; nothing else uses it. It has one patient_lock, held for a few instructions, or for
// one call of the source when a chunk is needed. In a child of fork(), if another thread of its parent held the lock, a
// thread-safe source supplies every run itself (strays, which stay until reset); any other source is out of reach.
// take, give: O(1). reset, release: O(chunks), and only while no other thread is here. Thread-safe otherwise.
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "../../core/abi.hpp"
#include "../../core/concepts.hpp"
#include "../../core/detail/alignment.hpp"
#include "../../core/detail/sanitizer.hpp"
#include "../../core/size_class_scheme.hpp"
#include "block_batch.hpp"
#include "block_owner.hpp"
#include "owned_chunks.hpp"
#include "patient_lock.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <block_source Source, size_class_scheme Classes>
class batch_depot {
    using chunks_type = owned_chunks<Source>;

  public:
    // The time that a thread waits for the lock: naps of a millisecond, counted while its holder makes no progress.
    static constexpr unsigned patience = is_thread_safe_source<Source> ? 100 : 2000;

    // A batch, or a run of fresh blocks, or neither.
    struct supply {
        block_batch batch;
        char* run = nullptr;
        std::size_t blocks = 0;
    };

    template <class... SourceArguments>
    explicit batch_depot(first_chunk first, SourceArguments&&... arguments)
        : chunks_(first, std::forward<SourceArguments>(arguments)...) {}

    batch_depot(const batch_depot&) = delete;
    batch_depot& operator=(const batch_depot&) = delete;
    ~batch_depot() { drop_strays(); }  // and chunks_ returns the memory

    // Returns: the size of a class's blocks: that of the class, or more if a block must hold the addresses of a batch.
    [[nodiscard]] static constexpr std::size_t block_bytes(unsigned index) noexcept { return sizes_of_blocks[index]; }

    // Returns: the bytes from a block to the next one of a run.
    [[nodiscard]] static constexpr std::size_t spacing(unsigned index) noexcept {
        return block_bytes(index) + gap_in_row(block_bytes(index));
    }

    // Returns: freed blocks of the class if there are any, else up to `blocks` fresh ones.
    [[nodiscard]] supply take(unsigned index, std::size_t blocks) noexcept {
        const std::size_t bytes = block_bytes(index);
        const std::size_t natural = natural_alignment(bytes);
        const std::size_t alignment = natural < max_class_alignment ? natural : max_class_alignment;
        supply found;
        if (lock_.lock(patience)) {
            found.batch = batches_[index].pop();
            if (!found.batch) found.run = cut(spacing(index), blocks, alignment);
            lock_.unlock();
        } else {
            found.run = cut_stray(spacing(index), blocks, alignment);
        }
        if (address_sanitizer && found.run != nullptr) found.run += gap_in_row(bytes);
        found.blocks = blocks;
        return found;
    }

    // Returns: memory that belongs to the pool until reset, or null.
    [[nodiscard]] void* carve(std::size_t bytes, std::size_t alignment) noexcept {
        std::size_t one = 1;
        char* place = nullptr;
        if (lock_.lock(patience)) {
            place = cut(bytes, one, alignment);
            lock_.unlock();
        } else {
            place = cut_stray(bytes, one, alignment);
        }
        if (place != nullptr) unpoison(place, bytes);
        return place;
    }

    // Returns: true if the depot has taken the batch; false if the lock was not free at once.
    [[nodiscard]] bool try_give(unsigned index, const block_batch& batch) noexcept {
        return lock_.try_lock() && push_and_unlock(index, batch);
    }
    // The same, but waits.
    [[nodiscard]] bool give(unsigned index, const block_batch& batch) noexcept {
        return lock_.lock(patience) && push_and_unlock(index, batch);
    }

    // The source, as a block source for any thread.
    struct shared_source {
        batch_depot& depot;

        [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
            if constexpr (is_thread_safe_source<Source>) return depot.source().try_allocate(bytes, alignment);
            if (!depot.lock_.lock(patience)) return nullptr;
            void* const block = depot.source().try_allocate(bytes, alignment);
            depot.lock_.unlock();
            return block;
        }

        // If the source is out of reach, the block is lost to this process.
        void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
            if constexpr (is_thread_safe_source<Source>) {
                depot.source().deallocate(block, bytes, alignment);
            } else if (depot.lock_.lock(patience)) {
                depot.source().deallocate(block, bytes, alignment);
                depot.lock_.unlock();
            }
        }
    };

    void reset() noexcept {
        start_empty();
        chunks_.reset();
    }

    void release() noexcept {
        start_empty();
        chunks_.release();
    }

    // Returns: the bytes obtained from the source and not returned. Complexity: O(chunks), under the lock.
    [[nodiscard]] std::size_t held_bytes() const noexcept {
        const bool is_locked = lock_.lock(patience);  // if not, no thread is left that could change it
        std::size_t sum = chunks_.held_bytes();
        if (is_locked) lock_.unlock();
        for (chunk_header* stray = strays_.load(std::memory_order_acquire); stray != nullptr; stray = stray->next)
            sum += stray->bytes;
        return sum;
    }

    [[nodiscard]] Source& source() noexcept { return chunks_.source(); }

  private:
    struct region {
        char* begin = nullptr;
        char* end = nullptr;
        [[nodiscard]] std::size_t bytes() const noexcept { return static_cast<std::size_t>(end - begin); }
    };

    static constexpr auto sizes_of_blocks = [] {
        std::array<std::uint32_t, Classes::count + 1> table{};  // the last entry is for requests without a class
        for (unsigned i = 0; i < Classes::count; ++i) {
            const std::size_t bytes = Classes::bytes_of(i);
            std::size_t enough = bytes;
            while (enough < block_batch::smallest_block_bytes) enough += bytes;
            table[i] = static_cast<std::uint32_t>(enough);
        }
        return table;
    }();

    [[nodiscard]] bool push_and_unlock(unsigned index, const block_batch& batch) noexcept {
        batch.push_to(batches_[index]);
        lock_.unlock();
        return true;
    }

    // Cuts blocks under the lock. Returns: `blocks` adjacent pieces, at least one and as many as there is room for; or
    // null.
    [[nodiscard]] char* cut(std::size_t bytes, std::size_t& blocks, std::size_t alignment) noexcept {
        region room = aligned(room_, alignment);
        if (room.bytes() >= bytes) {
            char* const run = cut_from(room, bytes, blocks);
            room_ = room;
            return run;
        }
        const std::size_t padding = alignment > alignof(chunk_header) ? alignment - alignof(chunk_header) : 0;
        chunk_header* const chunk = chunks_.acquire(bytes + padding);
        if (chunk == nullptr) return nullptr;
        room = aligned({chunk->begin(), chunk->end()}, alignment);
        char* const run = cut_from(room, bytes, blocks);
        // The rest of a chunk behind a large block may be smaller than the old room.
        if (room.bytes() >= room_.bytes()) room_ = room;
        return run;
    }

    // Takes blocks from the source itself, without the lock.
    [[nodiscard]] char* cut_stray(std::size_t bytes, std::size_t& blocks, std::size_t alignment) noexcept {
        if constexpr (is_thread_safe_source<Source>) {
            const std::size_t whole = sizeof(chunk_header) + alignment + blocks * bytes;
            void* const memory = source().try_allocate(whole, alignof(chunk_header));
            if (memory == nullptr) return nullptr;
            auto* const stray = ::new (memory) chunk_header{strays_.load(std::memory_order_relaxed), whole, 0};
            poison(stray->begin(), stray->payload_bytes());
            while (!strays_.compare_exchange_weak(stray->next, stray, std::memory_order_acq_rel)) {
            }
            return aligned({stray->begin(), stray->end()}, alignment).begin;
        } else {
            return nullptr;
        }
    }

    // Returns: the part of `whole` from its first aligned address on; empty if there is no such address.
    [[nodiscard]] static region aligned(region whole, std::size_t alignment) noexcept {
        const std::size_t padding = padding_to(whole.begin, alignment);
        whole.begin = padding <= whole.bytes() ? whole.begin + padding : whole.end;
        return whole;
    }

    [[nodiscard]] static char* cut_from(region& from, std::size_t bytes, std::size_t& blocks) noexcept {
        const std::size_t fitting = from.bytes() / bytes;
        if (blocks > fitting) blocks = fitting;
        char* const run = from.begin;
        from.begin += blocks * bytes;
        return run;
    }

    void drop_strays() noexcept {
        chunk_header* stray = strays_.exchange(nullptr, std::memory_order_acquire);
        while (stray != nullptr) {
            chunk_header* const next = stray->next;
            const std::size_t bytes = stray->bytes;
            unpoison(stray, bytes);
            source().deallocate(stray, bytes, alignof(chunk_header));
            stray = next;
        }
    }

    void start_empty() noexcept {
        lock_.break_open();
        drop_strays();
        room_ = {};
        for (block_batch& list : batches_) list = {};
    }

    mutable patient_lock lock_;
    region room_;
    block_batch batches_[Classes::count];
    chunks_type chunks_;
    std::atomic<chunk_header*> strays_{nullptr};
};

}  // namespace millpond::inline MILLPOND_ABI::detail
