// SPDX-License-Identifier: BSL-1.0
// owner_cache: call sites whose own function owns what it allocates, with the pool of each. Most look-ups end here.
//
//   return address ──hash──▶ word: address │ pool      same address: the pool, without a walk
//                                                      other address, or none: the look-up walks, and keeps its answer
//
// Two sites that share a place replace each other. A word is read and written at once, so any thread and any signal
// handler may call it. Keep only addresses of code in a file, and clear() after a dlclose: other code may come to lie
// at an address. find: about 10 instructions. Memory: 8 KB, fixed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millpond::trial {

class owner_cache {
  public:
    static constexpr std::uint32_t unknown = UINT32_MAX;

    [[nodiscard, gnu::always_inline]] std::uint32_t find(std::uintptr_t return_address) const noexcept {
        const std::uint64_t word = __atomic_load_n(&words_[place_of(return_address)], __ATOMIC_RELAXED);
        const std::uint64_t rest = word ^ (std::uint64_t{return_address} << pool_bits);
        return rest >> pool_bits == 0 && word != 0 ? static_cast<std::uint32_t>(rest) : unknown;
    }
    // Addresses beyond user space (47 bits) would lose bits and are not kept.
    void keep(std::uintptr_t return_address, std::uint8_t pool) noexcept {
        if (return_address == 0 || return_address >> address_bits != 0) return;
        const std::uint64_t word = std::uint64_t{return_address} << pool_bits | pool;
        __atomic_store_n(&words_[place_of(return_address)], word, __ATOMIC_RELAXED);
    }
    void clear() noexcept {
        for (std::uint64_t& word : words_) __atomic_store_n(&word, std::uint64_t{0}, __ATOMIC_RELAXED);
    }

  private:
    static constexpr unsigned place_bits = 10, pool_bits = 8, address_bits = 47;

    static std::size_t place_of(std::uintptr_t address) noexcept {
        return (address * 0x9E3779B97F4A7C15u) >> (64 - place_bits);
    }

    std::uint64_t words_[std::size_t{1} << place_bits] = {};
};

}  // namespace millpond::trial
