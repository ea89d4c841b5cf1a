// SPDX-License-Identifier: BSL-1.0
// known_ranges: in checked mode, a list of reserved address ranges that lets a fault report name the range that was hit
// and why the access was wrong: behind the committed part, behind the limit, given back to the system, or its owner
// destroyed. Else empty.
//
//   range of a dyn_array ├── committed ──┤▒▒ was committed ▒▒┤▒▒ reserved ▒▒┤ guard │      overrun, use after free
//   range that was released ├▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒┤               use after release
//
// The last 16 released ranges keep their addresses, without memory, so that the system reuses none of them. Where
// addresses run short, they are released first. A report is a line on standard error, and the program ends.
//
// Part of reservation. All functions: O(ranges), at most 512 are known. Thread-safe.
#pragma once

#include <cstddef>

#include "../../core/abi.hpp"

#if defined(MILLPOND_CHECKED)
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "../../core/detail/brief_lock.hpp"
#include "../../core/detail/sanitizer.hpp"
#include "../../os/faults.hpp"
#include "../../os/pages.hpp"
#endif

namespace millpond::inline MILLPOND_ABI::detail {

#if defined(MILLPOND_CHECKED)
struct known_range {
    const char* begin = nullptr;
    std::size_t size = 0;   // without the guard page
    std::size_t bytes = 0;  // with it
    std::size_t committed = 0;
    std::size_t most_committed = 0;
    bool is_writable = true;  // what is committed
    const char* what = "reservation";
    std::uint64_t released = 0;  // its number among the released ranges; 0: not released
};

class known_ranges {
    using range = known_range;

  public:
    // Effects: adds the range, of `bytes` with its guard page, of which `size` may be committed.
    static void add(const void* begin, std::size_t size, std::size_t bytes) noexcept {
        if (!is_watched_.exchange(true)) os::faults::watch(&explain);
        const hold here;
        range* const free = here.has_lock() ? find(nullptr) : nullptr;
        if (free == nullptr) return;
        *free = {.begin = static_cast<const char*>(begin), .size = size, .bytes = bytes};
    }

    // Effects: reports call the range `what`.
    static void name(const void* begin, const char* what) noexcept {
        change(begin, [&](range& found) { found.what = what; });
    }

    static void note_committed(const void* begin, std::size_t bytes) noexcept {
        change(begin, [&](range& found) {
            found.committed = bytes;
            if (found.most_committed < bytes) found.most_committed = bytes;
        });
    }

    static void note_writable(const void* begin, bool writable) noexcept {
        change(begin, [&](range& found) { found.is_writable = writable; });
    }

    // Effects: notes that the owner of the range is gone. The range starts at `begin`, has `bytes`, and is unmapped
    // later.
    static void release(void* begin, std::size_t bytes) noexcept {
        range given_up;
        {
            const hold here;
            range* const found = here.has_lock() ? find(begin) : nullptr;
            if (found == nullptr || !os::pages::decommit(begin, bytes)) {
                if (found != nullptr) *found = {};
                given_up = {.begin = static_cast<const char*>(begin), .bytes = bytes};
            } else {
                found->released = ++releases_;
                if (++kept_ > most_kept) given_up = take_oldest_released();
            }
        }
        give_up(given_up);
    }

    // Effects: released ranges go back to the system. Returns: true if there was one.
    static bool release_kept() noexcept {
        bool any = false;
        for (;;) {
            range given_up;
            {
                const hold here;
                if (here.has_lock() && kept_ > 0) given_up = take_oldest_released();
            }
            if (given_up.begin == nullptr) return any;
            give_up(given_up);
            any = true;
        }
    }

  private:
    static constexpr std::size_t most = 512;
    static constexpr std::size_t most_kept = 16;

    class hold {
      public:
        hold() noexcept {
            for (int i = 0; i < attempts && !has_lock_; ++i) has_lock_ = lock_.try_lock();
        }
        hold(const hold&) = delete;
        hold& operator=(const hold&) = delete;
        ~hold() {
            if (has_lock_) lock_.unlock();
        }
        // Returns: false in a child that was forked while another thread had the lock.
        [[nodiscard]] bool has_lock() const noexcept { return has_lock_; }

      private:
        static constexpr int attempts = 10000;
        bool has_lock_ = false;
    };

    [[nodiscard]] static range* find(const void* begin) noexcept {
        for (range& one : ranges_) {
            if (one.begin == begin && one.released == 0) return &one;
        }
        return nullptr;
    }

    template <class Change>
    static void change(const void* begin, Change apply) noexcept {
        const hold here;
        if (range* const found = here.has_lock() ? find(begin) : nullptr) apply(*found);
    }

    // Precondition: kept_ > 0.
    [[nodiscard]] static range take_oldest_released() noexcept {
        range* oldest = nullptr;
        for (range& one : ranges_) {
            if (one.released != 0 && (oldest == nullptr || one.released < oldest->released)) oldest = &one;
        }
        --kept_;
        const range taken = *oldest;
        *oldest = {};
        return taken;
    }

    static void give_up(const range& what) noexcept {
        if (what.begin != nullptr) os::pages::release(const_cast<char*>(what.begin), what.bytes);
    }

    // Reads the table without the lock, because this thread may hold it.
    static bool explain(const os::fault& what) noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(what.address);
        for (const range& one : ranges_) {
            if (one.begin == nullptr || at - reinterpret_cast<std::uintptr_t>(one.begin) >= one.bytes) continue;
            report(one, at - reinterpret_cast<std::uintptr_t>(one.begin), what);
            if constexpr (memory_checker) return false;
            std::abort();
        }
        return false;
    }

    static void report(const range& one, std::size_t offset, const os::fault& what) noexcept {
        const char* const did = what.is_write ? "written" : "read";
        const char* kind = "overrun";
        char how[160] = "";
        if (one.released != 0) {
            kind = "use after release";
            std::snprintf(how, sizeof how, "after it was destroyed, with all that lay there");
        } else if (offset >= one.size) {
            std::snprintf(how, sizeof how, "%zu bytes behind the limit of %zu bytes", offset - one.size, one.size);
        } else if (offset < one.committed && !one.is_writable) {
            kind = "write to protected memory";
            std::snprintf(how, sizeof how, "where protect() allows only reads");
        } else if (offset < one.most_committed) {
            kind = "use after free";
            std::snprintf(how, sizeof how, "where the memory went back to the system; %zu bytes of %zu are left",
                          one.committed, one.most_committed);
        } else {
            std::snprintf(how, sizeof how, "%zu bytes behind the %zu that are committed, of %zu reserved",
                          offset - one.committed, one.committed, one.size);
        }
        std::fprintf(stderr, "millpond: %s: %s: memory at %p was %s, %s; its range begins at %p; detected at %p\n",
                     kind, one.what, what.address, did, how, static_cast<const void*>(one.begin), what.instruction);
    }

    static inline constinit brief_lock lock_;
    static inline constinit range ranges_[most] = {};
    static inline constinit std::uint64_t releases_ = 0;
    static inline constinit std::size_t kept_ = 0;
    static inline constinit std::atomic<bool> is_watched_{false};
};
#else
class known_ranges {
  public:
    static constexpr void add(const void*, std::size_t, std::size_t) noexcept {}
    static constexpr void name(const void*, const char*) noexcept {}
    static constexpr void note_committed(const void*, std::size_t) noexcept {}
    static constexpr void note_writable(const void*, bool) noexcept {}
    static constexpr void release(void*, std::size_t) noexcept {}
    static constexpr bool release_kept() noexcept { return false; }
};
#endif

}  // namespace millpond::inline MILLPOND_ABI::detail
