// SPDX-License-Identifier: BSL-1.0
#include "finish.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "block_file.hpp"
#include "block_output.hpp"
#include "columns.hpp"
#include "fields.hpp"
#include "records.hpp"

namespace millpond::trace {

namespace {

class finishing {
  public:
    explicit finishing(const std::string& out) : output_(out) {}

    void take_closed(const std::string& raw);
    void take_open(const std::string& open);
    finish_result complete(const end_record& end);

    bool empty() const { return output_.blocks() == 0; }

  private:
    void take_block(block_file& file, const block_record& block);
    void take_slot(std::span<const std::uint8_t> slot, std::uint64_t offset);
    void take_open_contexts(mpt_block_header header, std::span<const std::uint8_t> room, std::uint64_t offset);
    void put_events(mpt_block_header header, std::span<const std::uint8_t> rows, std::uint64_t offset,
                    const char* where);

    block_output output_;
    damage_list damages_;
    payload_buffer payload_;
    column_splitter splitter_;
    std::set<std::pair<std::uint32_t, std::uint32_t>> closed_;  // (stream, sequence) of the blocks that were written
    std::uint64_t events_ = 0, contexts_ = 0;
};

void finishing::put_events(mpt_block_header header, std::span<const std::uint8_t> rows, std::uint64_t offset,
                           const char* where) {
    const column_splitter::result columns = splitter_.split(rows);
    if (columns.rows_bytes < rows.size())
        damages_.add(offset, std::string(where) + "cannot be decoded behind byte " +
                                 std::to_string(columns.rows_bytes) + " of its payload; the rest was left out");
    if (columns.events == 0) return;
    header.layout = mpt_columns;
    header.count = columns.events;
    output_.append(header, columns.payload);
    events_ += columns.events;
}

void finishing::take_block(block_file& file, const block_record& block) {
    const mpt_block_header& h = block.header;
    std::string what;
    if (h.kind == mpt_end || h.kind == mpt_index) return;
    if (!file.read_payload(block, payload_, what)) {
        damages_.add(block.offset, what);
        return;
    }
    if (h.kind == mpt_contexts) contexts_ = std::max(contexts_, h.first + h.count - 1);
    if (h.kind != mpt_events) return output_.append(h, payload_.bytes());
    closed_.insert({h.thread, h.sequence});
    if (h.layout == mpt_rows) return put_events(h, payload_.bytes(), block.offset, "the block ");
    output_.append(h, payload_.bytes());
    events_ += h.count;
}

void finishing::take_closed(const std::string& raw) {
    std::error_code none;
    if (std::filesystem::file_size(raw, none) == 0 || none) return;
    block_file file(raw);
    std::vector<block_record> blocks;
    try {
        blocks = file.scan(damages_);
    } catch (const trace_error& unreadable) {
        damages_.add(0, unreadable.what());  // the open blocks may still be whole
    }
    for (const block_record& block : blocks) take_block(file, block);
}

void finishing::take_slot(std::span<const std::uint8_t> slot, std::uint64_t offset) {
    mpt_block_header header;
    std::memcpy(&header, slot.data(), sizeof header);
    if (header.magic != static_cast<std::uint32_t>(mpt_magic) || header.stored_bytes == 0) return;
    if (header.kind == mpt_contexts) return take_open_contexts(header, slot.subspan(sizeof header), offset);
    if (header.kind != mpt_events || header.layout != mpt_rows || header.version != mpt_version ||
        header.stored_bytes > std::min<std::size_t>(slot.size() - sizeof header, events_payload_bytes_max)) {
        damages_.add(offset, "the open file's slot has an impossible header; it was left out");
        return;
    }
    // Killed between the write of a full block and its reuse: the raw file has it already.
    if (!closed_.insert({header.thread, header.sequence}).second) return;
    std::memcpy(payload_.resize(header.stored_bytes), slot.data() + sizeof header, header.stored_bytes);
    put_events(header, payload_.bytes(), offset, "the open file's slot ");
}

// The open block of contexts: whole nodes are counted and kept, as events are.
void finishing::take_open_contexts(mpt_block_header header, std::span<const std::uint8_t> room, std::uint64_t offset) {
    if (header.first <= contexts_) return;  // the raw file has it already
    field_cursor nodes(room.first(std::min<std::size_t>(header.stored_bytes, room.size())));
    std::size_t whole = 0;
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
        damages_.add(offset,
                     std::string("the open file's slot of contexts: ") + cut.what() + "; the rest was left out");
    }
    if (header.count == 0) return;
    contexts_ = header.first + header.count - 1;
    output_.append(header, room.first(whole));
}

void finishing::take_open(const std::string& open) {
    std::ifstream file(open, std::ios::binary);
    mpt_open_header header{};
    if (open.empty() || !file.read(reinterpret_cast<char*>(&header), sizeof header)) return;
    if (header.magic != static_cast<std::uint32_t>(mpt_open_magic) || header.version > mpt_version ||
        header.slot_bytes < mpt_header_bytes + mpt_event_bytes_max || header.slot_bytes > payload_bytes_max) {
        damages_.add(0, "the open file has an impossible header; its blocks were left out");
        return;
    }
    std::vector<std::uint8_t> slot(header.slot_bytes);
    file.seekg(mpt_open_header_bytes);
    for (std::uint64_t i = 0; i < header.slots; ++i) {
        if (!file.read(reinterpret_cast<char*>(slot.data()), header.slot_bytes)) break;
        take_slot(slot, mpt_open_header_bytes + i * header.slot_bytes);
    }
}

finish_result finishing::complete(const end_record& end) {
    field_writer payload;
    put_end(end, contexts_, payload);
    output_.append(make_header(mpt_end, 1), payload.bytes());
    output_.commit();
    return {events_, output_.blocks(), output_.bytes(), damages_.all()};
}

}  // namespace

finish_result finish(const std::string& raw, const std::string& open, const std::string& out, const end_record& end) {
    finishing work(out);
    work.take_closed(raw);
    work.take_open(open);
    if (work.empty())
        throw trace_error("nothing was recorded for " + out + ": neither " + raw + " nor its open blocks hold a block");
    return work.complete(end);
}

}  // namespace millpond::trace
