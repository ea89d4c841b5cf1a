// SPDX-License-Identifier: BSL-1.0
// hardening: makes links inside freed memory hard to abuse, in programs built with MILLPOND_HARDENED.
//
//   link   ── next ⊕ secret ⊕ own address ──▶ stored      a link that was overwritten decodes to no aligned address
//   seal   ── secret + own address ─────────▶ stored      there: the block is free; a second free finds it
//
// Without MILLPOND_HARDENED a link is a pointer and a seal is empty: no instruction is spent. All translation units of
// a program must agree. Misuse ends the program with one line on standard error, because going on would give one block
// to two owners. Hardening only finds the damage in a pool; to find the overrun or use after free itself, use checked
// or a sanitizer.
//
// O(1), a few instructions. Thread-safe: the secret is made when the program starts and never changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(MILLPOND_HARDENED)
#include <chrono>
#endif

#include "../abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

#if defined(MILLPOND_HARDENED)
inline constexpr bool is_hardened = true;
#else
inline constexpr bool is_hardened = false;
#endif

// Effects: prints what was found and ends the program.
[[noreturn, gnu::noinline, gnu::cold]] inline void misuse_found(const char* what, const void* block) noexcept {
    std::fprintf(stderr, "millpond: %s: the block at %p; build with MILLPOND_CHECKED to see where\n", what, block);
    std::abort();
}

#if defined(MILLPOND_HARDENED)
// A secret that differs from run to run, as it is made of the clock and of addresses.
inline const std::uintptr_t hardening_secret = [] {
    static const char here = 0;
    auto value = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    value ^= reinterpret_cast<std::uintptr_t>(&here);
    for (int i = 0; i < 3; ++i) value = (value ^ value >> 29) * 0xbf58476d1ce4e5b9u;
    return static_cast<std::uintptr_t>(value) & ~std::uintptr_t{7};
}();
#else
inline constexpr std::uintptr_t hardening_secret = 0;
#endif

// A pointer to T, which is aligned to 8, as it lies in a freed block.
template <class T>
class encoded_pointer {
  public:
    void set(T* target) noexcept {
        if constexpr (is_hardened) {
            stored_ = reinterpret_cast<std::uintptr_t>(target) ^ key();
        } else {
            stored_ = reinterpret_cast<std::uintptr_t>(target);
        }
    }

    [[nodiscard]] T* get() const noexcept {
        if constexpr (is_hardened) {
            const std::uintptr_t decoded = stored_ ^ key();
            // Bits that no user-space address has set: low ones, and the highest ones.
            if ((decoded & impossible_bits) != 0) misuse_found("a free block was written to", this);
            return reinterpret_cast<T*>(decoded);
        } else {
            return reinterpret_cast<T*>(stored_);
        }
    }

  private:
    static constexpr std::uintptr_t impossible_bits = sizeof(void*) == 8 ? ~(~std::uintptr_t{0} >> 8) | 7 : 7;

    [[nodiscard]] std::uintptr_t key() const noexcept {
        return hardening_secret ^ reinterpret_cast<std::uintptr_t>(this);
    }

    std::uintptr_t stored_;
};

// The mark of a free block. The memory under an unused seal may hold anything.
class seal {
  public:
    void close(const void* block) noexcept {
        if (is_closed(block)) misuse_found("a block was freed twice", block);
        stored_ = value_for(block);
    }

    void open(const void* block) noexcept {
        if (!is_closed(block)) misuse_found("a free block was written to", block);
        stored_ = 0;
    }

    void clear() noexcept { stored_ = 0; }

  private:
    [[nodiscard]] static std::uintptr_t value_for(const void* block) noexcept {
        return hardening_secret + 1 + reinterpret_cast<std::uintptr_t>(block);
    }

    // Compared as bytes: the block's owner has written other objects there.
    [[nodiscard]] bool is_closed(const void* block) const noexcept {
        std::uintptr_t found;
        std::memcpy(&found, &stored_, sizeof found);
        return found == value_for(block);
    }

    std::uintptr_t stored_;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
