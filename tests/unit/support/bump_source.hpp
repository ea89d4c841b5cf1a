// SPDX-License-Identifier: BSL-1.0
// bump_source: a block source that any thread may call while another one is stopped anywhere in it: two atomic numbers.
//
//   │block│block│block│▒▒▒▒▒▒▒▒│      an array of the program; all of it comes back with start_anew()
//
// All objects are the same source.
#pragma once

#include <atomic>
#include <cstddef>
#include <millpond/core/detail/alignment.hpp>

namespace millpond::test {

class bump_source {
  public:
    static void start_anew() noexcept { used = live = 0; }
    [[nodiscard]] static std::size_t live_bytes() noexcept { return live; }

    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        std::size_t before = used, start = 0;
        do {
            start = detail::align_up(before, alignment);
            if (bytes > sizeof memory || start > sizeof memory - bytes) return nullptr;
        } while (!used.compare_exchange_strong(before, start + bytes));
        live += bytes;
        return memory + start;
    }

    void deallocate(void*, std::size_t bytes, std::size_t) noexcept { live -= bytes; }

  private:
    alignas(4096) static inline char memory[std::size_t{16} << 20];
    static inline std::atomic<std::size_t> used{0};
    static inline std::atomic<std::size_t> live{0};
};

}  // namespace millpond::test
