// SPDX-License-Identifier: BSL-1.0
// class_places: tables that find the place of a request's size class in a pool.
//
//   request (bytes, alignment) ─▶ small  ≤ 1 KiB, an entry a byte         ─▶ group of four classes, offset in it
//                                        a second table where aligned to 16
//                                 middle ≤ 32 KiB, an entry for 256 bytes
//                                 wide   ≤ 1 MiB, an entry for 8 KiB       else: the arithmetic of the scheme
//
// Part of multipool. A load is faster than the arithmetic of class_of, which is noticeable at one allocation a
// nanosecond. For a size known at compile time all of it folds away. If a scheme's classes do not fit these steps, as
// those of a class_map, there are fewer tables. O(1). Thread-safe: the tables are constants.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "../../core/abi.hpp"
#include "../../core/size_class_scheme.hpp"
#include "class_blocks.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

struct class_place {
    std::uint8_t group;
    std::uint8_t offset;  // offset of the class in its group, in bytes

    [[nodiscard]] static constexpr class_place of(unsigned number) noexcept {
        return {static_cast<std::uint8_t>(number / class_group::size),
                static_cast<std::uint8_t>(number % class_group::size * sizeof(class_blocks))};
    }
};
static_assert(sizeof(class_blocks) * (class_group::size - 1) < 256);

template <size_class_scheme Classes>
class class_places {
    static constexpr std::size_t small_bytes = Classes::largest < 1024 ? Classes::largest : 1024;
    static constexpr std::size_t small_alignment = 8;  // every block has it
    static constexpr std::size_t paired_alignment = 2 * small_alignment;
    static constexpr std::size_t middle_step = 256, middle_bytes = 128 * middle_step;
    static constexpr std::size_t wide_step = 8192, wide_bytes = 128 * wide_step;

  public:
    // True for small requests, which are the most frequent, aligned to 8 at most.
    [[nodiscard]] static constexpr bool is_small(std::size_t bytes) noexcept { return bytes <= small_bytes; }
    [[nodiscard]] static constexpr bool is_small(std::size_t bytes, std::size_t alignment) noexcept {
        return is_small(bytes) && alignment <= small_alignment;
    }
    [[nodiscard]] static constexpr class_place of_small(std::size_t bytes) noexcept {
        return small<small_alignment>[bytes];
    }

    // True for small requests aligned to 16, as malloc aligns. Rounding first would take three dependent instructions.
    [[nodiscard]] static constexpr bool is_paired_small(std::size_t bytes, std::size_t alignment) noexcept {
        return aligns_by_rounding && bytes <= small_bytes && alignment <= paired_alignment;
    }
    [[nodiscard]] static constexpr class_place of_paired_small(std::size_t bytes) noexcept {
        if constexpr (aligns_by_rounding) return small<paired_alignment>[bytes];
        return {};
    }

    // True for small requests aligned to more, which use the entry for `rounded` bytes, at least one.
    [[nodiscard]] static constexpr bool is_rounded_small(std::size_t bytes, std::size_t alignment) noexcept {
        return aligns_by_rounding && alignment <= max_class_alignment && bytes - 1 < small_bytes;
    }
    [[nodiscard]] static constexpr std::size_t rounded(std::size_t bytes, std::size_t alignment) noexcept {
        return ((bytes - 1) | (alignment - 1)) + 1;
    }

    // True for larger requests, of up to 32 KiB; tested after the two above.
    [[nodiscard]] static constexpr bool is_middle(std::size_t bytes, std::size_t alignment) noexcept {
        return has_middle && alignment <= max_class_alignment && bytes - 1 < middle_bytes;
    }
    [[nodiscard, gnu::always_inline]] static constexpr class_place of_middle(std::size_t bytes) noexcept {
        if constexpr (has_middle) return steps<middle_step, middle_bytes>[(bytes - 1) / middle_step];
        return {};
    }

    // True for still larger requests, of up to 1 MiB; tested after those. Inline, because around a call every caller
    // would save registers, also on the path of small blocks.
    [[nodiscard]] static constexpr bool is_wide(std::size_t bytes, std::size_t alignment) noexcept {
        return has_wide && alignment <= max_class_alignment && bytes - 1 < wide_bytes;
    }
    [[nodiscard, gnu::always_inline]] static constexpr class_place of_wide(std::size_t bytes) noexcept {
        if constexpr (has_wide) return steps<wide_step, wide_bytes>[(bytes - 1) / wide_step];
        return {};
    }

  private:
    static constexpr bool aligns_by_rounding = requires { Classes::aligns_by_rounding; };

    // True if each step between the two sizes lies in one class that is aligned to all that classes serve.
    [[nodiscard]] static constexpr bool has_steps(std::size_t step, std::size_t from, std::size_t to) noexcept {
        if (Classes::largest < to || small_bytes < 1024) return false;
        for (std::size_t bytes = from + step; bytes <= to; bytes += step) {
            const unsigned number = Classes::class_of(bytes, small_alignment);
            if (number / class_group::size > 255 || Classes::bytes_of(number) % max_class_alignment != 0) return false;
            if (Classes::class_of(bytes - step + 1, small_alignment) != number) return false;
        }
        return true;
    }
    static constexpr bool has_middle = aligns_by_rounding && has_steps(middle_step, small_bytes, middle_bytes);
    static constexpr bool has_wide = has_middle && has_steps(wide_step, middle_bytes, wide_bytes);

    static_assert(Classes::class_of(small_bytes, small_alignment) / class_group::size < 256,
                  "multipool: there are more than 1024 size classes up to 1 KiB");
    template <std::size_t Alignment>
    static constexpr auto small = [] {
        std::array<class_place, small_bytes + 1> table{};
        for (std::size_t bytes = 0; bytes <= small_bytes; ++bytes)
            table[bytes] = class_place::of(Classes::class_of(bytes, Alignment));
        return table;
    }();

    template <std::size_t Step, std::size_t Bytes>
    static constexpr auto steps = [] {
        std::array<class_place, Bytes / Step> table{};
        for (std::size_t i = 0; i < table.size(); ++i)
            table[i] = class_place::of(Classes::class_of((i + 1) * Step, small_alignment));
        return table;
    }();
};

}  // namespace millpond::inline MILLPOND_ABI::detail
