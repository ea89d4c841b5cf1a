// SPDX-License-Identifier: BSL-1.0
// address_cache: a small number for each return address that was met lately: which pool, or how to step outward.
//
//   return address ──hash──▶ word: address │ number    same address: the number
//                                                      other address, or none: it has to be found, and is kept
//
// Two addresses that share a place replace each other. A word is read and written at once, so any thread and any signal
// handler may call it. Keep only addresses of code in a file, and clear() after a dlclose: other code may come to lie
// at an address. match: 7 instructions. Memory: 16 KB, fixed; a limit of addresses counts them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millpond::trial {

// `number_bits`: at most 17, as an address in user space has 47. 2^place_bits words.
template <unsigned number_bits, unsigned place_bits = 11>
class address_cache {
    static_assert(number_bits <= 17);

  public:
    // From here on match() says that the address is not known. So one comparison can ask for that and for a range.
    static constexpr std::uint64_t no_match = std::uint64_t{1} << number_bits;

    // Precondition: return_address is not 0.
    [[nodiscard, gnu::always_inline]] std::uint64_t match(std::uintptr_t return_address) const noexcept {
        const std::uint64_t word = __atomic_load_n(&words_[place_of(return_address)], __ATOMIC_RELAXED);
        return word ^ (std::uint64_t{return_address} << number_bits);
    }
    // Addresses beyond user space would lose bits and are not kept, nor are numbers that are too large.
    void keep(std::uintptr_t return_address, std::uint64_t number) noexcept {
        if (return_address == 0 || return_address >> address_bits != 0 || number >= no_match) return;
        const std::uint64_t word = std::uint64_t{return_address} << number_bits | number;
        __atomic_store_n(&words_[place_of(return_address)], word, __ATOMIC_RELAXED);
    }
    void clear() noexcept {
        for (std::uint64_t& word : words_) __atomic_store_n(&word, std::uint64_t{0}, __ATOMIC_RELAXED);
    }

  private:
    static constexpr unsigned address_bits = 47;

    static std::size_t place_of(std::uintptr_t address) noexcept {
        return (address * 0x9E3779B97F4A7C15u) >> (64 - place_bits);
    }

    std::uint64_t words_[std::size_t{1} << place_bits] = {};
};

}  // namespace millpond::trial
