// SPDX-License-Identifier: BSL-1.0
// block_batch: freed blocks of one size, passed on together: the blocks themselves hold the addresses of the others.
//
//   batch ─▶│next batch│next node│a│b│c│ ─▶│next node│d│e│f│g│ ─▶│null│h│i│null│      poisoned, all of it
//            a node is one of the blocks; it holds as many addresses as fit, up to a whole batch
//
// synchronized_multipool moves blocks between threads in batches. The thread that takes one reads a cache line for
// about eight blocks, where a list linked through the blocks would wait for each of them. It needs no memory that could
// be refused. Blocks must have room for two addresses: smallest_block_bytes.
// Hardened, addresses are encoded, and the first word of a free block stays its seal (mark_free, mark_used).
//
// pack, unpack: O(blocks). Not thread-safe: a batch belongs to one thread at a time.
//
// Example:
//     alignas(16) char blocks[3][32] = {};
//     void* const freed[] = {blocks[0], blocks[1], blocks[2]};
//     millpond::detail::block_batch batch = millpond::detail::block_batch::pack(freed, 3, 32);
//     void* again[3] = {};
//     assert(batch.unpack(again, 32) == 3 && again[2] == blocks[2]);
//     millpond::detail::unpoison(blocks, sizeof blocks);
#pragma once

#include <cstddef>
#include <cstring>
#include <new>

#include "../../core/abi.hpp"
#include "../../core/detail/hardening.hpp"
#include "../../core/detail/sanitizer.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class block_batch {
    using word = encoded_pointer<void>;
    static constexpr std::size_t seal_words = is_hardened ? 1 : 0;

  public:
    static constexpr std::size_t smallest_block_bytes = (seal_words + 2) * sizeof(word);

    constexpr block_batch() noexcept = default;  // no batch

    // Returns: a batch of `count` > 0 blocks of `bytes` each, in their order.
    [[nodiscard]] static block_batch pack(void* const* blocks, std::size_t count, std::size_t bytes) noexcept {
        const std::size_t words = words_in(bytes);
        void* node = blocks[0];
        open(node, words);
        put(node, next_batch, nullptr);
        put(node, next_node_of_first, nullptr);
        std::size_t link = next_node_of_first, place = link + 1;
        for (std::size_t i = 1; i < count; ++i) {
            if (place < words) {
                put(node, place++, blocks[i]);
                continue;
            }
            put(node, link, blocks[i]);
            close(node, words);
            node = blocks[i];
            open(node, words);
            put(node, next_node, nullptr);
            link = next_node, place = link + 1;
        }
        if (place < words) put(node, place, nullptr);
        close(node, words);
        return block_batch(blocks[0]);
    }

    // Effects: writes the addresses of the blocks to `to`, in their order, and ends the batch. Returns: their number.
    [[nodiscard]] std::size_t unpack(void** to, std::size_t bytes) noexcept {
        const std::size_t words = words_in(bytes);
        std::size_t count = 0;
        void* node = first_;
        for (std::size_t link = next_node_of_first; node != nullptr; link = next_node) {
            to[count++] = node;
            open(node, words);
            void* const following = get(node, link);
            for (std::size_t place = link + 1; place < words; ++place) {
                void* const block = get(node, place);
                if (block == nullptr) break;
                to[count++] = block;
            }
            close(node, words);
            node = following;
        }
        first_ = nullptr;
        return count;
    }

    [[nodiscard]] explicit operator bool() const noexcept { return first_ != nullptr; }

    // Effects: puts the batch first in the list `to`.
    void push_to(block_batch& to) const noexcept {
        open(first_, next_batch + 1);
        put(first_, next_batch, to.first_);
        close(first_, next_batch + 1);
        to.first_ = first_;
    }

    // Returns: the first batch of the list, which loses it; or no batch.
    [[nodiscard]] block_batch pop() noexcept {
        const block_batch first = *this;
        if (first_ != nullptr) {
            open(first_, next_batch + 1);
            void* const following = get(first_, next_batch);
            close(first.first_, next_batch + 1);
            first_ = following;
        }
        return first;
    }

  private:
    static constexpr std::size_t next_batch = seal_words;  // offset in the first node
    static constexpr std::size_t next_node_of_first = next_batch + 1;
    static constexpr std::size_t next_node = seal_words;  // offset in the others
    static constexpr std::size_t most_words = 130;

    explicit block_batch(void* first) noexcept : first_(first) {}

    [[nodiscard]] static constexpr std::size_t words_in(std::size_t bytes) noexcept {
        return bytes / sizeof(word) < most_words ? bytes / sizeof(word) : most_words;
    }

    static void open(void* node, std::size_t words) noexcept { unpoison_contents(node, words * sizeof(word)); }
    static void close(void* node, std::size_t words) noexcept { poison(node, words * sizeof(word)); }

    static void put(void* node, std::size_t place, void* address) noexcept {
        (::new (static_cast<char*>(node) + place * sizeof(word)) word)->set(address);
    }

    [[nodiscard]] static void* get(void* node, std::size_t place) noexcept {
        return std::launder(reinterpret_cast<word*>(static_cast<char*>(node) + place * sizeof(word)))->get();
    }

    void* first_ = nullptr;
};

// Effects: marks the block as free: sealed in hardened builds, and poisoned.
inline void mark_free(void* block, std::size_t bytes) noexcept {
    if constexpr (is_hardened) {
        unpoison_contents(block, sizeof(seal));
        static_cast<seal*>(block)->close(block);
    }
    poison(block, bytes);
}

// Effects: as mark_free, for a block that was never given out, with any contents.
inline void mark_fresh(void* block, std::size_t bytes) noexcept {
    if constexpr (is_hardened) {
        unpoison(block, sizeof(seal));
        std::memset(block, 0, sizeof(seal));
        mark_free(block, bytes);
    }
}

// Effects: marks the free block as used, by a request of so many bytes.
inline void mark_used(void* block, std::size_t requested_bytes) noexcept {
    if constexpr (is_hardened) {
        unpoison_contents(block, sizeof(seal));
        static_cast<seal*>(block)->open(block);
        poison(block, sizeof(seal));
    }
    unpoison(block, requested_bytes + (requested_bytes == 0));
}

}  // namespace millpond::inline MILLPOND_ABI::detail
