// SPDX-License-Identifier: BSL-1.0
// block_owner: tells AddressSanitizer which pool a block belongs to, and its requested size and alignment.
//
//   │▒▒▒▒▒▒▒▒│owner, bytes│block…………│▒▒▒▒▒▒▒▒│owner, bytes│block…………│       the gap before each block is poisoned
//
// Pools leave the gap only in builds with AddressSanitizer, and write a tag at its end. An overrun by one byte within a
// row of equal blocks then meets poison. A block that comes back to another pool, or with another size or alignment, is
// named in one line, and AddressSanitizer reports the place. In all other builds there is no gap, no tag and no code.
// O(1); expect: O(pools absorbed). Thread-safe for different blocks, except absorb.
#pragma once

#include <cstddef>

#include "../../core/abi.hpp"
#include "../../core/detail/alignment.hpp"
#include "../../core/detail/sanitizer.hpp"

#if defined(MILLPOND_ASAN)
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <vector>
#endif

namespace millpond::inline MILLPOND_ABI::detail {

// Returns: the bytes of poison before a block with that alignment.
[[nodiscard]] constexpr std::size_t gap_before(std::size_t alignment) noexcept {
    return !address_sanitizer ? 0 : alignment > 16 ? alignment : 16;
}

// Returns: the same for a block in a row of blocks of so many bytes, aligned to 64 at most.
[[nodiscard]] constexpr std::size_t gap_in_row(std::size_t block_bytes) noexcept {
    const std::size_t natural = natural_alignment(block_bytes);
    return gap_before(natural < 64 ? natural : 64);
}

// The messages of the reports.
inline constexpr const char* not_its_own = "a block was given to a pool that is not its own";
inline constexpr const char* another_size = "a block came back with another size than its request";
inline constexpr const char* another_alignment = "a block came back with another alignment than its request";

#if defined(MILLPOND_ASAN)
// Effects: prints what was found, and has AddressSanitizer report the address.
[[gnu::noinline]] inline void report_to_sanitizer(const char* what, const void* block) noexcept {
    std::fprintf(stderr, "millpond: %s: the block at %p\n", what, block);
    std::fflush(stderr);
    // Poisons a whole granule of the shadow: a smaller part cannot be closed at its front.
    poison(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(block) & ~std::uintptr_t{7}), 8);
    expect_open(block);
}

// Effects: reports a block requested with another size: the byte behind it is open, or its last byte is closed. For
// pools that write no tag.
inline void expect_size(const void* block, std::size_t bytes) noexcept {
    const char* const end = static_cast<const char*>(block) + bytes;
    if (!is_poisoned(end) || is_poisoned(end - 1)) report_to_sanitizer(another_size, block);
}

class block_owner {
  public:
    block_owner() noexcept : number_(next_number()) {}

    // Effects: writes the tag of a block on allocation.
    __attribute__((no_sanitize("address"))) void mark(void* block, std::size_t bytes,
                                                      std::size_t alignment) const noexcept {
        tag* const to = static_cast<tag*>(block) - 1;
        to->owner = number_ << 8 | log_of(alignment);
        to->bytes = bytes;
    }

    // Effects: reports a block of another owner, or one requested with another size or alignment. Sizes served by
    // blocks of one size count as the same (`block_bytes` of a request; 0: it has none), because allocate_at_least lets
    // a caller free with any size up to the block's.
    void expect(const void* block, std::size_t bytes, std::size_t alignment,
                std::size_t (*block_bytes)(std::size_t, std::size_t) noexcept) const noexcept {
        const tag found = tag_of(block);
        if (!is_own(found.owner >> 8)) return report_to_sanitizer(not_its_own, block);
        const std::size_t asked = std::size_t{1} << (found.owner & 63);
        if (found.bytes == bytes && (found.owner & 255) == log_of(alignment)) return;
        const std::size_t served = block_bytes(found.bytes, asked);
        if (served != 0 && block_bytes(bytes, alignment) == served) return;
        report_to_sanitizer(found.bytes == bytes ? another_alignment : another_size, block);
    }

    // Effects: accepts blocks of `other` from now on.
    void absorb(block_owner& other) {
        absorbed_.push_back(other.number_);
        absorbed_.insert(absorbed_.end(), other.absorbed_.begin(), other.absorbed_.end());
    }

  private:
    struct tag {
        std::uint64_t owner;  // the owner's number, and in the lowest 8 bits the alignment's logarithm
        std::uint64_t bytes;
    };

    [[nodiscard, gnu::noinline]] __attribute__((no_sanitize("address"))) static tag tag_of(const void* block) noexcept {
        const volatile tag* const from = static_cast<const tag*>(block) - 1;
        return {from->owner, from->bytes};
    }
    [[nodiscard]] static std::uint64_t next_number() noexcept {
        // A number that memory hardly holds by chance.
        static std::atomic<std::uint64_t> last{0x6d696c6c0000};
        return last.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    [[nodiscard]] static std::uint64_t log_of(std::size_t alignment) noexcept {
        return static_cast<std::uint64_t>(std::bit_width(alignment)) - (alignment != 0) +
               (is_power_of_two(alignment) ? 0 : 128);
    }
    [[nodiscard]] bool is_own(std::uint64_t number) const noexcept {
        if (number == number_) return true;
        for (const std::uint64_t own : absorbed_) {
            if (own == number) return true;
        }
        return false;
    }

    std::uint64_t number_;
    std::vector<std::uint64_t> absorbed_;  // does not allocate for a pool that is never destroyed
};
#else
inline void report_to_sanitizer(const char*, const void*) noexcept {}
inline void expect_size(const void*, std::size_t) noexcept {}

struct block_owner {
    void mark(void*, std::size_t, std::size_t) const noexcept {}
    void expect(const void*, std::size_t, std::size_t,
                std::size_t (*)(std::size_t, std::size_t) noexcept) const noexcept {}
    void absorb(block_owner&) noexcept {}
};
#endif

}  // namespace millpond::inline MILLPOND_ABI::detail
