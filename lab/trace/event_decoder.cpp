// SPDX-License-Identifier: BSL-1.0
#include "event_decoder.hpp"

#include <algorithm>

#include "fields.hpp"

namespace millpond::trace {

bool split_columns(std::span<const std::uint8_t> payload, std::span<const std::uint8_t> (&columns)[column_count]) {
    try {
        field_cursor cursor(payload);
        for (auto& column : columns) {
            const std::string_view bytes = cursor.string();
            column = {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
        }
        return cursor.done();
    } catch (const trace_error&) {
        return false;
    }
}

void event_decoder::open(const mpt_block_header& header, std::span<const std::uint8_t> payload,
                         std::uint64_t contexts) {
    *this = {};
    thread_ = header.thread;
    left_ = header.count;
    time_ = header.first;
    contexts_ = contexts;
    columns_ = header.layout == mpt_columns;
    begin_ = payload.data();
    if (!columns_) {
        at_[0] = begin_;
        end_[0] = begin_ + payload.size();
        return;
    }
    std::span<const std::uint8_t> columns[column_count];
    if (!split_columns(payload, columns)) {
        left_ = 0;
        flaw_ = "the lengths of the block's columns do not add up";
        return;
    }
    for (int i = 0; i < column_count; ++i) {
        at_[i] = columns[i].data();
        end_[i] = at_[i] + columns[i].size();
    }
}

// One loop for both layouts: in rows every field has the same cursor. No event is longer than the padding behind a
// payload, so that a field may be read before it is known to lie inside.
template <bool columns>
std::size_t event_decoder::decode_as(event* to, std::size_t capacity) {
    constexpr auto column = [](event_column which) -> std::size_t { return columns ? which : 0; };
    constexpr std::size_t tags = column(column_tags), addresses = column(column_addresses),
                          sizes = column(column_sizes), contexts = column(column_contexts),
                          times = column(column_times), durations = column(column_durations);
    const std::uint8_t* at[column_count];
    std::copy_n(at_, std::size_t{column_count}, at);
    std::uint64_t time = time_, address = address_, unknown = 0;
    const std::size_t wanted = std::min<std::size_t>(capacity, left_);
    std::size_t done = 0;
    const char* flaw = nullptr;
    for (; done < wanted; ++done) {
        const std::uint8_t* const start = at[tags];
        const unsigned tag = *at[tags]++;
        const unsigned op = tag & mpt_operation_mask;
        if (tag & mpt_has_time) time += take_varint(at[times]);
        event& e = to[done];
        e.duration_ticks = 0;
        if (tag & mpt_has_duration) [[unlikely]]
            e.duration_ticks = static_cast<std::uint32_t>(std::min<std::uint64_t>(take_varint(at[durations]), ~0u));
        e.time_ticks = time;
        e.thread = thread_;
        e.op = static_cast<operation>(op);
        e.bytes = 0;
        e.context = 0;
        e.alignment_log2 = 0;
        e.zeroed = false;
        if (op < mpt_note) [[likely]] {
            const auto delta = static_cast<std::uint64_t>(from_zigzag(take_varint(at[addresses])));
            address += delta << (tag & mpt_byte_address ? 0 : 4);
            e.address = address;
            if (op & 1) {  // allocate, realloc_allocate
                e.bytes = take_varint(at[sizes]);
                const std::uint64_t context = take_varint(at[contexts]);
                const bool known = context < contexts_;
                e.context = known ? static_cast<std::uint32_t>(context) : 0;
                unknown += !known;
                e.zeroed = (tag & mpt_zeroed) != 0;
                if (tag & mpt_has_alignment) [[unlikely]] {
                    e.alignment_log2 = *at[contexts]++;
                    if (e.alignment_log2 > 63) flaw = "an event's alignment is impossible";
                }
            }
        } else if (op == mpt_note) {
            e.bytes = take_varint(at[sizes]);
            e.address = take_varint(at[contexts]);
        } else {
            flaw = "an event's tag is unknown";
        }
        std::ptrdiff_t room = end_[tags] - at[tags];
        if constexpr (columns)  // negative where any is: only the sign is asked for
            room |= (end_[addresses] - at[addresses]) | (end_[sizes] - at[sizes]) | (end_[contexts] - at[contexts]) |
                    (end_[times] - at[times]) | (end_[durations] - at[durations]);
        if (room < 0 || flaw != nullptr) [[unlikely]] {
            if (flaw == nullptr) flaw = "the block's payload ends inside an event";
            at[tags] = start;
            break;
        }
    }
    std::copy_n(at, std::size_t{column_count}, at_);
    flaw_ = flaw;
    time_ = time;
    address_ = address;
    unknown_contexts_ += unknown;
    left_ -= static_cast<std::uint32_t>(done);
    return done;
}

std::size_t event_decoder::decode(event* to, std::size_t capacity) {
    if (flaw_ != nullptr) return 0;
    const std::size_t done = columns_ ? decode_as<true>(to, capacity) : decode_as<false>(to, capacity);
    if (flaw_ == nullptr && left_ == 0) finish_block();
    return done;
}

void event_decoder::finish_block() {
    const std::size_t columns = columns_ ? std::size_t{column_count} : 1;
    if (!std::equal(at_, at_ + columns, end_)) flaw_ = "the block's payload goes on behind its last event";
}

}  // namespace millpond::trace
