// SPDX-License-Identifier: BSL-1.0
// lanes: eight lines in order of their last use, and the one step that least-recently-used replacement needs.
//
//   │ a b c d e f g h │  seek d, insert x  ▶  │ x a b c e f g h │  returns 3
//   │ a b c d e f g h │  seek q, insert x  ▶  │ x a b c d e f g │  returns 8, h is gone
//
// Several rows of eight make a longer stack: the line that one row loses is inserted into the next. A row is aligned to
// 64 bytes. There is one struct for each instruction set; all do the same. `ones` is here because it also differs by
// instruction set.
#pragma once

#include <stdint.h>

#include "lab/simulate/instruction_set.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace millpond::simulate {

inline constexpr unsigned lane_count = 8;

struct portable_lanes {
    // Returns the number of bits that are set.
    static uint64_t ones(uint64_t word) {
        word -= word >> 1 & 0x5555555555555555u;
        word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
        return ((word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56;
    }

    static unsigned move_to_front(uint64_t* row, uint64_t sought, uint64_t inserted) {
        unsigned depth = 0;
        for (; depth < lane_count; ++depth) {
            const uint64_t here = row[depth];
            row[depth] = inserted;
            if (here == sought) return depth;
            inserted = here;
        }
        return depth;
    }
};

#if defined(__x86_64__)

// Lane i of entry d is all ones if i <= d: these lanes move when the sought line lies in lane d.
struct alignas(64) moving_lanes {
    uint64_t of_depth[lane_count + 1][lane_count];
};
inline constexpr moving_lanes moving = [] {
    moving_lanes made{};
    for (unsigned depth = 0; depth <= lane_count; ++depth) {
        for (unsigned lane = 0; lane < lane_count; ++lane)
            made.of_depth[depth][lane] = lane <= depth ? ~uint64_t{0} : 0;
    }
    return made;
}();

struct avx2_lanes {
    MILLPOND_AVX2 static inline uint64_t ones(uint64_t word) {
        return static_cast<uint64_t>(__builtin_popcountll(word));
    }

    MILLPOND_AVX2 static inline unsigned move_to_front(uint64_t* row, uint64_t sought, uint64_t inserted) {
        const __m256i low = _mm256_load_si256(reinterpret_cast<const __m256i*>(row));
        const __m256i high = _mm256_load_si256(reinterpret_cast<const __m256i*>(row + 4));
        const __m256i wanted = _mm256_set1_epi64x(static_cast<long long>(sought));
        const __m256i first = _mm256_set1_epi64x(static_cast<long long>(inserted));
        const unsigned depth = depth_of(low, high, wanted);
        const auto* const mask = reinterpret_cast<const __m256i*>(moving.of_depth[depth]);
        _mm256_store_si256(reinterpret_cast<__m256i*>(row),
                           _mm256_blendv_epi8(low, up(low, first), _mm256_load_si256(mask)));
        _mm256_store_si256(reinterpret_cast<__m256i*>(row + 4),
                           _mm256_blendv_epi8(high, up(high, top_of(low)), _mm256_load_si256(mask + 1)));
        return depth;
    }

  private:
    MILLPOND_AVX2 static inline unsigned depth_of(const __m256i& low, const __m256i& high, const __m256i& wanted) {
        const auto found_low = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(low, wanted)));
        const auto found_high = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(high, wanted)));
        return _tzcnt_u32(static_cast<unsigned>(found_low | found_high << 4) | 1u << lane_count);
    }
    // Shifts each lane's value up by one; the first lane takes that of `first`.
    MILLPOND_AVX2 static inline __m256i up(const __m256i& lanes, const __m256i& first) {
        return _mm256_blend_epi32(_mm256_permute4x64_epi64(lanes, 0x90), first, 0x03);
    }
    MILLPOND_AVX2 static inline __m256i top_of(const __m256i& lanes) { return _mm256_permute4x64_epi64(lanes, 0xff); }
};

struct avx512_lanes {
    MILLPOND_AVX512 static inline uint64_t ones(uint64_t word) {
        return static_cast<uint64_t>(__builtin_popcountll(word));
    }

    // Stores whole rows: a load that follows a masked store would wait for it.
    MILLPOND_AVX512 static inline unsigned move_to_front(uint64_t* row, uint64_t sought, uint64_t inserted) {
        __m512i lanes = _mm512_load_si512(row);
        const unsigned depth = move(lanes, _mm512_set1_epi64(static_cast<long long>(sought)),
                                    _mm512_set1_epi64(static_cast<long long>(inserted)));
        _mm512_store_si512(row, lanes);
        return depth;
    }

  private:
    MILLPOND_AVX512 static inline unsigned move(__m512i& lanes, const __m512i& sought, const __m512i& inserted) {
        const __mmask8 found = _mm512_cmpeq_epi64_mask(lanes, sought);
        const unsigned bit = (static_cast<unsigned>(found) | 1u << lane_count);
        const auto moved = static_cast<__mmask8>(bit ^ (bit - 1));  // up to and including the lowest one
        lanes = _mm512_mask_mov_epi64(lanes, moved, _mm512_maskz_alignr_epi64(0xff, lanes, inserted, 7));
        return _tzcnt_u32(bit);
    }
};

#endif

// Calls function<portable_lanes>(…), function_avx2(…) or function_avx512(…). The latter two call function<…_lanes>(…)
// and are compiled for these instructions.
#if defined(__x86_64__)
#define MILLPOND_DISPATCH(set, function, ...)             \
    switch (set) {                                        \
        case instruction_set::avx512:                     \
            return function##_avx512(__VA_ARGS__);        \
        case instruction_set::avx2:                       \
            return function##_avx2(__VA_ARGS__);          \
        default:                                          \
            return function<portable_lanes>(__VA_ARGS__); \
    }
#else
#define MILLPOND_DISPATCH(set, function, ...) return function<portable_lanes>(__VA_ARGS__)
#endif

}  // namespace millpond::simulate
