// SPDX-License-Identifier: BSL-1.0
// fake_pages: os::pages for tests. Real memory, strict books, and failure on demand.
//
//   class under test ──▶ basic_reservation<fake_pages> ──▶ fake_pages: counts, checks, refuses ──▶ os::pages
//
// Every misuse of the interface (a page committed twice, a discard of what is not committed, half a page, a range that
// is no reservation) fails the running test. Pages may be larger than the machine's, and the unit of reservations any.
// start() forgets counts and settings; what is still reserved stays known. Not thread-safe.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <vector>

#include "millpond/os/pages.hpp"

namespace millpond::test {

enum class page_call : unsigned char {
    reserve,
    commit,
    populate,
    decommit,
    discard,
    set_writable,
    advise_huge,
    release
};

struct fake_pages_knobs {
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

    std::size_t page_bytes = os::pages::size();
    std::size_t granularity_bytes = os::pages::granularity();
    std::size_t address_limit = never;  // a reservation of more bytes is refused
    std::size_t charge_limit = never;   // a commit that brings the bytes charged above this is refused
    std::size_t fail_at = never;        // the call with this number that can fail does
    bool fail_on = false;               // and so does every one after it
};

struct fake_pages {
    static constexpr std::size_t never = fake_pages_knobs::never;

    inline static fake_pages_knobs set;

    inline static std::array<std::size_t, 8> counts{};  // calls by page_call
    inline static std::size_t fallible_calls = 0;
    inline static std::size_t charged_bytes = 0;
    inline static std::size_t most_charged_bytes = 0;

    static void start() {
        set = fake_pages_knobs{};
        counts = {};
        fallible_calls = 0;
        most_charged_bytes = charged_bytes;
    }

    // The n-th call from now that can fail, from 0, does: all but discard and release, which the interface makes
    // certain.
    static void fail_once_at(std::size_t n) {
        set.fail_at = fallible_calls + n;
        set.fail_on = false;
    }
    static void fail_from(std::size_t n) {
        set.fail_at = fallible_calls + n;
        set.fail_on = true;
    }
    static void never_fail() {
        set.fail_at = never;
        set.fail_on = false;
    }

    static std::size_t count(page_call call) { return counts[static_cast<std::size_t>(call)]; }
    static std::size_t reservations() { return ranges.size(); }

    static std::size_t size() noexcept { return set.page_bytes; }
    static std::size_t granularity() noexcept { return set.granularity_bytes; }

    static void* reserve(std::size_t bytes) noexcept {
        if (refused(page_call::reserve)) return nullptr;
        EXPECT_NE(bytes, 0U);
        EXPECT_EQ(bytes % granularity(), 0U) << "reserve: not a multiple of the granularity";
        if (bytes > set.address_limit) return nullptr;
        void* const at = reserve_aligned(bytes);
        if (at != nullptr) ranges[at].bytes = bytes;
        return at;
    }

    static bool commit(void* at, std::size_t bytes) noexcept {
        if (refused(page_call::commit)) return false;
        range* const found = find(at, bytes, "commit");
        if (found == nullptr || charged_bytes + bytes > set.charge_limit) return false;
        if (!os::pages::commit(at, bytes)) return false;
        mark(*found, at, bytes, true);
        charged_bytes += bytes;
        if (charged_bytes > most_charged_bytes) most_charged_bytes = charged_bytes;
        return true;
    }

    static void populate(void* at, std::size_t bytes) noexcept {
        if (refused(page_call::populate)) return;
        expect_committed(at, bytes, "populate");
        os::pages::populate(at, bytes);
    }

    static bool decommit(void* at, std::size_t bytes) noexcept {
        if (refused(page_call::decommit)) return false;
        range* const found = find(at, bytes, "decommit");
        if (found == nullptr || !os::pages::decommit(at, bytes)) return false;
        mark(*found, at, bytes, false);
        charged_bytes -= bytes;
        return true;
    }

    // Cannot fail: what is read afterwards is promised.
    static void discard(void* at, std::size_t bytes) noexcept {
        ++counts[static_cast<std::size_t>(page_call::discard)];
        expect_committed(at, bytes, "discard");
        os::pages::discard(at, bytes);
    }

