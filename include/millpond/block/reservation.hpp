// SPDX-License-Identifier: BSL-1.0
// reservation: a range of addresses whose front part is committed, so that its contents never have to move.
//
//   data ├── committed: may be used ──┤▒▒▒▒ reserved: no memory, no access ▒▒▒▒┤ guard page ┤
//        0                   committed()                                  size()
//
// Use it to write a structure that grows in place: region and dyn_array use it. Memory for allocators comes from
// region. The page after the end is never accessible, so a run over the end stops there.
//
// Addresses are plentiful, but not everywhere: if a size does not fit (`ulimit -v`, Valgrind, sanitizers, 32 bits), it
// is halved until it does. size() returns the result. A commit that the system cannot promise returns false and changes
// nothing: there is no signal and no overcommitted page. A forked child has a copy of its own.
// Pages says where the memory comes from: os::pages, os::file_pages or os::numa_pages. The object is kept.
// commit_to, decommit_to: one system call, two if huge pages are advised; O(pages that hold memory) in decommit_to.
// Not thread-safe. Ownership: of the addresses; move-only, and moving it moves no memory.
//
// Example:
//     millpond::reservation range(std::size_t{1} << 30);  // 1 GiB of addresses
//     assert(range.size() > 0 && range.commit_to(100));
//     range.data()[99] = std::byte{7};
//     assert(range.committed() >= 100);
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "../core/abi.hpp"
#include "../core/detail/alignment.hpp"
#include "../core/detail/sanitizer.hpp"
#include "../os/pages.hpp"
#include "detail/known_ranges.hpp"

namespace millpond::inline MILLPOND_ABI {

template <class Pages = os::pages>
class basic_reservation {
  public:
    // Effects: none; size() is 0.
    basic_reservation() noexcept = default;

    // Effects: reserves `wanted` bytes, rounded up to pages; or the largest half, quarter, … of it that is available
    // and leaves a quarter of that to others. size() is 0 if not even a page is available, or none was wanted.
    explicit basic_reservation(std::size_t wanted, Pages source = Pages()) noexcept : pages_(std::move(source)) {
        reserve(wanted);
    }

    // Effects: the same, for a reservation of size() 0.
    void reserve(std::size_t wanted) noexcept {
        if (wanted == 0) return;
        const std::size_t page = Pages::size();
        std::size_t bytes = detail::align_up(wanted < most_wanted ? wanted : most_wanted, page);
        data_ = static_cast<std::byte*>(pages_.reserve(with_guard(bytes)));
        if (data_ == nullptr && detail::known_ranges::release_kept())
            data_ = static_cast<std::byte*>(pages_.reserve(with_guard(bytes)));
        while (data_ == nullptr && bytes > page) {
            bytes = detail::align_up(bytes / 2, page);
            if (leaves_some_to_others(bytes)) data_ = static_cast<std::byte*>(pages_.reserve(with_guard(bytes)));
        }
        if (data_ == nullptr) return;
        size_ = bytes;
        if constexpr (is_known) detail::known_ranges::add(data_, size_, with_guard(size_));
        detail::search_for_pointers(data_, size_);
    }

