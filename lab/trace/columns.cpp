// SPDX-License-Identifier: BSL-1.0
#include "lab/trace/columns.hpp"

#include <bit>
#include <cstring>

#include "lab/trace/fields.hpp"

namespace millpond::trace {

namespace {

std::size_t field_bytes(const std::uint8_t* field) {
    return static_cast<std::size_t>(std::countr_zero(*field | 0x100u)) + 1;
}

// Copies the varint at `from` and moves both cursors past it.
void move_field(const std::uint8_t*& from, std::uint8_t*& to) {
    const std::size_t length = field_bytes(from);
    std::memcpy(to, from, 8);
    to[8] = from[8];
    from += length;
    to += length;
}

}  // namespace

column_splitter::result column_splitter::split(std::span<const std::uint8_t> rows) {
    std::uint8_t* to[column_count];
    for (int i = 0; i < column_count; ++i) {
        columns_[i].resize(rows.size() + payload_buffer::padding_bytes);
        to[i] = columns_[i].data();
    }
    const std::uint8_t* at = rows.data();
    const std::uint8_t* const end = at + rows.size();
    std::uint32_t events = 0;
    while (at < end) {
        const std::uint8_t* const start = at;
        std::uint8_t* before[column_count];
        std::memcpy(before, to, sizeof to);
        const unsigned tag = *at++, op = tag & mpt_operation_mask;
        *to[column_tags]++ = static_cast<std::uint8_t>(tag);
        if (tag & mpt_has_time) move_field(at, to[column_times]);
        if (tag & mpt_has_duration) move_field(at, to[column_durations]);
        if (op < mpt_note) move_field(at, to[column_addresses]);
        bool impossible = op > mpt_note;
        if (op == mpt_note || (op & 1)) {
            move_field(at, to[column_sizes]);
            move_field(at, to[column_contexts]);
        }
        if (op < mpt_note && (op & 1) && (tag & mpt_has_alignment)) {
            impossible = impossible || *at > 63;
            *to[column_contexts]++ = *at++;
        }
        if (impossible || at > end) {
            at = start;
            std::memcpy(to, before, sizeof to);
            break;
        }
        ++events;
    }
    field_writer lengths;
    payload_.clear();
    for (int i = 0; i < column_count; ++i) {
        const auto bytes = static_cast<std::size_t>(to[i] - columns_[i].data());
        lengths.clear();
        lengths.number(bytes);
        payload_.insert(payload_.end(), lengths.bytes().begin(), lengths.bytes().end());
        payload_.insert(payload_.end(), columns_[i].data(), to[i]);
    }
    return {payload_, events, static_cast<std::size_t>(at - rows.data())};
}

}  // namespace millpond::trace
