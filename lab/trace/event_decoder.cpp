// SPDX-License-Identifier: BSL-1.0
#include "lab/trace/event_decoder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "lab/trace/block_file.hpp"
#include "lab/trace/fields.hpp"

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
    now_.time = header.first;
    contexts_ = contexts;
    columns_ = header.layout == mpt_columns;
    if (!columns_) {
        now_.at[0] = payload.data();
        end_[0] = payload.data() + payload.size();
        return;
    }
    std::span<const std::uint8_t> columns[column_count];
    if (!split_columns(payload, columns)) {
        left_ = 0;
        flaw_ = "the lengths of the block's columns do not add up";
        return;
    }
    for (int i = 0; i < column_count; ++i) {
        now_.at[i] = columns[i].data();
        end_[i] = now_.at[i] + columns[i].size();
    }
}

// Decodes any event and checks every bound after it; in rows all fields have the same cursor. No event is longer than
// the padding behind a payload, so a field may be read before it is known to lie inside. Returns false at an error,
// with nothing taken.
template <bool Columns>
inline bool event_decoder::take_event(cursors& now, event& e) {
    constexpr auto column = [](event_column which) -> std::size_t { return Columns ? which : 0; };
    constexpr std::size_t tags = column(column_tags), addresses = column(column_addresses),
                          sizes = column(column_sizes), contexts = column(column_contexts),
                          times = column(column_times), durations = column(column_durations);
    const cursors before = now;
    auto& at = now.at;
    const unsigned tag = *at[tags]++, op = tag & mpt_operation_mask;
    if (tag & mpt_has_time) now.time += take_varint(at[times]);
    e = {now.time, 0, 0, 0, thread_, 0, static_cast<operation>(op), 0, false};
    if (tag & mpt_has_duration) [[unlikely]]
        e.duration_ticks = static_cast<std::uint32_t>(std::min<std::uint64_t>(take_varint(at[durations]), ~0u));
    if (op < mpt_note) [[likely]] {
        const auto delta = static_cast<std::uint64_t>(from_zigzag(take_varint(at[addresses])));
        now.address += delta << (tag & mpt_byte_address ? 0 : 4);
        e.address = now.address;
        if (op & 1) {  // allocate, realloc_allocate
            e.bytes = take_varint(at[sizes]);
            e.context = known_context(take_varint(at[contexts]));
            e.zeroed = (tag & mpt_zeroed) != 0;
            if (tag & mpt_has_alignment) [[unlikely]] {
                e.alignment_log2 = *at[contexts]++;
                if (e.alignment_log2 > 63) flaw_ = "an event's alignment is impossible";
            }
        }
    } else if (op == mpt_note) {
        e.bytes = take_varint(at[sizes]);
        e.address = take_varint(at[contexts]);
    } else {
        flaw_ = "an event's tag is unknown";
    }
    std::ptrdiff_t room = end_[tags] - at[tags];
    if constexpr (Columns)  // negative if any is: only the sign matters
        room |= (end_[addresses] - at[addresses]) | (end_[sizes] - at[sizes]) | (end_[contexts] - at[contexts]) |
                (end_[times] - at[times]) | (end_[durations] - at[durations]);
    if (room >= 0 && flaw_ == nullptr) [[likely]]
        return true;
    if (flaw_ == nullptr) flaw_ = "the block's payload ends inside an event";
    now = before;
    return false;
}

template <bool Columns>
std::size_t event_decoder::decode_as(event* to, std::size_t wanted) {
    cursors now = now_;
    std::size_t done = 0;
    while (done < wanted) {
        if constexpr (Columns) {
            done += take_plain(now, to + done, wanted - done);
            if (done == wanted) break;
        }
        if (!take_event<Columns>(now, to[done])) break;
        ++done;
    }
    now_ = now;
    return done;
}

// The hot loop of columns: events without notes, durations and alignments, as long as no column can end. Whether an
// event allocates cannot be predicted. So size and context are always decoded, and their cursors moved only if it does.
std::size_t event_decoder::take_plain(cursors& now, event* to, std::size_t wanted) {
    constexpr unsigned special = unsigned{mpt_note} | mpt_has_duration | mpt_has_alignment;
    const auto room = [&](event_column which) { return static_cast<std::size_t>(end_[which] - now.at[which]); };
    const std::size_t fields = std::min({room(column_addresses), room(column_sizes), room(column_contexts)});
    const std::size_t safe = std::min({wanted, room(column_tags), fields / varint_bytes_max});
    const std::uint8_t* tags = now.at[column_tags];
    const std::uint8_t* addresses = now.at[column_addresses];
    const std::uint8_t* sizes = now.at[column_sizes];
    const std::uint8_t* contexts = now.at[column_contexts];
    const std::uint8_t* times = now.at[column_times];
    const std::uint8_t* const times_end = end_[column_times];
    std::uint64_t time = now.time, address = now.address, unknown = 0;
    const std::uint64_t known_contexts = contexts_;  // copies: the events that are written might alias the members
    const std::uint32_t thread = thread_;
    std::size_t done = 0;
    for (; done < safe; ++done) {
        const unsigned tag = *tags;
        if (tag & special) [[unlikely]]
            break;
        if (tag & mpt_has_time) {
            if (times_end - times < static_cast<std::ptrdiff_t>(varint_bytes_max)) [[unlikely]]
                break;
            time += take_varint(times);
        }
        ++tags;
        const auto delta = static_cast<std::uint64_t>(from_zigzag(take_varint(addresses)));
        address += delta << (tag & mpt_byte_address ? 0 : 4);
        const std::uint64_t allocates = 0 - static_cast<std::uint64_t>(tag & 1);
        const std::uint8_t *size_end = sizes, *context_end = contexts;
        const std::uint64_t bytes = take_varint(size_end) & allocates;
        const std::uint64_t context = take_varint(context_end) & allocates;
        sizes += static_cast<std::uint64_t>(size_end - sizes) & allocates;
        contexts += static_cast<std::uint64_t>(context_end - contexts) & allocates;
        const bool known = context < known_contexts;
        unknown += !known;
        to[done] = {time,
                    address,
                    bytes,
                    known ? static_cast<std::uint32_t>(context) : 0,
                    thread,
                    0,
                    static_cast<operation>(tag & mpt_operation_mask),
                    0,
                    (tag & allocates & mpt_zeroed) != 0};
    }
    unknown_contexts_ += unknown;
    now = {{tags, addresses, sizes, contexts, times, now.at[column_durations]}, time, address};
    return done;
}

std::size_t event_decoder::decode(event* to, std::size_t capacity) {
    if (flaw_ != nullptr) return 0;
    const std::size_t wanted = std::min<std::size_t>(capacity, left_);
    const std::size_t done = columns_ ? decode_as<true>(to, wanted) : decode_as<false>(to, wanted);
    left_ -= static_cast<std::uint32_t>(done);
    const std::size_t columns = columns_ ? std::size_t{column_count} : 1;
    if (flaw_ == nullptr && left_ == 0 && !std::equal(end_, end_ + columns, now_.at))
        flaw_ = "the block's payload continues after its last event";
    return done;
}

}  // namespace millpond::trace
