// SPDX-License-Identifier: BSL-1.0
// stepped_reservation: a reservation that one writer fills from the front, committed and populated ahead of it.
//
//   begin ├──── ready(): populated ────┤──── committed(): charged ────┤▒▒▒▒ room(): reserved ▒▒▒▒┤
//                           advance ──▶                     commit ──▶
//
// dyn_array uses it; use it to write another container that grows in place. A page that is populated together with its
// neighbours costs less than one that faults, and a step that fits the cache is still there when it is written: hence
// small steps of memory. Charging memory costs only the system call: hence large steps of charge.
//
// begin() is aligned as requested, also above a page. advance: one or two system calls a step. commit, shrink: at most
// one. All sizes are bytes from begin(). Committed memory is poisoned: unpoison it before you write there. A refused
// commit changes nothing. Not thread-safe. Ownership: of the addresses.
//
// Example:
//     millpond::detail::stepped_reservation<> memory(std::size_t{1} << 30, 64, millpond::commit_steps{});
//     assert(memory.advance(100) && memory.ready() >= 100);
//     millpond::detail::unpoison(memory.begin(), 100);
//     memory.begin()[99] = std::byte{7};
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "../../block/reservation.hpp"
#include "../../core/abi.hpp"
#include "../../core/detail/alignment.hpp"
#include "../../core/detail/sanitizer.hpp"
#include "../commit_steps.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Pages = os::pages>
class stepped_reservation {
  public:
    // Effects: none; room() is 0.
    stepped_reservation() noexcept = default;

    // Effects: reserves `bytes` (at most max_bytes), or half of that and so on, at a multiple of `alignment`. Commits
    // the first step if that is possible.
    stepped_reservation(std::size_t bytes, std::size_t alignment, commit_steps steps) noexcept : steps_(steps) {
        if (steps.huge_pages) alignment = std::max(alignment, huge_page);
#if defined(MILLPOND_CHECKED)
        // Checked mode commits page by page, because uncommitted memory cannot be read by mistake.
        steps_.first = std::min(steps_.first, Pages::size());
        steps_.step = steps_.ahead = Pages::size();
#endif
        range_ = basic_reservation<Pages>(bytes + (alignment > Pages::size() ? alignment - Pages::size() : 0));
        if (range_.data() == nullptr || bytes == 0) return;
        range_.name("dyn_array");
        const std::size_t padding = padding_to(range_.data(), alignment);
        // A halved range may end before the first multiple.
        if (padding < range_.size()) padding_ = padding;
        room_ = padding < range_.size() ? std::min(range_.size() - padding, align_up(bytes, Pages::size())) : 0;
        steps_.step = std::min(steps_.step, room_);
        steps_.ahead = std::min(steps_.ahead, room_);
        if (steps_.huge_pages) advise_huge(true);
        static_cast<void>(advance(std::min(steps_.first, room_)));
    }

    stepped_reservation(stepped_reservation&& other) noexcept
        : range_(std::move(other.range_)),
          padding_(std::exchange(other.padding_, 0)),
          room_(std::exchange(other.room_, 0)),
          ready_(std::exchange(other.ready_, 0)),
          steps_(other.steps_),
          huge_(std::exchange(other.huge_, false)) {}

    stepped_reservation& operator=(stepped_reservation&& other) noexcept {
        stepped_reservation(std::move(other)).swap(*this);
        return *this;
    }

    ~stepped_reservation() = default;

    void swap(stepped_reservation& other) noexcept {
        range_.swap(other.range_);
        std::swap(padding_, other.padding_);
        std::swap(room_, other.room_);
        std::swap(ready_, other.ready_);
        std::swap(steps_, other.steps_);
        std::swap(huge_, other.huge_);
    }

