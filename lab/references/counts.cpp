// SPDX-License-Identifier: BSL-1.0
#include "lab/references/counts.hpp"

#include <algorithm>

#include "lab/trace/block_file.hpp"
#include "lab/trace/fields.hpp"
#include "lab/trace/wholeness.hpp"

namespace millpond::references {
namespace {

const char* word_of(counts& to, std::string_view text) {
    const auto known = std::find(to.words.begin(), to.words.end(), text);
    return (known != to.words.end() ? *known : to.words.emplace_back(text)).c_str();
}

millpond_count take_row(counts& to, trace::field_cursor& from) {
    millpond_count row = {};
    row.metric = word_of(to, from.string());
    row.unit = word_of(to, from.string());
    row.cache_bytes = from.number();
    row.sets = from.number();
    row.ways = from.small_number();
    row.line_bytes = from.small_number();
    row.level = from.small_number();
    row.origin = from.small_number();
    row.subject = from.small_number();
    row.distance = from.number();
    row.value = from.number();
    if (row.origin > millpond_of_system && row.origin != ~std::uint32_t{0})
        throw trace::trace_error("a count is of an origin that does not exist");
    return row;
}

counts take(std::span<const std::uint8_t> payload) {
    trace::field_cursor from(payload);
    counts result;
    result.instructions = from.number();
    for (std::uint64_t& of_kind : result.references) of_kind = from.number();
    result.rules.straddle_twice = from.number() != 0;
    result.rules.modify_twice = from.number() != 0;
    result.rules.bytes_max = from.small_number();
    result.rules.flush_references = from.number();
    result.rules.flush_instructions = from.number();
    while (!from.done()) {
        simulator_counts& one = result.simulators.emplace_back();
        one.description = from.string();
        while (from.number() != 0) one.rows.push_back(take_row(result, from));
    }
    return result;
}

}  // namespace

std::optional<counts> read_counts(const std::string& path, bool accepts_damaged) {
    const trace::reader known(path);
    trace::block_file file(path);
    trace::payload_buffer payload;
    std::optional<counts> result;
    for (const trace::block_record& block : known.blocks()) {
        std::string what;
        if (block.header.kind != mpt_counts) continue;
        try {
            if (!file.read_payload(block, payload, what)) throw trace::trace_error(what);
            result = take(payload.bytes());
        } catch (const trace::trace_error& wrong) {
            throw trace::trace_error(trace::damage_text(path, {{block.offset, wrong.what()}}));
        }
        result->allocator_instructions = block.header.first;
    }
    if (!result) return result;  // the reader of the references checks the damages
    trace::require_whole(path, known.damages(), accepts_damaged);
    result->damages = known.damages();
    result->partial = trace::partial_reason(known.process());
    return result;
}

}  // namespace millpond::references
