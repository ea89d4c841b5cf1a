// SPDX-License-Identifier: BSL-1.0
// address_slabs: a slab source from which the address of a block tells its size.
//
//   address ─▶ extent of 2 MiB ─▶ slab of 64 KiB ─▶ bytes of its blocks; 0: no slab of this source
//                two tables         an array of 32
//
// Slabs are cut from chunks of 2 MiB that double up to 64 MiB, and serve their size until the process ends. Larger
// blocks come from operator new. One source for each tag, whose tables take 64 KiB of addresses.
//
// block_bytes_at: O(1), three loads, thread-safe. Everything else is for one thread at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <tuple>

#include "../../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Tag>
class address_slabs {
  public:
    static constexpr std::size_t preferred_chunk_bytes = std::size_t{64} << 10;
    static constexpr bool has_long_slabs = true;

    // Returns: `bytes` for blocks of `block_bytes`, or null.
    [[nodiscard]] void* try_allocate_slab(std::size_t bytes, std::size_t, std::size_t block_bytes) noexcept {
        const std::size_t wanted = (bytes + preferred_chunk_bytes - 1) / preferred_chunk_bytes * preferred_chunk_bytes;
        if (static_cast<std::size_t>(only_.last - only_.next) < wanted && !only_.take_chunk()) return nullptr;
        char* const first = only_.next;
        for (std::size_t at = 0; at < wanted; at += preferred_chunk_bytes) {
            std::atomic<std::uint32_t>* const size = only_.size_at(first + at, true);
            if (size == nullptr) return nullptr;
            size->store(static_cast<std::uint32_t>(block_bytes), std::memory_order_relaxed);
        }
        only_.next += wanted;
        return first;
    }

    // Blocks above the largest class, which lie in no slab.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        return ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
    }
    void deallocate(void* block, std::size_t, std::size_t alignment) noexcept {
        if (block_bytes_at(block) == 0) ::operator delete(block, std::align_val_t{alignment});
    }

    // Returns: the size of the blocks in the slab where the address lies; 0 if it lies in none.
    [[nodiscard]] static std::size_t block_bytes_at(const void* address) noexcept {
        const std::atomic<std::uint32_t>* const size = only_.size_at(address, false);
        return size != nullptr ? size->load(std::memory_order_relaxed) : 0;
    }

  private:
    static constexpr std::size_t extent_bytes = std::size_t{2} << 20;
    static constexpr std::size_t table_size = 8192;
    static constexpr std::size_t most_chunk_extents = 32;
    using extent = std::array<std::atomic<std::uint32_t>, extent_bytes / preferred_chunk_bytes>;
    using extent_table = std::array<std::atomic<extent*>, table_size>;

    struct tables {
        std::array<std::atomic<extent_table*>, table_size> by_address{};
        char* next = nullptr;
        char* last = nullptr;
        std::size_t chunk_extents = 1;  // of the next chunk

        // Returns: false if there is no memory, and nothing has changed.
        bool take_chunk() noexcept {
            const std::size_t bytes = chunk_extents * extent_bytes;
            void* const chunk = ::operator new(bytes, std::align_val_t{extent_bytes}, std::nothrow);
            if (chunk == nullptr) return false;
            next = static_cast<char*>(chunk);
            last = next + bytes;
            if (chunk_extents < most_chunk_extents) chunk_extents *= 2;
            return true;
        }
        // Returns: the place for the size of an address's slab; null if it does not exist and cannot be made.
        std::atomic<std::uint32_t>* size_at(const void* address, bool make) noexcept {
            const std::uintptr_t slab = reinterpret_cast<std::uintptr_t>(address) / preferred_chunk_bytes;
            const std::uintptr_t number = slab / std::tuple_size_v<extent>;
            if (number / table_size >= table_size) return nullptr;
            extent_table* const table = entry_of(by_address[number / table_size], make);
            extent* const found = table != nullptr ? entry_of((*table)[number % table_size], make) : nullptr;
            return found != nullptr ? &(*found)[slab % std::tuple_size_v<extent>] : nullptr;
        }
        template <class T>
        static T* entry_of(std::atomic<T*>& place, bool make) noexcept {
            T* known = place.load(std::memory_order_acquire);
            if (known == nullptr && make) {
                known = new (std::nothrow) T{};
                place.store(known, std::memory_order_release);
            }
            return known;
        }
    };

    static inline constinit tables only_{};
};

}  // namespace millpond::inline MILLPOND_ABI::detail
