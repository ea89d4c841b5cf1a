// SPDX-License-Identifier: BSL-1.0
// slot_directory: the windows of a pool in the order of their addresses, found by the number of a frame.
//
//   windows ─▶│ 17 │ 18 │ 40 │▒▒▒▒▒│        a window for every 4 MiB in which a chunk begins (slot_window.hpp)
//                    ▲ near: found last        ▲ open_from: all before are full
//
// The first four windows need no memory of their own, and when only four are left the array goes back. It was allocated
// late, and would lie above chunks that are gone and keep their memory from the system. It begins with 2 KiB, because
// malloc keeps smaller freed blocks as if they were in use.
//
// find: O(1) close to the last one found, else O(log windows). window_for: O(windows) if a new one is not the highest.
// lowest_open: O(1), and O(windows) when low ones have become full. Not thread-safe. Ownership: of the windows; each
// call names the source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "../../core/abi.hpp"
#include "../../core/concepts.hpp"
#include "slot_window.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class slot_directory {
    static constexpr std::size_t few_windows = 4;
    static constexpr std::size_t least_array = 256;

  public:
    slot_directory() = default;
    slot_directory(const slot_directory&) = delete;
    slot_directory& operator=(const slot_directory&) = delete;

    // Returns: the window in which a frame lies, or null.
    [[nodiscard]] slot_window* find(std::uintptr_t frame) noexcept {
        const std::uintptr_t number = slot_window::number_of(frame);
        if (near_ != nullptr && near_->number() == number) [[likely]]
            return near_;
        const std::size_t at = place_of(number);
        if (at == count_ || windows_[at]->number() != number) return nullptr;
        return near_ = windows_[at];
    }

    // Returns: the same, made if it did not exist; or null, and nothing has changed.
    template <block_source Source>
    [[nodiscard]] slot_window* window_for(Source& source, std::uintptr_t frame) noexcept {
        if (slot_window* const known = find(frame)) return known;
        if (count_ == capacity_ && !grow(source)) return nullptr;
        void* const memory = source.try_allocate(sizeof(slot_window), alignof(slot_window));
        if (memory == nullptr) return nullptr;
        const std::uintptr_t number = slot_window::number_of(frame);
        const std::size_t at = place_of(number);
        std::memmove(windows_ + at + 1, windows_ + at, (count_ - at) * sizeof *windows_);
        ++count_;
        windows_[at] = ::new (memory) slot_window(number);
        return near_ = windows_[at];
    }

    // Effects: removes a window without chunks: the one found last, which is not below the first with a free slot.
    template <block_source Source>
    void remove(Source& source, slot_window* gone) noexcept {
        const std::size_t at = place_of(gone->number());
        --count_;
        std::memmove(windows_ + at, windows_ + at + 1, (count_ - at) * sizeof *windows_);
        near_ = nullptr;
        source.deallocate(gone, sizeof(slot_window), alignof(slot_window));
        if (count_ <= few_windows && capacity_ > few_windows) move_in(source);
    }

    // Effects: notes that the chunk that begins in a frame has free slots.
    void open(slot_window& in, std::uintptr_t frame) noexcept {
        in.open(slot_window::place_of(frame));
        const std::size_t at = place_of(in.number());
        if (at < open_from_) open_from_ = at;
    }

    // Returns: the address of the lowest chunk that is not known to be full, or 0.
    [[nodiscard]] std::uintptr_t lowest_open() noexcept {
        for (; open_from_ < count_; ++open_from_) {
            slot_window& window = *windows_[open_from_];
            const std::size_t frame = window.lowest_open();
            if (frame != slot_window::none) return window.start_in(frame);
        }
        return 0;
    }

    // Effects: calls each(address) for every chunk, in the order of addresses.
    template <class Each>
    void for_each(Each each) const {
        for (std::size_t at = 0; at < count_; ++at) {
            for (std::size_t frame = 0; frame < slot_window::frames; ++frame) {
                if (const std::uintptr_t start = windows_[at]->start_in(frame)) each(start);
            }
        }
    }

    // Effects: gives back the windows. The chunks belong to their owner.
    template <block_source Source>
    void release(Source& source) noexcept {
        for (std::size_t at = 0; at < count_; ++at)
            source.deallocate(windows_[at], sizeof(slot_window), alignof(slot_window));
        give_array_back(source);
        forget();
    }

    // Effects: forgets everything, because the source itself has been released.
    void forget() noexcept {
        windows_ = few_;
        near_ = nullptr;
        count_ = open_from_ = 0;
        capacity_ = few_windows;
    }

    [[nodiscard]] std::size_t held_bytes() const noexcept {
        return count_ * sizeof(slot_window) + (windows_ == few_ ? 0 : capacity_ * sizeof *windows_);
    }

  private:
    // Returns: the position of the window of this number, or the one where it would be.
    [[nodiscard]] std::size_t place_of(std::uintptr_t number) const noexcept {
        std::size_t first = 0, last = count_;
        while (first < last) {
            const std::size_t middle = (first + last) / 2;
            if (windows_[middle]->number() < number) {
                first = middle + 1;
            } else {
                last = middle;
            }
        }
        return first;
    }

    template <block_source Source>
    [[nodiscard]] bool grow(Source& source) noexcept {
        const std::size_t capacity = capacity_ == few_windows ? least_array : 2 * capacity_;
        void* const memory = source.try_allocate(capacity * sizeof *windows_, alignof(slot_window*));
        if (memory == nullptr) return false;
        auto** const windows = static_cast<slot_window**>(memory);
        std::memcpy(windows, windows_, count_ * sizeof *windows_);
        give_array_back(source);
        windows_ = windows;
        capacity_ = capacity;
        return true;
    }

    // Effects: moves the few windows that are left into the object, without an array.
    template <block_source Source>
    void move_in(Source& source) noexcept {
        std::memcpy(few_, windows_, count_ * sizeof *windows_);
        give_array_back(source);
        windows_ = few_;
        capacity_ = few_windows;
    }

    template <block_source Source>
    void give_array_back(Source& source) noexcept {
        if (windows_ != few_) source.deallocate(windows_, capacity_ * sizeof *windows_, alignof(slot_window*));
    }

    slot_window* few_[few_windows];
    slot_window** windows_ = few_;
    slot_window* near_ = nullptr;
    std::size_t count_ = 0;
    std::size_t capacity_ = few_windows;
    std::size_t open_from_ = 0;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
