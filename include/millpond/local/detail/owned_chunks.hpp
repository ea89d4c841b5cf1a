// SPDX-License-Identifier: BSL-1.0
// owned_chunks: the chunks that an allocator holds from its block source: those in use, and those kept for reuse.
//
//   in use, newest first   ─▶│header│……………………………│─▶│header│…………│─▶│header│…│
//   spare, after reset     ─▶│header│▒▒▒▒│─▶│header│▒▒▒▒▒▒▒▒▒│
//                             ▲ next, bytes, block_bytes            sizes double from first_chunk up to a cap
//
// monotonic and multipool use it. It owns the block source. A new chunk comes from the spare ones if one fits, else
// from the source. If the source has not enough for a chunk of the planned size, the smallest one that serves the
// request is tried.
//
// acquire: O(1), but O(spare chunks) if they are used in another order than before the reset. release, reset:
// O(chunks), or one call if the source is a managed allocator of our own. absorb: O(spare chunks). Not thread-safe.
#pragma once

#include <bit>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "../../core/abi.hpp"
#include "../../core/allocation.hpp"
#include "../../core/concepts.hpp"
#include "../../core/detail/alignment.hpp"
#include "../../core/detail/sanitizer.hpp"
#include "../first_chunk.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class First, class...>
inline constexpr bool starts_with_option = false;
template <class Option, class First, class... Others>
inline constexpr bool starts_with_option<Option, First, Others...> = std::is_same_v<Option, std::remove_cvref_t<First>>;

// True if the arguments of an allocator's constructor are all for its source.
template <class Source, class... Arguments>
concept source_arguments = sizeof...(Arguments) > 0 && !starts_with_option<first_chunk, Arguments...> &&
                           std::constructible_from<Source, Arguments...>;

// A source that can tell at once whether it has memory ready, as chunk_cache can: try_allocate_at_hand returns what
// try_allocate_at_least does if that takes a few instructions, else null.
template <class Source>
concept source_at_hand = requires(Source source, std::size_t n) {
    { source.try_allocate_at_hand(n, n) } noexcept -> std::same_as<allocation>;
};

struct alignas(default_alignment) chunk_header {
    chunk_header* next;
    std::size_t bytes;        // size of the whole chunk, with this header
    std::size_t block_bytes;  // size of the blocks for which try_allocate_slab announced it, else 0

    [[nodiscard]] char* begin() noexcept { return reinterpret_cast<char*>(this + 1); }
    [[nodiscard]] char* end() noexcept { return reinterpret_cast<char*>(this) + bytes; }
    [[nodiscard]] std::size_t payload_bytes() const noexcept { return bytes - sizeof(chunk_header); }
};

template <block_source Source>
class owned_chunks {
  public:
    static constexpr first_chunk default_first{1024 - sizeof(chunk_header)};
    static constexpr std::size_t largest_planned_bytes = std::size_t{256} << 10;

    template <class... SourceArguments>
    constexpr explicit owned_chunks(first_chunk first, SourceArguments&&... arguments)
        : source_(std::forward<SourceArguments>(arguments)...),
          first_bytes_(first.bytes < smallest_payload_bytes ? smallest_payload_bytes : first.bytes),
          planned_bytes_(first_bytes_ + sizeof(chunk_header)) {
        if (std::is_constant_evaluated()) oldest_ = nullptr;  // a pool that the compiler makes leaves nothing open
    }

    owned_chunks(const owned_chunks&) = delete;
    owned_chunks& operator=(const owned_chunks&) = delete;
    ~owned_chunks() { give_all_back(); }

    // Returns: a chunk, now the newest in use, with at least `payload_bytes` behind its header, poisoned; or null, and
    // nothing has changed. `block_bytes` above 0 tells a slab_source the size of the blocks that the chunk will hold.
    [[nodiscard]] chunk_header* acquire(std::size_t payload_bytes, std::size_t block_bytes = 0) noexcept {
        return acquire(payload_bytes, block_bytes, align_up(payload_bytes, alignof(chunk_header)));
    }

    // Returns: the same, if each further block like the first takes `spacing_bytes`.
    [[nodiscard]] chunk_header* acquire(std::size_t payload_bytes, std::size_t block_bytes,
                                        std::size_t spacing_bytes) noexcept {
        if (payload_bytes > max_bytes - sizeof(chunk_header)) return nullptr;
        chunk_header* chunk = spare_ != nullptr ? take_spare(payload_bytes, block_bytes) : nullptr;
        if (chunk == nullptr)
            chunk = take_from_source(payload_bytes + sizeof(chunk_header), block_bytes, spacing_bytes);
        if (chunk == nullptr) return nullptr;
        chunk->next = in_use_;
        if (in_use_ == nullptr) oldest_ = chunk;
        in_use_ = chunk;
        return chunk;
    }