    basic_reservation(basic_reservation&& other) noexcept
        : pages_(std::move(other.pages_)),
          data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)),
          committed_(std::exchange(other.committed_, 0)),
          huge_(std::exchange(other.huge_, advice::none)) {}

    basic_reservation& operator=(basic_reservation&& other) noexcept {
        basic_reservation(std::move(other)).swap(*this);
        return *this;
    }

    ~basic_reservation() {
        if (data_ == nullptr) return;
        detail::unpoison(data_, committed_);
        detail::search_no_more(data_, size_);
        if constexpr (is_known) {
            detail::known_ranges::release(data_, with_guard(size_));
        } else {
            pages_.release(data_, with_guard(size_));
        }
    }

    void swap(basic_reservation& other) noexcept {
        std::swap(pages_, other.pages_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(committed_, other.committed_);
        std::swap(huge_, other.huge_);
    }

    // Returns: the first byte, or null where nothing is reserved. A multiple of the page size.
    [[nodiscard]] std::byte* data() const noexcept { return data_; }

    // Returns: the bytes reserved, without the guard page.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    // Returns: the number of bytes from data() on that may be used.
    [[nodiscard]] std::size_t committed() const noexcept { return committed_; }

    // Effects: commits `bytes`, rounded up to pages, unless as many are committed; new bytes read as zero. Returns:
    // false if there are not that many addresses, or the system refuses the memory; then nothing has changed.
    [[nodiscard]] bool commit_to(std::size_t bytes) noexcept {
        if (bytes <= committed_) return true;
        if (bytes > size_) return false;
        const std::size_t target = detail::align_up(bytes, Pages::size());
        std::byte* const first = data_ + committed_;
        if (!pages_.commit(first, target - committed_)) return false;
        // A decommitted page has lost the advice.
        if (huge_ != advice::none) pages_.advise_huge(first, target - committed_, huge_ == advice::wanted);
        committed_ = target;
        note_committed();
        return true;
    }

    // Effects: leaves at most `bytes` committed, rounded up to pages, and gives the memory behind back. If the system
    // refuses to lower the charge, the pages are discarded and stay committed.
    void decommit_to(std::size_t bytes) noexcept {
        if (bytes >= committed_) return;
        const std::size_t target = detail::align_up(bytes, Pages::size());
        if (target == committed_) return;
        const std::size_t given_back = committed_ - target;
        detail::unpoison(data_ + target, given_back);
        if (pages_.decommit(data_ + target, given_back)) {
            committed_ = target;
            note_committed();
        } else {
            pages_.discard(data_ + target, given_back);
        }
    }

    // Effects: committed pages that hold any of the bytes [first, last) get their memory now, if the system agrees.
    void populate(std::size_t first, std::size_t last) noexcept {
        if (last > committed_) last = committed_;
        if (first >= last) return;
        const std::size_t page = Pages::size();
        const std::size_t begin = first & ~(page - 1);
        pages_.populate(data_ + begin, detail::align_up(last, page) - begin);
    }

    // Effects: committed pages that lie wholly inside the bytes [first, last) give their memory back; they stay
    // committed and read as zero.
    void discard(std::size_t first, std::size_t last) noexcept {
        if (last > committed_) last = committed_;
        if (first >= last) return;
        const std::size_t page = Pages::size();
        const std::size_t begin = detail::align_up(first, page);
        const std::size_t end = last & ~(page - 1);
        if (begin < end) pages_.discard(data_ + begin, end - begin);
    }

    // Effects: asks the system to use huge pages in this range, or not to, now and for later commits. Returns: false if
    // the system has no such advice, or nothing is reserved.
    bool advise_huge(bool wanted) noexcept {
        if (data_ == nullptr || !pages_.advise_huge(data_, size_, wanted)) return false;
        huge_ = wanted ? advice::wanted : advice::unwanted;
        return true;
    }

    // Effects: makes the committed bytes read-only, or writable again; a write to read-only ones is a fault. Bytes that
    // are committed later are writable. Returns: false if the system refuses.
    [[nodiscard]] bool set_writable(bool writable) noexcept {
        if (committed_ != 0 && !pages_.set_writable(data_, committed_, writable)) return false;
        if constexpr (is_known) detail::known_ranges::note_writable(data_, writable);
        return true;
    }

    // Returns: where the pages come from.
    [[nodiscard]] Pages& page_source() noexcept { return pages_; }
    [[nodiscard]] const Pages& page_source() const noexcept { return pages_; }

    // Effects: in checked mode, reports use this name for the range.
    void name(const char* what) noexcept {
        if constexpr (is_known) detail::known_ranges::name(data_, what);
    }

  private:
    enum class advice : unsigned char { none, wanted, unwanted };

    // No system has more addresses. Rounding it up to pages cannot wrap.
    static constexpr std::size_t most_wanted = detail::max_bytes / 2;

    // In checked mode the ranges are known, so that a fault report can name the one that was hit.
#if defined(MILLPOND_CHECKED)
    static constexpr bool is_known = std::is_same_v<Pages, os::pages>;
#else
    static constexpr bool is_known = false;
#endif

    void note_committed() const noexcept {
        if constexpr (is_known) detail::known_ranges::note_committed(data_, committed_);
    }

    [[nodiscard]] bool leaves_some_to_others(std::size_t bytes) noexcept {
        const std::size_t more = with_guard(bytes + bytes / 4);
        void* const probe = pages_.reserve(more);
        if (probe != nullptr) pages_.release(probe, more);
        return probe != nullptr;
    }

    // Returns: the bytes requested from the system.
    [[nodiscard]] static std::size_t with_guard(std::size_t bytes) noexcept {
        return detail::align_up(bytes + Pages::size(), Pages::granularity());
    }

    [[no_unique_address]] Pages pages_;
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t committed_ = 0;
    advice huge_ = advice::none;
};

using reservation = basic_reservation<>;

}  // namespace millpond::inline MILLPOND_ABI
