// SPDX-License-Identifier: BSL-1.0
// guarded_block: the layout of a checked block in its memory, and the checks of its contents later.
//
//   │ front guard  64 bytes, or the alignment │ the bytes that were asked for │ back guard  64 bytes or more │
//     B5 B5 B5 …                                A5: new   DB: freed              B5 B5 B5 …
//                                               ▲ record.start
//
// In a block of more than 256 KiB the patterns cover only 32 KiB at each end. The middle is left untouched, because a
// program may reserve more than it ever uses.
// The back guard ends where the memory of the allocator beneath ends, so no byte between two blocks is unguarded.
//
// A changed guard shows an overrun. A freed block is buried under a pattern; a change there is a use after free. A
// block ended by reset, release or rewind is closed: a fingerprint shows a write, and its contents stay, because the
// destructor of a container that lives longer must still find the block that it gives back.
// A write that does not change a byte goes unseen, and so does one that jumps over the guard. Guards, graves and closed
// blocks are poisoned, so that a memory checker reports the access itself.
//
// close: O(bytes); the others: O(bytes that are filled). As thread-safe as the memory they are given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../../core/abi.hpp"
#include "../../core/detail/alignment.hpp"
#include "../../core/detail/sanitizer.hpp"
#include "block_record.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class guarded_block {
  public:
    static constexpr std::size_t back_bytes = 64;  // the usual reach of a loop or type that is too large
    static constexpr std::ptrdiff_t unharmed = static_cast<std::ptrdiff_t>(max_bytes);

    [[nodiscard]] static constexpr std::size_t front_bytes(std::size_t alignment) noexcept {
        return alignment < back_bytes ? back_bytes : alignment;
    }

    // Returns: the size of the whole; 0 if it would overflow.
    [[nodiscard]] static constexpr std::size_t whole_bytes(std::size_t bytes, std::size_t alignment) noexcept {
        if (alignment > max_bytes / 4 || bytes > max_bytes / 2) return 0;
        return front_bytes(alignment) + bytes + back_bytes;
    }

    // Returns: true if the bytes before `block`, which comes from malloc or from here, look like a guard.
    [[nodiscard]] static bool has_guard_in_front(const void* block) noexcept {
        return first_other(static_cast<const char*>(block) - sizeof(void*), sizeof(void*), guard_byte) == sizeof(void*);
    }

    explicit guarded_block(const block_record& record) noexcept
        : start_(record.start),
          bytes_(record.bytes),
          front_bytes_(record.front_bytes),
          back_bytes_(record.back_bytes) {}

    [[nodiscard]] char* whole() const noexcept { return start_ - front_bytes_; }
    [[nodiscard]] std::size_t size() const noexcept { return front_bytes_ + bytes_ + back_bytes_; }

    // Returns: the start of the part that no pattern covers, and its bytes.
    [[nodiscard]] char* middle() const noexcept { return start_ + front_filled(); }
    [[nodiscard]] std::size_t middle_bytes() const noexcept {
        return bytes_ <= filled_bytes_max ? 0 : bytes_ - 2 * end_bytes;
    }

    // Effects: writes guards and the pattern of new memory; only the block may be touched now.
    void set_up() const noexcept {
        unpoison(whole(), size());
        fill(new_byte);
        mend_guards();
        unpoison(start_, bytes_);
    }

    // Effects: overwrites the block and forbids access to it.
    void bury() const noexcept {
        unpoison(start_, bytes_);
        fill(dead_byte);
        poison(start_, bytes_);
    }

    // Effects: forbids access to the block. Returns: its fingerprint.
    [[nodiscard]] std::uint64_t close() const noexcept {
        unpoison_contents(start_, bytes_);
        std::uint64_t sum = bytes_;
        std::size_t at = 0;
        for (; bytes_ - at >= sizeof sum; at += sizeof sum) {
            std::uint64_t word;
            std::memcpy(&word, start_ + at, sizeof word);
            sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
            sum ^= sum >> 29;
        }
        for (; at < bytes_; ++at) sum = (sum ^ static_cast<unsigned char>(start_[at])) * 0x9E3779B97F4A7C15u;
        poison(start_, bytes_);
        return sum;
    }

    // Effects: allows access to everything, before the memory goes back to its source.
    void give_up() const noexcept { unpoison(whole(), size()); }

    // Returns: the place where a guard was written, relative to the block (negative: before it), or unharmed. Mends the
    // guards.
    [[nodiscard]] std::ptrdiff_t harmed_guard() const noexcept {
        unpoison_contents(guard(), guard_bytes());
        unpoison_contents(start_ + bytes_, back_bytes_);
        std::ptrdiff_t harm = unharmed;
        if (const std::size_t at = first_other(start_ + bytes_, back_bytes_, guard_byte); at != back_bytes_) {
            harm = static_cast<std::ptrdiff_t>(bytes_ + at);
        } else if (first_other(guard(), guard_bytes(), guard_byte) != guard_bytes()) {
            harm = -1;  // the harmed byte that is nearest to the block
            while (start_[harm] == static_cast<char>(guard_byte)) --harm;
        }
        mend_guards();
        return harm;
    }

    // Returns: the first byte of a buried block that was written, or unharmed. Buries it again.
    [[nodiscard]] std::ptrdiff_t harmed_grave() const noexcept {
        unpoison_contents(start_, bytes_);
        std::size_t at = first_other(start_, front_filled(), dead_byte);
        if (at == front_filled() && at != bytes_)
            at = bytes_ - end_bytes + first_other(start_ + bytes_ - end_bytes, end_bytes, dead_byte);
        const std::ptrdiff_t harm = at == bytes_ ? unharmed : static_cast<std::ptrdiff_t>(at);
        bury();
        return harm;
    }

    static constexpr unsigned char guard_byte = 0xB5;
    static constexpr unsigned char new_byte = 0xA5;
    static constexpr unsigned char dead_byte = 0xDB;
    static constexpr std::size_t filled_bytes_max = std::size_t{256} << 10;  // largest block that is filled as a whole
    static constexpr std::size_t end_bytes = std::size_t{32} << 10;

    [[nodiscard]] std::size_t front_filled() const noexcept { return bytes_ <= filled_bytes_max ? bytes_ : end_bytes; }

    // Returns the part of the front guard right before the block: with a large alignment the guard is longer.
    [[nodiscard]] std::size_t guard_bytes() const noexcept {
        return front_bytes_ <= end_bytes ? front_bytes_ : end_bytes;
    }
    [[nodiscard]] char* guard() const noexcept { return start_ - guard_bytes(); }

    void fill(unsigned char byte) const noexcept {
        std::memset(start_, byte, front_filled());
        if (bytes_ > filled_bytes_max) std::memset(start_ + bytes_ - end_bytes, byte, end_bytes);
    }

  private:
    void mend_guards() const noexcept {
        std::memset(guard(), guard_byte, guard_bytes());
        std::memset(start_ + bytes_, guard_byte, back_bytes_);
        poison(whole(), front_bytes_);
        poison(start_ + bytes_, back_bytes_);
    }

    // Returns: the index of the first of `size` bytes that is not `byte`, or `size`.
    [[nodiscard]] static std::size_t first_other(const char* bytes, std::size_t size, unsigned char byte) noexcept {
        // All bytes equal the first if each equals its neighbour: the common case, at the speed of memcmp.
        if (size == 0 || (bytes[0] == static_cast<char>(byte) && std::memcmp(bytes, bytes + 1, size - 1) == 0))
            return size;
        std::size_t at = 0;
        while (bytes[at] == static_cast<char>(byte)) ++at;
        return at;
    }

    char* start_;
    std::size_t bytes_;
    std::size_t front_bytes_;
    std::size_t back_bytes_;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
