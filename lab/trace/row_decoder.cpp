// SPDX-License-Identifier: BSL-1.0
#include "lab/trace/row_decoder.hpp"

#include <algorithm>

#include "lab/trace/fields.hpp"

namespace millpond::trace {

std::uint32_t frame_paths::enter(std::uint32_t caller, std::uint64_t frame) {
    const auto [known, is_new] = numbers_.try_emplace({caller, frame}, static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) nodes_.push_back({caller, frame});
    return known->second;
}

std::vector<std::uint64_t> frame_paths::frames(std::uint32_t path) const {
    std::vector<std::uint64_t> found;
    for (; path != 0; path = nodes_[path].caller) found.push_back(nodes_[path].frame);
    std::reverse(found.begin(), found.end());
    return found;
}

namespace {

// Applies the steps at the cursor to a stack of paths. Returns false if a recorder would not write them.
bool take_steps(field_cursor& cursor, frame_paths& paths, std::vector<std::uint32_t>& stack) {
    const std::uint64_t steps = cursor.number();
    const std::uint64_t entered = steps & ((1u << mpt_entered_bits) - 1);
    if (entered > mpt_entered_max) return false;
    const std::size_t left = static_cast<std::size_t>(std::min<std::uint64_t>(steps >> mpt_entered_bits, stack.size()));
    stack.resize(stack.size() - left);
    for (std::uint64_t i = 0; i < entered; ++i)
        stack.push_back(paths.enter(stack.empty() ? 0 : stack.back(), cursor.number()));
    return true;
}

}  // namespace

void decode_rows(const mpt_block_header& header, std::span<const std::uint8_t> rows, frame_paths& paths,
                 const std::function<void(const row_event&)>& visit) {
    std::vector<std::uint32_t> stack;
    std::uint64_t time = header.first, address = 0;
    field_cursor cursor(rows);
    try {
        while (!cursor.done()) {
            const unsigned tag = cursor.byte(), coded = tag & mpt_operation_mask;
            if (coded == mpt_steps) {
                if (tag != mpt_steps || !take_steps(cursor, paths, stack)) return;
                continue;
            }
            const bool is_stepped = coded > mpt_note;
            const unsigned op = is_stepped ? coded - mpt_stepped : coded;
            row_event row{{time, 0, 0, 0, header.thread, 0, static_cast<operation>(op), 0, false}, 0};
            event& e = row.what;
            if (tag & mpt_has_time) e.time_ticks = time += cursor.number();
            if (tag & mpt_has_duration)
                e.duration_ticks = static_cast<std::uint32_t>(std::min<std::uint64_t>(cursor.number(), ~0u));
            if (op == mpt_note) {
                e.bytes = cursor.number();
                e.address = cursor.number();
            } else {
                address += static_cast<std::uint64_t>(cursor.signed_number()) << (tag & mpt_byte_address ? 0 : 4);
                e.address = address;
            }
            if (op != mpt_note && (op & 1) != 0) {
                e.bytes = cursor.number();
                e.zeroed = (tag & mpt_zeroed) != 0;
                if (!is_stepped)
                    e.context = cursor.small_number();
                else if (!take_steps(cursor, paths, stack))
                    return;
                else
                    row.path = stack.empty() ? 0 : stack.back();
                if (tag & mpt_has_alignment) e.alignment_log2 = static_cast<std::uint8_t>(cursor.byte());
            }
            visit(row);
        }
    } catch (const trace_error& cut) {  // the last event of an open block may be incomplete
    }
}

}  // namespace millpond::trace
