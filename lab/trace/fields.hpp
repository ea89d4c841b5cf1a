// SPDX-License-Identifier: BSL-1.0
// fields: reads and writes the numbers and strings inside payloads.
// docs/reference/trace_format.md, "Numbers inside payloads", defines them.
//
//   length 1 │xxxxxxx1│   length 3 │xxxxx100│xxxxxxxx│xxxxxxxx│   length 9 │00000000│ 8 bytes of value │
//
// Two readers: take_varint() is for the hot loop, which checks once an event and has padding behind its payload;
// field_cursor checks every step and is for the small payloads (process, modules, contexts, end, index).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "lab/trace/reader.hpp"
#include "lab/trace/writer.h"

namespace millpond::trace {

// The number of bytes that take_varint may touch from its start.
inline constexpr std::size_t varint_bytes_max = 9;

// Reads a prefix varint without a bound: varint_bytes_max bytes from `at` must be readable.
inline std::uint64_t take_varint(const std::uint8_t*& at) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    const unsigned length = static_cast<unsigned>(std::countr_zero(word | 0x100)) + 1;
    if (length > 8) [[unlikely]] {
        std::memcpy(&word, at + 1, 8);
        at += 9;
        return word;
    }
    at += length;
    return (word << (64 - 8 * length)) >> (64 - 7 * length);
}

inline std::int64_t from_zigzag(std::uint64_t coded) {
    return static_cast<std::int64_t>((coded >> 1) ^ (0 - (coded & 1)));
}

// Walks a payload field by field. Throws trace_error if a field runs past the end.
class field_cursor {
  public:
    explicit field_cursor(std::span<const std::uint8_t> bytes)
        : begin_(bytes.data()), at_(begin_), end_(at_ + bytes.size()) {}
    explicit field_cursor(std::string_view bytes)
        : field_cursor(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size())) {}

    bool done() const { return at_ == end_; }
    std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }

    std::uint64_t number() {
        std::uint8_t bytes[2 * 8] = {};
        const auto left = static_cast<std::size_t>(end_ - at_);
        std::memcpy(bytes, at_, left < sizeof bytes ? left : sizeof bytes);
        const std::uint8_t* past = bytes;
        const std::uint64_t value = take_varint(past);
        const auto length = static_cast<std::size_t>(past - bytes);
        if (length > left) throw trace_error("a number runs past the end of its payload");
        at_ += length;
        return value;
    }

    std::int64_t signed_number() { return from_zigzag(number()); }

    std::uint8_t byte() {
        if (done()) throw trace_error("a byte lies past the end of its payload");
        return *at_++;
    }

    std::uint32_t small_number() {
        const std::uint64_t value = number();
        if (value > std::numeric_limits<std::uint32_t>::max()) throw trace_error("a number is too large for its field");
        return static_cast<std::uint32_t>(value);
    }

    std::string_view string() {
        const std::uint64_t length = number();
        if (length > static_cast<std::size_t>(end_ - at_))
            throw trace_error("a string runs past the end of its payload");
        const auto* text = reinterpret_cast<const char*>(at_);
        at_ += length;
        return {text, static_cast<std::size_t>(length)};
    }

  private:
    const std::uint8_t* begin_;
    const std::uint8_t* at_;
    const std::uint8_t* end_;
};

// Builds a payload field by field.
class field_writer {
  public:
    void number(std::uint64_t value) {
        std::uint8_t bytes[2 * 8];
        bytes_.insert(bytes_.end(), bytes, mpt_put(bytes, value));
    }
    void signed_number(std::int64_t value) { number(mpt_zigzag(value)); }
    void string(std::string_view text) {
        number(text.size());
        bytes_.insert(bytes_.end(), text.begin(), text.end());
    }
    // Writes a key and its value for the blocks `process` and `end`: numbers are coded inside a string.
    void entry(std::uint64_t key, std::string_view value) {
        number(key);
        string(value);
    }
    template <typename... Numbers>
        requires(sizeof...(Numbers) > 0 && (std::is_integral_v<Numbers> && ...))
    void entry(std::uint64_t key, Numbers... values) {
        field_writer inner;
        (inner.number(static_cast<std::uint64_t>(values)), ...);
        number(key);
        number(inner.bytes_.size());
        bytes_.insert(bytes_.end(), inner.bytes_.begin(), inner.bytes_.end());
    }

    std::span<const std::uint8_t> bytes() const { return bytes_; }
    void clear() { bytes_.clear(); }

  private:
    std::vector<std::uint8_t> bytes_;
};

}  // namespace millpond::trace
