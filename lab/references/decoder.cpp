// SPDX-License-Identifier: BSL-1.0
#include "lab/references/decoder.hpp"

#include <algorithm>
#include <cstring>

#include "lab/trace/fields.hpp"

namespace millpond::references {

namespace {

block_totals take_totals(trace::field_cursor& from) {
    block_totals totals;
    totals.words = from.number();
    totals.references = from.number();
    totals.instructions = from.number();
    totals.state = from.number();
    return totals;
}

}  // namespace

block_totals read_totals(std::span<const std::uint8_t> payload) {
    trace::field_cursor from(payload);
    return take_totals(from);
}

void decoder::open(std::span<const std::uint8_t> payload, const millpond_table& table) {
    trace::field_cursor from(payload);
    totals_ = take_totals(from);
    std::uint64_t lengths[millpond_columns];
    for (std::uint64_t& length : lengths) length = from.number();
    const std::uint8_t* at = payload.data() + from.offset();
    const std::uint8_t* const end = payload.data() + payload.size();
    for (unsigned i = 0; i < millpond_columns; ++i) {
        if (lengths[i] > static_cast<std::size_t>(end - at))
            throw trace::trace_error("a column of references runs past the end of its block");
        columns_[i] = {at, at + lengths[i]};
        at += lengths[i];
    }
    table_ = &table;
    left_ = totals_.words;
    *prediction_ = {};
    roots_.assign(table.root_count, {});
    prediction_->roots = roots_.data();
    window_.resize(window_words + millpond_record_words_max);
    run_ = take(millpond_runs);
}

std::uint64_t decoder::take(millpond_column name) {
    column& from = columns_[name];
    if (from.at >= from.end) throw trace::trace_error("a column of references ends too early");
    return trace::take_varint(from.at);
}

std::uint32_t decoder::next_word() {
    std::uint32_t* const successor = millpond_successor(prediction_.get());
    if (run_ > 0) {
        --run_;
    } else {
        const std::int64_t jump = trace::from_zigzag(take(millpond_jumps));
        *successor = static_cast<std::uint32_t>(prediction_->latest + static_cast<std::uint64_t>(jump));
        run_ = take(millpond_runs);
    }
    millpond_advance(prediction_.get(), *successor);
    return *successor;
}

std::uint64_t* decoder::put_roots(const millpond_exit& exit, std::uint64_t* to) {
    millpond_prediction& p = *prediction_;
    column& codes = columns_[millpond_codes];
    if (exit.roots > codes.end - codes.at) throw trace::trace_error("the codes of a block of references end too early");
    for (std::uint32_t i = 0; i < exit.roots; ++i) {
        millpond_root_memory& root = p.roots[exit.first_root + i];
        std::uint64_t* const follower = millpond_follower(&p, root.last, exit.first_root + i);
        std::uint64_t value = 0;
        switch (*codes.at++) {
            case millpond_value_strides:
                value = root.last + root.stride;
                break;
            case millpond_value_follows:
                value = *follower;
                break;
            case millpond_value_same:
                value = root.last;
                break;
            case millpond_value_alternates:
                value = root.before;
                break;
            case millpond_value_from_last:
                value = root.last + static_cast<std::uint64_t>(trace::from_zigzag(take(millpond_misses)));
                break;
            case millpond_value_from_neighbour:
                value = p.neighbour + static_cast<std::uint64_t>(trace::from_zigzag(take(millpond_misses)));
                break;
            default:
                throw trace::trace_error("a root has an unknown code");
        }
        millpond_learn(&root, follower, value);
        p.neighbour = value;
        *to++ = value;
    }
    return to;
}

std::uint64_t* decoder::put_operands(std::uint32_t record, std::uint64_t* to) {
    for (unsigned i = 0; i < millpond_operands(record); ++i) {
        std::uint64_t value = take(millpond_operands_column);
        if (i == 0 && millpond_has_address(record)) {
            value = prediction_->address + static_cast<std::uint64_t>(trace::from_zigzag(value));
            prediction_->address = value;
        }
        *to++ = value;
    }
    return to;
}

std::span<const std::uint64_t> decoder::next() {
    std::uint64_t* const begin = window_.data();
    std::uint64_t* to = begin;
    while (to < begin + window_words && left_ > static_cast<std::uint64_t>(to - begin)) {
        const std::uint32_t word = next_word();
        if (word < millpond_first_exit) {
            *to++ = word;
            to = put_operands(word, to);
        } else {
            const std::uint32_t number = millpond_exit_number(word);
            if (number >= table_->exit_count)
                throw trace::trace_error("references name code that the trace does not have");
            *to++ = millpond_exit_word(number, table_->exits[number].roots);
            to = put_roots(table_->exits[number], to);
        }
    }
    const auto words = static_cast<std::uint64_t>(to - begin);
    if (words > left_) throw trace::trace_error("a record runs past the end of its block of references");
    left_ -= words;
    return {begin, to};
}

}  // namespace millpond::references
