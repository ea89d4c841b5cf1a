// SPDX-License-Identifier: BSL-1.0
#include "lab/trace/finish.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "lab/trace/block_output.hpp"
#include "lab/trace/column_splitter.hpp"
#include "lab/trace/fields.hpp"
#include "lab/trace/records.hpp"
#include "lab/trace/seal.h"

namespace millpond::trace {

namespace {

// The finishing pass is a large part of a recording, and compression a large part of that. Level 3 takes half as long
// again and saves a twelfth of the bytes.
constexpr int compression_level = -1;

class trace_finisher {
  public:
    trace_finisher(const slot_reader& from, const slot_process& process, const std::string& out,
                   const trace_identity& identity, bool goes_on)
        : from_(from), process_(process), identity_(identity) {
        const std::string name_end(process.facts.unfinished,
                                   ::strnlen(process.facts.unfinished, sizeof process.facts.unfinished));
        if (name_end.empty() || !go_on_with(out, name_end)) output_.emplace(out, compression_level, identity.mode);
        if (from.header().sample_bytes != 0) output_->mark_sampled(from.cut_tick(process) != 0);
        if (!goes_on) output_->set_room_maker([this](std::uint64_t written_bytes) { return make_room(written_bytes); });
    }

    void take(const slot_block& block);
    finish_result complete(const end_record& end);

    bool empty() const { return output_->blocks() == 0; }

  private:
    void take_events(mpt_block_header header, std::uint64_t offset);
    void take_contexts(mpt_block_header header, std::uint64_t offset, bool sealed);
    void take_process(const mpt_block_header& header);
    void write_new_contexts();

    // Returns whether a block of this kind and number is new: a copied one may still lie in its first slot, too.
    bool is_new(const mpt_block_header& header) {
        return taken_.insert({header.kind, header.thread, header.sequence}).second;
    }

    bool go_on_with(const std::string& out, const std::string& name_end);
    bool make_room(std::uint64_t written_bytes);
    void append(const mpt_block_header& header, std::span<const std::uint8_t> payload);

    // A block that is in the output, and the end of its bytes there.
    struct moved_block {
        std::uint64_t output_end, offset, bytes;
    };

