// SPDX-License-Identifier: BSL-1.0
// size_class_scheme: the interface of schemes that round requests up to a few block sizes; a parameter of multipool.
//
//   request (bytes, alignment) ──class_of──▶ index ──bytes_of──▶ block size ≥ bytes, a multiple of alignment
//                                        └─▶ count: no class serves it, the request passes to the block source
//
// Four schemes exist, each in its own header, all stateless, constexpr, O(1) arithmetic or one look-up:
//   four_an_octave   8 16 24 … 64 80 96 112 128 160 …  the default: less than a fifth of a block is lost above 32 bytes
//   powers_of_two    8 16 32 64 …                      fewest classes: memory freed by one size serves many others
//   exact_spacing    8 16 24 32 …                      nothing is lost but rounding to the spacing; for small sizes
//   class_map        24 40 64 1000 …                   any list of sizes, such as a program's profile suggests
//
// Blocks are cut from rows, so a block is aligned to the largest power of two that divides its size. class_of must
// therefore return a class whose size is a multiple of the alignment: 24 bytes aligned to 16 get a block of 32. A
// scheme may define `aligns_by_rounding`: then rounding the bytes up to a multiple of the alignment always leads to
// such a class.
#pragma once

#include <concepts>
#include <cstddef>

#include "abi.hpp"

namespace millpond::inline MILLPOND_ABI {

// Larger alignments than a cache line are rare. Such requests pass to the block source, whatever their size.
inline constexpr std::size_t max_class_alignment = 64;

template <class C>
concept size_class_scheme = requires(std::size_t n, unsigned index) {
    { C::count } -> std::convertible_to<unsigned>;
    { C::largest } -> std::convertible_to<std::size_t>;
    { C::class_of(n, n) } noexcept -> std::same_as<unsigned>;
    { C::bytes_of(index) } noexcept -> std::same_as<std::size_t>;
};

}  // namespace millpond::inline MILLPOND_ABI
