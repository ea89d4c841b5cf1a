// SPDX-License-Identifier: BSL-1.0
// counted_pages: the system's pages; counts commits and populates, and the time they take.
//
//   array<T, counted_pages> ── commit, populate ──▶ counted, timed by the wall clock if wanted ──▶ os::pages
//
// One account for the process, used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/measure/clocks.hpp"
#include "millpond/os/pages.hpp"

namespace millpond::reserve_commit {

struct page_account {
    std::uint64_t commits = 0;
    std::uint64_t populates = 0;
    std::uint64_t committed_bytes = 0;
    double seconds = 0;  // of both, if they are timed
};

template <bool Timed>
struct counted_pages : os::pages {
    static inline page_account account;

    [[nodiscard]] static bool commit(void* at, std::size_t bytes) noexcept {
        const double before = now();
        const bool done = os::pages::commit(at, bytes);
        account.seconds += now() - before;
        ++account.commits;
        if (done) account.committed_bytes += bytes;
        return done;
    }
    static void populate(void* at, std::size_t bytes) noexcept {
        const double before = now();
        os::pages::populate(at, bytes);
        account.seconds += now() - before;
        ++account.populates;
    }

  private:
    static double now() noexcept { return Timed ? measure::wall_seconds() : 0.0; }
};

}  // namespace millpond::reserve_commit
