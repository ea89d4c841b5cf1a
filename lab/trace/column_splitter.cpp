// SPDX-License-Identifier: BSL-1.0
#include "lab/trace/column_splitter.hpp"

#include <bit>
#include <cstring>

#include "lab/trace/block_file.hpp"
#include "lab/trace/fields.hpp"

namespace millpond::trace {

namespace {

// An event may be read before it is known to lie inside of the rows. In damaged bytes, each of its fields may be as
// long as a varint can be: tag, time, duration, address, size, steps, the frames entered, alignment.
constexpr std::size_t damaged_bytes_max = 1 + (5 + mpt_entered_max) * varint_bytes_max + 1;
static_assert(damaged_bytes_max + varint_bytes_max <= payload_buffer::padding_bytes);

// Copies the varint at `from` and moves both cursors past it.
[[gnu::always_inline]] inline void move_field(const std::uint8_t*& from, std::uint8_t*& to) {
    constexpr std::size_t copied_bytes = 16;  // one move, although a varint is shorter
    const auto length = static_cast<std::size_t>(std::countr_zero(*from | 0x100u)) + 1;
    std::memcpy(to, from, copied_bytes);
    from += length;
    to += length;
}

// Returns false if there are more frames at once than a recorder writes.
[[gnu::always_inline]] inline bool take_steps(const std::uint8_t*& from, stack_follower& follower) {
    const std::uint64_t steps = take_varint(from);
    const unsigned entered = steps & ((1u << mpt_entered_bits) - 1);
    if (entered > mpt_entered_max) return false;
    follower.leave(steps >> mpt_entered_bits);
    for (unsigned i = 0; i < entered; ++i) follower.enter(take_varint(from));
    return true;
}

}  // namespace

// The hot loop: takes events without notes, durations and alignments, as long as they cannot reach the end of the rows.
// Returns the number of events taken; it stops before any other event.
std::uint32_t column_splitter::take_plain(cursors& now, const std::uint8_t* end, stack_follower* follower) {
    constexpr unsigned special = mpt_has_duration | mpt_has_alignment;
    const std::uint8_t* from = now.from;
    std::uint8_t* tags = now.to[column_tags];
    std::uint8_t* addresses = now.to[column_addresses];
    std::uint8_t* sizes = now.to[column_sizes];
    std::uint8_t* contexts = now.to[column_contexts];
    std::uint8_t* times = now.to[column_times];
    while (end - from > mpt_event_bytes_max) {
        const unsigned tag = *from, op = tag & mpt_operation_mask;
        if ((tag & special) != 0 || op == mpt_note || (op > mpt_note && follower == nullptr)) break;
        const std::uint8_t* at = from + 1;
        if (op == mpt_steps) {
            if (tag != mpt_steps || !take_steps(at, *follower)) break;
            from = at;
            continue;
        }
        // Written before the event is known to be whole, and taken after that.
        std::uint8_t *time = times, *address = addresses, *size = sizes;
        if (tag & mpt_has_time) move_field(at, time);
        move_field(at, address);
        if (op & 1) {
            move_field(at, size);
            if (op > mpt_note) {
                if (!take_steps(at, *follower)) break;
                contexts = mpt_put(contexts, follower->context());
            } else {
                move_field(at, contexts);
            }
        }
        *tags++ = static_cast<std::uint8_t>(op > mpt_note ? tag - mpt_stepped : tag);
        times = time;
        addresses = address;
        sizes = size;
        from = at;
    }
    const auto taken = static_cast<std::uint32_t>(tags - now.to[column_tags]);
    now.from = from;
    now.to[column_tags] = tags;
    now.to[column_addresses] = addresses;
    now.to[column_sizes] = sizes;
    now.to[column_contexts] = contexts;
    now.to[column_times] = times;
    return taken;
}

// Takes the next event of the rows, or its steps; false if it is not an event.
inline bool column_splitter::take_event(cursors& now, stack_follower* follower) {
    const unsigned tag = *now.from++, op = tag & mpt_operation_mask;
    const bool stepped = op > mpt_note;
    if (stepped && follower == nullptr) return false;
    if (op == mpt_steps) return tag == mpt_steps && take_steps(now.from, *follower);
    *now.to[column_tags]++ = static_cast<std::uint8_t>(stepped ? tag - mpt_stepped : tag);
    if (tag & mpt_has_time) move_field(now.from, now.to[column_times]);
    if (tag & mpt_has_duration) [[unlikely]]
        move_field(now.from, now.to[column_durations]);
    if (op != mpt_note) move_field(now.from, now.to[column_addresses]);
    if (op != mpt_note && (op & 1) == 0) return true;
    move_field(now.from, now.to[column_sizes]);
    if (stepped) {
        if (!take_steps(now.from, *follower)) return false;
        now.to[column_contexts] = mpt_put(now.to[column_contexts], follower->context());
    } else {
        move_field(now.from, now.to[column_contexts]);
    }
    if (op == mpt_note || (tag & mpt_has_alignment) == 0) return true;
    constexpr unsigned alignment_log2_max = 63;
    const unsigned alignment_log2 = *now.from++;
    *now.to[column_contexts]++ = static_cast<std::uint8_t>(alignment_log2);
    return alignment_log2 <= alignment_log2_max;
}

column_splitter::result column_splitter::split(std::span<const std::uint8_t> rows, stack_follower* follower) {
    cursors now{rows.data(), {}};
    for (int i = 0; i < column_count; ++i) {
        // The number of a context may be a byte longer than its steps, in an event of four bytes at least.
        const std::size_t bytes = rows.size() + (i == column_contexts ? rows.size() / 4 : 0);
        if (columns_[i].size() < bytes + payload_buffer::padding_bytes)
            columns_[i].resize(bytes + payload_buffer::padding_bytes);
        now.to[i] = columns_[i].data();
    }
    if (follower != nullptr) follower->begin_block();
    const std::uint8_t* const end = rows.data() + rows.size();
    std::uint32_t events = 0;
    while (now.from < end) {
        events += take_plain(now, end, follower);
        const cursors before = now;
        if (!take_event(now, follower) || now.from > end) {
            now = before;
            break;
        }
        events += now.to[column_tags] != before.to[column_tags];
    }
    payload_.clear();
    for (int i = 0; i < column_count; ++i) {
        const auto bytes = static_cast<std::size_t>(now.to[i] - columns_[i].data());
        std::uint8_t length[2 * varint_bytes_max];
        payload_.insert(payload_.end(), length, mpt_put(length, bytes));
        payload_.insert(payload_.end(), columns_[i].data(), now.to[i]);
    }
    return {payload_, events, static_cast<std::size_t>(now.from - rows.data())};
}

}  // namespace millpond::trace
