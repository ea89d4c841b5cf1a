// SPDX-License-Identifier: BSL-1.0
// packed_object: what is kept of each live object, in 24 bytes, so that with its address it fills half a cache line.
//
//   bits   tick 52 │ thread 12   birth 44 │ bytes 12 │ thread 8   context 32 │ bytes 32
//                  └ low                  └ high     └ high                  └ low
//
// Ticks count from the first event: 17 days at 3 GHz. Values beyond their field (an object above 16 TiB, a thread above
// one million) are kept as the largest that fits. Trivially copyable.
#pragma once

#include <algorithm>
#include <cstdint>

namespace millpond::characterise {

class packed_object {
  public:
    packed_object() = default;
    packed_object(std::uint64_t bytes, std::uint64_t tick, std::uint64_t birth, std::uint32_t context,
                  std::uint32_t thread) {
        const std::uint64_t kept_bytes = std::min(bytes, bytes_max);
        const std::uint64_t kept_thread = std::min<std::uint64_t>(thread, thread_max);
        when_ = std::min(tick, tick_max) << 12 | (kept_thread & 0xfff);
        since_ = birth << 20 | (kept_bytes >> 32) << 8 | kept_thread >> 12;
        what_ = std::uint64_t{context} << 32 | (kept_bytes & 0xffff'ffff);
    }

    static constexpr std::uint64_t bytes_max = (std::uint64_t{1} << 44) - 1;
    static constexpr std::uint64_t tick_max = (std::uint64_t{1} << 52) - 1;
    static constexpr std::uint32_t thread_max = (1u << 20) - 1;

    std::uint64_t tick() const { return when_ >> 12; }
    std::uint64_t birth() const { return since_ >> 20; }
    std::uint64_t bytes() const { return (since_ >> 8 & 0xfff) << 32 | (what_ & 0xffff'ffff); }
    std::uint32_t context() const { return static_cast<std::uint32_t>(what_ >> 32); }
    std::uint32_t thread() const { return static_cast<std::uint32_t>((since_ & 0xff) << 12 | (when_ & 0xfff)); }

  private:
    std::uint64_t when_, since_, what_;
};

}  // namespace millpond::characterise