    [[nodiscard]] bool any() const noexcept { return in_use_ != nullptr || spare_ != nullptr; }

    // Returns: the very first chunk, as planned, if it is large enough and the source has it at hand; or null, and
    // nothing has changed.
    [[nodiscard, gnu::always_inline]] chunk_header* acquire_first_at_hand(std::size_t payload_bytes) noexcept
        requires source_at_hand<Source>
    {
        if (planned_bytes_ < payload_bytes + sizeof(chunk_header)) return nullptr;
        const allocation memory = source_.try_allocate_at_hand(planned_bytes_, alignof(chunk_header));
        if (memory.start == nullptr) return nullptr;
        return in_use_ = oldest_ = make_chunk(memory, 0);
    }

    [[nodiscard]] chunk_header* newest() const noexcept { return in_use_; }

    // Effects: makes the source move the end of the newest chunk so that it holds `bytes` with its header, and poisons
    // the new part. Returns: the end, unmoved if the source cannot.
    [[nodiscard]] char* resize_newest(std::size_t bytes) noexcept
        requires resizing_source<Source>
    {
        chunk_header* const chunk = in_use_;
        const std::size_t before = chunk->bytes;
        chunk->bytes = source_.try_resize(chunk, before, bytes);
        if (chunk->bytes > before) poison(reinterpret_cast<char*>(chunk) + before, chunk->bytes - before);
        return chunk->end();
    }

    // Effects: makes chunks newer than `oldest_kept` (null: all) spare ones, to be reused in the same order.
    void spare_down_to(const chunk_header* oldest_kept) noexcept {
        while (in_use_ != oldest_kept) {
            assert(in_use_ != nullptr && "rewind: the checkpoint is no longer valid");
            chunk_header* const chunk = in_use_;
            in_use_ = chunk->next;
            chunk->next = spare_;
            spare_ = chunk;
            poison(chunk->begin(), chunk->payload_bytes());
        }
    }

    // Effects: keeps all chunks for reuse, or leaves that to the source if it is a managed allocator owned here.
    void reset() noexcept {
        if constexpr (managed_allocator<Source>) {
            source_.reset();
            forget();
        } else {
            spare_down_to(nullptr);
        }
    }

    // Effects: gives all chunks back to the source, and releases the source if it is a managed allocator owned here.
    void release() noexcept {
        if constexpr (managed_allocator<Source>) {
            source_.release();
        } else {
            give_all_back();
        }
        forget();
    }

    // Effects: takes over all chunks of `other`, as the oldest here. Either both have the same source, or `other` owns
    // its source, which is then absorbed as well.
    void absorb(owned_chunks& other) noexcept {
        if constexpr (managed_allocator<Source>) {
            source_.absorb(other.source_);
        }
        if (other.in_use_ != nullptr) {
            (in_use_ != nullptr ? oldest_->next : in_use_) = other.in_use_;
            oldest_ = other.oldest_;
        }
        while (other.spare_ != nullptr) {
            chunk_header* const chunk = other.spare_;
            other.spare_ = chunk->next;
            chunk->next = spare_;
            spare_ = chunk;
        }
        other.forget();
    }

    // Returns: the bytes obtained from the source and not returned. Complexity: O(chunks).
    [[nodiscard]] std::size_t held_bytes() const noexcept {
        std::size_t sum = 0;
        for (const chunk_header* chunk = in_use_; chunk != nullptr; chunk = chunk->next) sum += chunk->bytes;
        for (const chunk_header* chunk = spare_; chunk != nullptr; chunk = chunk->next) sum += chunk->bytes;
        return sum;
    }

    // Returns: the end of the chunk in use that contains the address, or null. Complexity: O(chunks); for builds with
    // an address sanitizer.
    [[nodiscard]] const char* end_around(const void* address) const noexcept {
        for (chunk_header* chunk = in_use_; chunk != nullptr; chunk = chunk->next) {
            const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(chunk);
            if (offset < chunk->bytes) return chunk->end();
        }
        return nullptr;
    }

    [[nodiscard]] Source& source() noexcept { return source_; }