    const slot_reader& from_;
    const slot_process& process_;
    const trace_identity identity_;
    std::optional<block_output> output_;
    const slot_block* current_ = nullptr;
    std::vector<moved_block> moved_;
    std::size_t given_back_ = 0;  // of moved_
    bool tails_given_back_ = false;
    damage_list damages_;
    payload_buffer payload_;
    column_splitter splitter_;
    stack_follower follower_;
    std::uint32_t contexts_sequence_ = 0;  // of the next block of contexts that is made here
    std::set<std::tuple<std::uint8_t, std::uint32_t, std::uint32_t>> taken_;  // (kind, stream, sequence)
    std::uint64_t events_ = 0, contexts_ = 0;
};

// Writes the contexts that the events' steps have introduced, before the events.
void trace_finisher::write_new_contexts() {
    while (true) {
        const stack_follower::new_nodes fresh = follower_.take_new();
        if (fresh.count == 0) return;
        output_->append(make_header(mpt_contexts, fresh.count, contexts_sequence_++, fresh.first), fresh.payload);
        contexts_ = follower_.last();
    }
}

// An earlier pass was interrupted after it had released slots: only its file holds their blocks.
bool trace_finisher::go_on_with(const std::string& out, const std::string& name_end) {
    try {
        block_file earlier(out + name_end);
        const std::vector<block_record> blocks = earlier.scan(damages_);
        for (const block_record& block : blocks) {
            const mpt_block_header& h = block.header;
            is_new(h);
            if (h.kind == mpt_events) events_ += h.count;
            if (h.kind != mpt_contexts) continue;
            contexts_ = std::max(contexts_, h.first + h.count - 1);
            contexts_sequence_ = std::max(contexts_sequence_, h.sequence + 1);
            std::string why;
            if (earlier.read_payload(block, payload_, why)) follower_.learn(h, payload_.bytes());
        }
        output_.emplace(out, name_end, blocks);
        return true;
    } catch (const trace_error& gone) {
        return false;
    }
}

// Before the only copy of a block is released, the slot file records where the block was written.
bool trace_finisher::make_room(std::uint64_t written_bytes) {
    if (!tails_given_back_) {
        tails_given_back_ = true;
        // Slots are taken in ascending order, so no process that still records has come near the spare one.
        if (from_.header().slots < mpt_spare_slot / 2)
            from_.punch(std::uint64_t{mpt_spare_slot} * mpt_slot_bytes, mpt_slot_bytes);
        for (const slot_block& block : from_.blocks(process_))
            if (block.last)
                from_.punch(block.offset + sizeof block.header + block.header.stored_bytes,
                            block.room_bytes - std::min(block.room_bytes, block.header.stored_bytes));
        return true;
    }
    const std::size_t before = given_back_;
    while (given_back_ < moved_.size() && moved_[given_back_].output_end <= written_bytes) ++given_back_;
    if (given_back_ == before || !from_.note_unfinished(process_, output_->name_end())) return false;
    output_->keep();
    for (std::size_t i = before; i < given_back_; ++i) from_.punch(moved_[i].offset, moved_[i].bytes);
    return true;
}

void trace_finisher::append(const mpt_block_header& header, std::span<const std::uint8_t> payload) {
    output_->append(header, payload);
    // The head of the slot is released, too, so that the block is not found again.
    if (current_ != nullptr && current_->alone)
        moved_.push_back({output_->bytes(), current_->offset - sizeof(mpt_slot),
                          sizeof(mpt_slot) + sizeof header + current_->header.stored_bytes});
}

// An open block is taken as far as it can be decoded. A sealed block whose checksum does not match is left out, because
// any of its bytes may be wrong.
void trace_finisher::take(const slot_block& block) {
    mpt_block_header h = block.header;
    current_ = &block;
    const bool decodable = h.kind == mpt_events || h.kind == mpt_contexts;
    if (h.version != mpt_version || h.codec != mpt_raw || h.layout != mpt_rows || (!block.sealed && !decodable)) {
        damages_.add(block.offset, "the slot has an impossible header; it was left out");
        return;
    }
    h.stored_bytes = std::min(h.stored_bytes, block.room_bytes);
    if (h.kind == mpt_events) h.stored_bytes = std::min(h.stored_bytes, events_payload_bytes_max);
    if (!from_.read(block.offset + sizeof h, payload_.resize(h.stored_bytes), h.stored_bytes)) {
        damages_.add(block.offset, "the block's payload cannot be read");
        return;
    }
    if (block.sealed && mpt_checksum(block.header, payload_.bytes().data()) != h.checksum) {
        damages_.add(block.offset, "the block's checksum does not hold; it was left out");
        return;
    }
    if (!is_new(h)) return;
    if (h.kind == mpt_events) return take_events(h, block.offset);
    if (h.kind == mpt_contexts) return take_contexts(h, block.offset, block.sealed);
    if (h.kind == mpt_process) return take_process(h);
    append(h, payload_.bytes());
}

void trace_finisher::take_events(mpt_block_header header, std::uint64_t offset) {
    const column_splitter::result columns = splitter_.split(payload_.bytes(), &follower_);
    if (columns.rows_bytes < payload_.bytes().size())
        damages_.add(offset, "the block cannot be decoded behind byte " + std::to_string(columns.rows_bytes) +
                                 " of its payload; the rest was left out");
    if (columns.events == 0) return;
    write_new_contexts();
    header.layout = mpt_columns;
    header.count = columns.events;
    append(header, columns.payload);
    events_ += columns.events;
}

void trace_finisher::take_contexts(mpt_block_header header, std::uint64_t offset, bool sealed) {
    if (!sealed && header.first <= contexts_) return;
    std::size_t whole = 0;
    field_cursor nodes(payload_.bytes());
    header.count = 0;
    try {
        while (!nodes.done()) {
            nodes.signed_number();
            nodes.number();
            nodes.number();
            whole = nodes.offset();
            ++header.count;
        }
    } catch (const trace_error& cut) {
        if (!sealed)
            damages_.add(offset, std::string("a block of contexts: ") + cut.what() + "; the rest was left out");
    }
    if (header.count == 0) return;
    contexts_ = std::max(contexts_, header.first + header.count - 1);
    contexts_sequence_ = std::max(contexts_sequence_, header.sequence + 1);
    follower_.learn(header, payload_.bytes().first(whole));
    append(header, payload_.bytes().first(whole));
}

void trace_finisher::take_process(const mpt_block_header& header) {
    field_writer known;
    known.entry(mpt_key_image, identity_.image);
    if (identity_.recording != 0) known.entry(mpt_key_recording, identity_.recording);
    if (const std::uint64_t cut = from_.cut_tick(process_); cut != 0) known.entry(mpt_key_cut, cut);
    std::vector<std::uint8_t> payload(payload_.bytes().begin(), payload_.bytes().end());
    payload.insert(payload.end(), known.bytes().begin(), known.bytes().end());
    append(header, payload);
}

finish_result trace_finisher::complete(const end_record& end) {
    field_writer payload;
    put_end(end, contexts_, payload);
    current_ = nullptr;
    append(make_header(mpt_end, 1), payload.bytes());
    output_->commit();
    return {events_, output_->blocks(), output_->bytes(), damages_.all()};
}

}  // namespace

finish_result finish(const slot_reader& from, const slot_process& process, const std::string& out,
                     const trace_identity& identity, const end_record& end, bool goes_on) {
    trace_finisher work(from, process, out, identity, goes_on);
    for (const slot_block& block : from.blocks(process)) work.take(block);
    if (work.empty()) throw trace_error("process " + std::to_string(process.facts.pid) + " has left no block");
    return work.complete(end);
}

}  // namespace millpond::trace
