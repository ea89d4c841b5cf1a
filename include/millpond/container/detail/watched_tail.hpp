// SPDX-License-Identifier: BSL-1.0
// watched_tail: in checked mode, fills the memory behind an array's last element with a pattern, to find writes there,
// and checks that a requested element exists. Else empty.
//
//   │ elements │DB DB DB DB DB DB DB …│          look: still the pattern? else "millpond: overrun: …", program ends
//              end                    ready      close: the pattern again after elements are removed
//
// Part of dyn_array. Memory checkers see such accesses themselves, so under one of them it writes nothing.
//
// close, look: O(bytes). expect: O(1). Not thread-safe.
#pragma once

#include <cassert>
#include <cstddef>

#include "../../core/abi.hpp"
#include "../../core/detail/sanitizer.hpp"

#if defined(MILLPOND_CHECKED)
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#endif

namespace millpond::inline MILLPOND_ABI::detail {

#if defined(MILLPOND_CHECKED)
class watched_tail {
  public:
    watched_tail() = default;
    watched_tail(watched_tail&& other) noexcept : highest_(std::exchange(other.highest_, nullptr)) {}
    watched_tail& operator=(watched_tail&& other) noexcept {
        highest_ = std::exchange(other.highest_, nullptr);
        return *this;
    }
    ~watched_tail() = default;

    // Effects: forbids writes to [from, to) from now on.
    void close(void* from, const void* to) noexcept {
        if constexpr (!memory_checker) {
            if (from < to) std::memset(from, closed_byte, bytes(from, to));
        }
    }

    // Effects: as close, for elements that existed until now.
    void remove(void* from, const void* to) noexcept {
        close(from, to);
        if (highest_ < to) highest_ = to;
    }

    // Effects: ends the program if [from, to) was written since it was closed.
    void look(const void* from, const void* to) const noexcept {
        if constexpr (!memory_checker) {
            if (from >= to) return;
            const char* const first = static_cast<const char*>(from);
            const std::size_t size = bytes(from, to);
            if (first[0] == static_cast<char>(closed_byte) && std::memcmp(first, first + 1, size - 1) == 0) return;
            const char* at = first;
            while (*at == static_cast<char>(closed_byte)) ++at;
            std::fprintf(stderr,
                         at < highest_ ? "millpond: use after free: dyn_array: memory at %p was written, where an "
                                         "element was removed; the end is at %p\n"
                                       : "millpond: overrun: dyn_array: memory at %p was written, behind the end at "
                                         "%p\n",
                         static_cast<const void*>(at), from);
            std::abort();
        }
    }

    // Effects: ends the program if `holds` is false. `what`: the error of the call.
    static void expect(bool holds, const char* what) noexcept {
        if (holds) return;
        std::fprintf(stderr, "millpond: out of range: dyn_array: %s\n", what);
        std::abort();
    }

  private:
    static constexpr unsigned char closed_byte = 0xDB;

    [[nodiscard]] static std::size_t bytes(const void* from, const void* to) noexcept {
        return static_cast<std::size_t>(static_cast<const char*>(to) - static_cast<const char*>(from));
    }

    const void* highest_ = nullptr;  // behind the last element that there ever was
};
#else
class watched_tail {
  public:
    constexpr void close(void*, const void*) noexcept {}
    constexpr void remove(void*, const void*) noexcept {}
    constexpr void look(const void*, const void*) const noexcept {}
    static constexpr void expect([[maybe_unused]] bool holds, const char*) noexcept { assert(holds); }
};
#endif

}  // namespace millpond::inline MILLPOND_ABI::detail
