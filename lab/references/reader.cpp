// SPDX-License-Identifier: BSL-1.0
#include "lab/references/reader.hpp"

#include "lab/references/code_table.hpp"
#include "lab/references/decoder.hpp"
#include "lab/references/expansion.h"
#include "lab/trace/block_file.hpp"
#include "lab/trace/wholeness.hpp"

namespace millpond::references {

namespace {

constexpr std::size_t batch_room = 2 * millpond_batch_room_min;

}  // namespace

struct reader::state {
    explicit state(const std::string& path) : trace(path), file(path) {}

    bool open_next_block();
    bool fill_words();
    void leave_out(const trace::block_record& block, const std::string& why);

    trace::reader trace;
    trace::block_file file;
    trace::damage_list damages;
    code_table code;
    std::vector<trace::block_record> blocks;  // blocks of references
    std::size_t next_block = 0;
    bool block_open = false;
    trace::payload_buffer payload;
    decoder words_of;
    const std::uint64_t* at = nullptr;
    const std::uint64_t* end = nullptr;
    millpond_expansion expansion{};
    std::vector<millpond_reference> batch = std::vector<millpond_reference>(batch_room);
};

void reader::state::leave_out(const trace::block_record& block, const std::string& why) {
    damages.add(block.offset, why + "; the rest of this block was left out");
    block_open = false;
    at = end = nullptr;
}

bool reader::state::open_next_block() {
    while (next_block < blocks.size()) {
        const trace::block_record& block = blocks[next_block++];
        std::string what;
        if (!file.read_payload(block, payload, what)) {
            leave_out(block, what);
            continue;
        }
        try {
            words_of.open(payload.bytes(), code.view());
            millpond_set_state(&expansion, words_of.totals().state);
            block_open = true;
            return true;
        } catch (const trace::trace_error& wrong) {
            leave_out(block, wrong.what());
        }
    }
    return false;
}

// Makes sure that there are words to read; false if all are read.
bool reader::state::fill_words() {
    while (at == end) {
        if (!block_open && !open_next_block()) return false;
        try {
            const std::span<const std::uint64_t> words = words_of.next();
            at = words.data();
            end = at + words.size();
            if (words.empty()) block_open = false;
        } catch (const trace::trace_error& wrong) {
            leave_out(blocks[next_block - 1], wrong.what());
        }
    }
    return true;
}

reader::reader(const std::string& path, const reader_options& options) : state_(std::make_unique<state>(path)) {
    for (const trace::damage& known : state_->trace.damages()) state_->damages.add(known.offset, known.what);
    for (const trace::block_record& block : state_->trace.blocks()) {
        if (block.header.kind == mpt_references) state_->blocks.push_back(block);
        if (block.header.kind < mpt_superblocks || block.header.kind == mpt_references) continue;
        std::string what;
        try {
            if (!state_->file.read_payload(block, state_->payload, what)) throw trace::trace_error(what);
            if (block.header.kind == mpt_superblocks) state_->code.take(state_->payload.bytes(), block.header);
        } catch (const trace::trace_error& wrong) {
            state_->damages.add(block.offset, wrong.what());
        }
    }
    if (state_->blocks.empty() && !damages().empty())
        throw trace::trace_error(trace::damage_text(path, damages()) + "; no references are left");
    if (state_->blocks.empty())
        throw trace::trace_error(path + " has no references; 'millpond trace record --with references' captures them");
    state_->expansion.table = &state_->code.view();
    state_->expansion.with_system = options.with_system;
}

reader::~reader() = default;

const trace::reader& reader::trace() const { return state_->trace; }
const millpond_table& reader::code() const { return state_->code.view(); }
const std::vector<trace::damage>& reader::damages() const { return state_->damages.all(); }

bool reader::next(step& to) {
    state& s = *state_;
    millpond_expansion& e = s.expansion;
    to = {};
    if (e.piece_bytes == 0 && !s.fill_words()) return false;
    const std::uint64_t before = e.instructions[0] + e.instructions[1];
    to.thread = e.thread;
    to.in_allocator = e.origin == millpond_of_allocator;
    const std::size_t count = millpond_expand(&e, &s.at, s.end, s.batch.data(), s.batch.size());
    to.references = {s.batch.data(), count};
    to.instructions = e.instructions[0] + e.instructions[1] - before;
    if (s.at == s.end || *s.at >= millpond_first_exit || *s.at == millpond_record_system) return true;
    to.event.record = static_cast<millpond_record>(*s.at);
    const unsigned operands = millpond_operands(*s.at);
    for (unsigned i = 0; i < operands; ++i) to.event.operands[i] = s.at[1 + i];
    millpond_follow(&e, s.at);
    s.at += 1 + operands;
    return true;
}

reference_totals reader::totals() {
    reference_totals sum;
    for (const trace::block_record& block : state_->trace.blocks())
        if (block.header.kind == mpt_superblocks) sum.stored_bytes += sizeof block.header + block.header.stored_bytes;
    trace::payload_buffer payload;
    for (const trace::block_record& block : state_->blocks) {
        std::string what;
        sum.stored_bytes += sizeof block.header + block.header.stored_bytes;
        if (!state_->file.read_payload(block, payload, what)) continue;
        const block_totals of_block = read_totals(payload.bytes());
        sum.references += of_block.references;
        sum.instructions += of_block.instructions;
        sum.words += of_block.words;
    }
    return sum;
}

}  // namespace millpond::references