    static bool set_writable(void* at, std::size_t bytes, bool writable) noexcept {
        if (refused(page_call::set_writable)) return false;
        expect_committed(at, bytes, "set_writable");
        return os::pages::set_writable(at, bytes, writable);
    }

    static bool advise_huge(void* at, std::size_t bytes, bool wanted) noexcept {
        if (refused(page_call::advise_huge)) return false;
        find(at, bytes, "advise_huge");
        return os::pages::advise_huge(at, bytes, wanted);
    }

    static void release(void* at, std::size_t bytes) noexcept {
        ++counts[static_cast<std::size_t>(page_call::release)];
        const auto found = ranges.find(at);
        if (found == ranges.end() || found->second.bytes != bytes) {
            ADD_FAILURE() << "release: not a whole reservation";
            return;
        }
        for (const bool committed : found->second.committed) charged_bytes -= committed ? size() : 0;
        os::pages::release(found->second.start, found->second.bytes_of_system);
        ranges.erase(found);
    }

  private:
    struct range {
        std::vector<bool> committed;  // by page, up to the last that ever was
        std::size_t bytes = 0;
        void* start = nullptr;  // what the system gave: more than was asked for, where a unit is larger than its own
        std::size_t bytes_of_system = 0;

        [[nodiscard]] bool is_committed(std::size_t page) const { return page < committed.size() && committed[page]; }
    };
    inline static std::map<void*, range> ranges;

    static bool refused(page_call call) {
        ++counts[static_cast<std::size_t>(call)];
        const std::size_t number = fallible_calls++;
        return number == set.fail_at || (set.fail_on && number > set.fail_at);
    }

    static void* reserve_aligned(std::size_t bytes) {
        const std::size_t own = os::pages::granularity();
        const std::size_t slack = granularity() > own ? granularity() - own : 0;
        void* const start = os::pages::reserve(bytes + slack);
        if (start == nullptr) return nullptr;
        const auto address = reinterpret_cast<std::uintptr_t>(start);
        void* const at = static_cast<char*>(start) + (0 - address) % granularity();
        ranges[at].start = start;
        ranges[at].bytes_of_system = bytes + slack;
        return at;
    }

    // Returns the reservation that holds these pages; reports a failure and returns null if none does.
    static range* find(void* at, std::size_t bytes, const char* call) {
        const auto above = ranges.upper_bound(at);
        if (above == ranges.begin()) {
            ADD_FAILURE() << call << ": " << at << " is in no reservation";
            return nullptr;
        }
        auto& [base, found] = *std::prev(above);
        const auto first = static_cast<std::size_t>(static_cast<char*>(at) - static_cast<char*>(base));
        if (first % size() != 0 || bytes % size() != 0 || bytes == 0 || first > found.bytes ||
            bytes > found.bytes - first) {
            ADD_FAILURE() << call << ": " << bytes << " bytes from " << first << " are no pages of a reservation of "
                          << found.bytes << " bytes";
            return nullptr;
        }
        return &found;
    }

    static std::size_t first_page(void* at) {
        const auto base = std::prev(ranges.upper_bound(at))->first;
        return static_cast<std::size_t>(static_cast<char*>(at) - static_cast<char*>(base)) / size();
    }

    static void mark(range& found, void* at, std::size_t bytes, bool committed) {
        const std::size_t first = first_page(at);
        const std::size_t last = first + bytes / size();
        if (found.committed.size() < last) found.committed.resize(last);
        for (std::size_t page = first; page < last; ++page) {
            if (found.committed[page] == committed)
                ADD_FAILURE() << "page " << page << (committed ? " is committed twice" : " was not committed");
            found.committed[page] = committed;
        }
    }

    static void expect_committed(void* at, std::size_t bytes, const char* call) {
        const range* const found = find(at, bytes, call);
        if (found == nullptr) return;
        const std::size_t first = first_page(at);
        for (std::size_t page = first; page < first + bytes / size(); ++page)
            EXPECT_TRUE(found->is_committed(page)) << call << ": page " << page << " is not committed";
    }
};

}  // namespace millpond::test
