// SPDX-License-Identifier: BSL-1.0
// crc32: the checksum of files that Millpond writes and reads again; the same as Python's zlib.crc32.
//
//   crc32 sum; sum.add(header); sum.add(rest); file.checksum = sum.value();
//
// It finds damage, not malice. O(bytes), some 400 MB a second. Not for blocks of traces, which have a faster one.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace millpond::program {

class crc32 {
  public:
    void add(std::string_view bytes) noexcept {
        for (const char byte : bytes) sum_ = table[(sum_ ^ static_cast<unsigned char>(byte)) & 0xff] ^ sum_ >> 8;
    }
    [[nodiscard]] std::uint32_t value() const noexcept { return ~sum_; }

    static std::uint32_t of(std::string_view bytes) noexcept {
        crc32 sum;
        sum.add(bytes);
        return sum.value();
    }

  private:
    static constexpr std::array<std::uint32_t, 256> table = [] {
        std::array<std::uint32_t, 256> made{};
        for (std::uint32_t i = 0; i < made.size(); ++i) {
            std::uint32_t word = i;
            for (int bit = 0; bit < 8; ++bit) word = (word & 1) != 0 ? word >> 1 ^ 0xEDB88320u : word >> 1;
            made[i] = word;
        }
        return made;
    }();
    std::uint32_t sum_ = ~std::uint32_t{0};
};

}  // namespace millpond::program