  private:
    static constexpr std::size_t smallest_payload_bytes = 256 - sizeof(chunk_header);
    static constexpr std::size_t largest_shared_bytes = largest_planned_bytes / 8;

    void forget() noexcept {
        in_use_ = spare_ = nullptr;
        planned_bytes_ = first_bytes_ + sizeof(chunk_header);
    }

    [[nodiscard, gnu::noinline]] chunk_header* take_spare(std::size_t payload_bytes, std::size_t block_bytes) noexcept {
        for (chunk_header** place = &spare_; *place != nullptr; place = &(*place)->next) {
            chunk_header* const chunk = *place;
            if (chunk->payload_bytes() < payload_bytes || chunk->block_bytes != block_bytes) continue;
            *place = chunk->next;
            return chunk;
        }
        return nullptr;
    }

    [[nodiscard]] chunk_header* take_from_source(std::size_t needed_bytes, std::size_t block_bytes,
                                                 std::size_t spacing_bytes) noexcept {
        // The planned size is for chunks that all classes share; the caller knows how large a slab should be.
        const std::size_t planned = block_bytes == 0 ? planned_bytes_ : 0;
        std::size_t bytes = needed_bytes < planned ? planned : needed_bytes;
        // A block that takes most of a chunk leaves no part of it unused. Rounded up a little, the chunk also serves
        // somewhat larger blocks after a reset.
        if (needed_bytes > largest_shared_bytes && needed_bytes <= planned) {
            bytes -= (bytes - needed_bytes) % spacing_bytes;
            bytes = align_up(bytes, std::bit_floor(bytes) / 32);
        }
        if constexpr (fixed_chunk_source<Source>) {
            bytes = needed_bytes < Source::preferred_chunk_bytes ? Source::preferred_chunk_bytes : needed_bytes;
        }
        allocation memory = obtain(bytes, block_bytes);
        if (memory.start == nullptr && !fixed_chunk_source<Source> && bytes > needed_bytes)
            memory = obtain(needed_bytes, block_bytes);
        return memory.start != nullptr ? make_chunk(memory, block_bytes) : nullptr;
    }

    [[nodiscard]] chunk_header* make_chunk(allocation memory, std::size_t block_bytes) noexcept {
        if (block_bytes == 0 && planned_bytes_ < largest_planned_bytes) planned_bytes_ *= 2;
        chunk_header* const chunk = ::new (memory.start) chunk_header{nullptr, memory.bytes, block_bytes};
        poison(chunk->begin(), chunk->payload_bytes());
        return chunk;
    }

    [[nodiscard]] allocation obtain(std::size_t bytes, std::size_t block_bytes) noexcept {
        if constexpr (slab_source<Source>) {
            if (block_bytes != 0) return {source_.try_allocate_slab(bytes, alignment_of(bytes), block_bytes), bytes};
        }
        if constexpr (rounding_source<Source> && !fixed_chunk_source<Source>) {
            return source_.try_allocate_at_least(bytes, alignof(chunk_header));
        }
        return {source_.try_allocate(bytes, alignment_of(bytes)), bytes};
    }

    void give_all_back() noexcept {
        if (in_use_ != nullptr) give_back(in_use_);
        if (spare_ != nullptr) give_back(spare_);
    }

    // Out of line, so that code which destroys an empty allocator does not contain it.
    [[gnu::noinline]] void give_back(chunk_header* chunk) noexcept {
        do {
            chunk_header* const next = chunk->next;
            const std::size_t bytes = chunk->bytes;
            unpoison(chunk, bytes);
            source_.deallocate(chunk, bytes, alignment_of(bytes));
            chunk = next;
        } while (chunk != nullptr);
    }

    // Chunks of the preferred size are aligned to it; all others to what the header needs.
    [[nodiscard]] static constexpr std::size_t alignment_of([[maybe_unused]] std::size_t bytes) noexcept {
        if constexpr (fixed_chunk_source<Source>) {
            static_assert(is_power_of_two(Source::preferred_chunk_bytes) && Source::preferred_chunk_bytes >= 1024,
                          "preferred_chunk_bytes must be a power of two, at least 1024");
            if (bytes == Source::preferred_chunk_bytes) return bytes;
        }
        return alignof(chunk_header);
    }

    [[no_unique_address]] Source source_;
    chunk_header* in_use_ = nullptr;
    chunk_header* oldest_;  // the oldest of those in use, if there is one
    chunk_header* spare_ = nullptr;
    std::size_t first_bytes_;
    std::size_t planned_bytes_;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
