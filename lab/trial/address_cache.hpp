// SPDX-License-Identifier: BSL-1.0
// address_cache: a cache from recent return addresses to a small number: a pool, or how to step outward.
//
//   return address ──hash──▶ word: address │ number    same address: the number
//                                                      other address, or none: the caller finds it and keeps it
//
// Two addresses that share a place replace each other. Each word is read and written atomically, so any thread and any
// signal handler may use the cache. Keep only addresses of code in a file, and call clear() after a dlclose, because
// other code may be loaded at the same address. match: 7 instructions. Memory: 16 KB, fixed; it counts towards a limit
// of the address space.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/machine.hpp"

namespace millpond::trial {

// `number_bits`: at most 17, so that both fit in a word. The cache has 2^place_bits words.
template <unsigned number_bits, unsigned place_bits = 11>
class address_cache {
    static constexpr unsigned step = preload::machine::code_step_log2;
    static_assert(number_bits + preload::machine::address_bits - step <= 64 && number_bits <= 17);

  public:
    // A result of match() from this value on: the address is not known. One comparison can test for that and for a
    // range.
    static constexpr std::uint64_t no_match = std::uint64_t{1} << number_bits;

    // Precondition: return_address is not 0.
    [[nodiscard, gnu::always_inline]] std::uint64_t match(std::uintptr_t return_address) const noexcept {
        const std::uint64_t word = __atomic_load_n(&words_[place_of(return_address)], __ATOMIC_RELAXED);
        return word ^ (std::uint64_t{return_address} >> step << number_bits);
    }
    // Addresses beyond user space would lose bits and are not kept, nor are numbers that are too large.
    void keep(std::uintptr_t return_address, std::uint64_t number) noexcept {
        if (return_address == 0 || return_address >> address_bits != 0 || number >= no_match) return;
        const std::uint64_t word = std::uint64_t{return_address} >> step << number_bits | number;
        __atomic_store_n(&words_[place_of(return_address)], word, __ATOMIC_RELAXED);
    }
    void clear() noexcept {
        for (std::uint64_t& word : words_) __atomic_store_n(&word, std::uint64_t{0}, __ATOMIC_RELAXED);
    }

  private:
    static constexpr unsigned address_bits = preload::machine::address_bits;

    static std::size_t place_of(std::uintptr_t address) noexcept {
        return (address * 0x9E3779B97F4A7C15u) >> (64 - place_bits);
    }

    std::uint64_t words_[std::size_t{1} << place_bits] = {};
};

}  // namespace millpond::trial