    // Returns: the first byte, or null if there is no room.
    [[nodiscard]] std::byte* begin() const noexcept { return room_ == 0 ? nullptr : range_.data() + padding_; }
    // Returns: the bytes that have addresses.
    [[nodiscard]] std::size_t room() const noexcept { return room_; }
    // Returns: the bytes that can no longer be refused.
    [[nodiscard]] std::size_t committed() const noexcept {
        return range_.committed() > padding_ ? std::min(range_.committed() - padding_, room_) : 0;
    }
    // Returns: the bytes that may be written, for which advance was called.
    [[nodiscard]] std::size_t ready() const noexcept { return ready_; }
    [[nodiscard]] const commit_steps& steps() const noexcept { return steps_; }

    // Effects: commits at least `bytes` and populates nothing. Returns: false if that fails; then nothing has changed.
    [[nodiscard]] bool commit(std::size_t bytes) noexcept {
        if (bytes <= committed()) return true;
        if (bytes > room_) return false;
        const std::size_t before = committed();
        if (!range_.commit_to(padding_ + bytes)) return false;
        poison(begin() + before, committed() - before);
        return true;
    }

    // Effects: makes at least `bytes` ready, and the next step if there is room. Returns: false if that fails; then
    // nothing has changed.
    [[nodiscard]] bool advance(std::size_t bytes) noexcept {
        if (bytes <= ready_) return true;
        if (bytes > room_) return false;
        const std::size_t page = Pages::size();
        std::size_t target = std::min(align_up(std::max(bytes, ready_ + next_step(page)), page), room_);
        if (huge_) target = end_of_huge_page(target);
        if (target > committed() && !commit_ahead(target)) {
            if (!commit(bytes)) return false;
            target = std::min(target, committed());
        }
        range_.populate(padding_ + ready_, padding_ + target);
        ready_ = target;
        return true;
    }

    // Effects: returns the memory behind `bytes`, rounded up to pages, to the system.
    void shrink(std::size_t bytes) noexcept {
        range_.decommit_to(padding_ + bytes);
        ready_ = std::min(ready_, committed());
        // If the system refuses, the memory stays committed.
        if (committed() > bytes) poison(begin() + bytes, committed() - bytes);
    }

    // Effects: asks for huge pages, or for none, from now on; each step is then at least one of them. Returns: false if
    // the system has no such advice.
    bool advise_huge(bool wanted) noexcept {
        if (!range_.advise_huge(wanted)) return false;
        huge_ = wanted;
        return true;
    }

  private:
    static constexpr std::size_t huge_page = std::size_t{2} << 20;

    // Returns: the bytes of the next step. Steps double at first and are then a quarter of the ready bytes, so that
    // little is populated in vain.
    [[nodiscard]] std::size_t next_step(std::size_t page) const noexcept {
        if (huge_) return huge_page;
        const std::size_t least = std::clamp(ready_, page, std::max(page, std::size_t{16} << 10));
        return std::min(std::max(ready_ / 4, least), std::max(page, steps_.step));
    }

    // Returns: the end of the huge page that has the byte in front of `bytes`, or the end of the room.
    [[nodiscard]] std::size_t end_of_huge_page(std::size_t bytes) const noexcept {
        return std::min(bytes + padding_to(begin() + bytes, huge_page), room_);
    }

    // Commits at least `target`, and further ahead if possible. Large commits end at the end of a huge page, because
    // the system supplies those only for whole ranges.
    bool commit_ahead(std::size_t target) noexcept {
        const std::size_t most = std::max({steps_.ahead, steps_.step, huge_ ? 8 * huge_page : 0});
        const std::size_t ahead = committed() + std::min(std::max(committed(), steps_.step), most);
        const std::size_t wanted = std::min(std::max(target, ahead), room_);
        return commit(wanted >= huge_page ? end_of_huge_page(wanted) : wanted) || commit(target);
    }

    basic_reservation<Pages> range_;
    std::size_t padding_ = 0;  // in front of begin()
    std::size_t room_ = 0;
    std::size_t ready_ = 0;
    commit_steps steps_;
    bool huge_ = false;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
