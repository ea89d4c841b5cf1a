// SPDX-License-Identifier: BSL-1.0
// byte_countdown: chooses bytes of a stream of allocations independently, one in `interval` on average.
//
//   bytes allocated  ───────────────x──────────────────────────────x────     x: chosen; distances are exponential
//   allocations      │  │      │    ▲    │ │     │              │  ▲           an allocation with an x is sampled
//
// An allocation of s bytes is sampled with probability 1 − exp(−s / interval), whatever came before it: the distance to
// the next chosen byte is rounded up to whole bytes, which changes no comparison with a whole number, and exponential
// distances have no memory. One that asks for 0 bytes counts as one byte, so that every allocation has a probability.
// After each `segment_bytes` at most, passes() sends its caller to chooses(), which may notice another recording there.
// One object a thread, zeroed at first (nothing is drawn yet). Not thread-safe; a signal handler that allocates inside
// passes() loses only what it counted.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace millpond::record {

class byte_countdown {
  public:
    static constexpr std::size_t segment_bytes = std::size_t{1} << 20;

    constexpr byte_countdown() = default;

    // Counts an allocation that is not sampled. False: it may be, and is not counted yet; ask chooses().
    [[nodiscard, gnu::always_inline]] bool passes(std::size_t bytes) noexcept {
        const std::size_t left = left_;
        if (bytes - 1 >= left) [[unlikely]]  // also for 0 bytes
            return false;
        left_ = left - bytes;
        return true;
    }

    // Counts an allocation, and returns whether it is sampled.
    bool chooses(std::size_t bytes, std::uint64_t interval) noexcept {
        const std::size_t counted = bytes != 0 ? bytes : 1, left = left_ + beyond_;
        const bool chosen = counted > left;
        put(chosen ? draw(interval) : left - counted);
        return chosen;
    }

    [[nodiscard]] bool has_begun() const noexcept { return random_ != 0; }
    // Begins another sequence of random numbers, and draws the first distance.
    void begin(std::uint64_t seed, std::uint64_t interval) noexcept {
        random_ = mixed(seed);
        if (random_ == 0) random_ = 1;
        put(draw(interval));
    }

  private:
    void put(std::size_t distance) noexcept {
        left_ = distance < segment_bytes ? distance : segment_bytes;
        beyond_ = distance - left_;
    }

    static std::uint64_t mixed(std::uint64_t x) noexcept {
        x += 0x9E3779B97F4A7C15u;
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
        x = (x ^ x >> 27) * 0x94D049BB133111EBu;
        return x ^ x >> 31;
    }

    // −ln of a number in (0, 1) that is given as a fraction of 2^64. No libm: the program may have none. The series of
    // ln m = 2 artanh((m − 1) / (m + 1)) ends where terms are below 10^−13.
    static double negative_log(std::uint64_t fraction) noexcept {
        constexpr double ln2 = 0.69314718055994530942;
        const int zeros = std::countl_zero(fraction);
        double m = static_cast<double>(fraction << zeros >> 11) * 0x1p-53;  // [0.5, 1)
        int exponent = zeros;
        if (m < 0.70710678118654752440) {
            m *= 2;
            ++exponent;
        }
        const double t = (m - 1) / (m + 1), square = t * t;
        double sum = 0;
        for (int k = 17; k > 0; k -= 2) sum = sum * square + 1.0 / k;
        return exponent * ln2 - 2 * t * sum;
    }

    // Returns the bytes before the next chosen one.
    std::size_t draw(std::uint64_t interval) noexcept {
        random_ ^= random_ << 13;
        random_ ^= random_ >> 7;
        random_ ^= random_ << 17;
        // The product's upper bits are the better ones of this generator.
        const std::uint64_t fraction = random_ * 0x2545F4914F6CDD1Du | 1;
        const double distance = negative_log(fraction) * static_cast<double>(interval);
        constexpr double far = 0x1p62;
        return static_cast<std::size_t>(distance < far ? distance : far);
    }

    std::size_t left_ = 0;    // bytes before the end of the segment
    std::size_t beyond_ = 0;  // bytes from there to the next chosen one
    std::uint64_t random_ = 0;
};

}  // namespace millpond::record
