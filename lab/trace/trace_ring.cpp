// SPDX-License-Identifier: BSL-1.0
#include "lab/trace/trace_ring.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>
#include <vector>

#include "lab/trace/block_file.hpp"
#include "lab/trace/live_objects.hpp"
#include "lab/trace/row_decoder.hpp"
#include "lab/trace/seal.h"
#include "lab/trace/writer.h"

namespace millpond::trace {
namespace {

// The events of one stream that are carried over.
struct carried_stream {
    std::vector<row_event> events;  // by time
    std::int32_t last = INT32_MIN;  // the sequence of its last block that is dropped
    std::uint64_t cpu_ns = 0;       // of that block
};

// Writes streams into adjacent slots that belong to the process from the cut on.
class carried_slots {
  public:
    carried_slots(const slot_reader& file, const slot_process& process, std::uint64_t tick, const frame_paths& paths)
        : slot_bytes_(file.header().slot_bytes), process_(process.number), tick_(tick), paths_(paths) {}

    void add(std::uint32_t thread, const carried_stream& stream) {
        const std::size_t first = slots_.size();
        for (const row_event& row : stream.events) put(thread, row);
        close();
        const auto count = static_cast<std::uint32_t>(slots_.size() - first);
        for (std::uint32_t i = 0; i < count; ++i) {
            mpt_block_header* const header = header_of(slots_[first + i]);
            // Below 0, as a signed number, if there are more blocks now.
            header->sequence = static_cast<std::uint32_t>(stream.last) + 1 - count + i;
            header->cpu_ns = stream.cpu_ns;
            mpt_seal_block(header, header->count);
        }
    }

    // Writes the slots, and returns the number of the first one; 0 if that is impossible.
    std::uint64_t write(const slot_reader& file) {
        if (slots_.empty()) open(0, 0);  // only for its head, which has the time of the cut
        const std::uint64_t first = file.claim(slots_.size());
        if (first == 0) return 0;
        reinterpret_cast<mpt_slot*>(slots_.front().data())->cut_slots = slots_.size();
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            // The last slot is whole: where the file ends inside a slot, that slot does not count.
            const std::size_t used =
                std::size_t{mpt_slot_head_bytes} + mpt_header_bytes + header_of(slots_[i])->stored_bytes;
            const std::size_t bytes = i + 1 == slots_.size() ? slot_bytes_ : used;
            if (!file.write((first + i) * slot_bytes_, slots_[i].data(), bytes)) return 0;
        }
        return first;
    }

  private:
    static mpt_block_header* header_of(std::vector<std::uint8_t>& slot) {
        return reinterpret_cast<mpt_block_header*>(slot.data() + mpt_slot_head_bytes);
    }

    void open(std::uint32_t thread, std::uint64_t tick) {
        std::vector<std::uint8_t>& slot = slots_.emplace_back(slot_bytes_);
        const mpt_slot head{mpt_slot_magic, mpt_slot_head_bytes, process_, tick_, tick_, 0, {}};
        std::memcpy(slot.data(), &head, sizeof head);
        mpt_open_block(&writer_, slot.data() + mpt_slot_head_bytes, slot_bytes_ - mpt_slot_head_bytes, thread, 0, tick);
        is_open_ = true;
        told_.clear();
    }
    void close() {
        if (is_open_) header_of(slots_.back())->count = writer_.count;
        is_open_ = false;
    }

    // Tells a part of a stack's frames, as many as fit at once; true if all are told.
    std::uint8_t* put_steps(std::uint8_t* to, const std::vector<std::uint64_t>& frames, std::size_t most) {
        const auto same = static_cast<std::size_t>(
            std::mismatch(told_.begin(), told_.end(), frames.begin(), frames.end()).first - told_.begin());
        const std::size_t entered = std::min(most, frames.size() - same);
        to = mpt_put_steps(to, told_.size() - same, entered);
        told_.assign(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(same + entered));
        for (std::size_t i = same; i < same + entered; ++i) to = mpt_put(to, frames[i]);
        return to;
    }

    void put(std::uint32_t thread, const row_event& row) {
        const event& e = row.what;
        if (is_open_ && mpt_full(&writer_)) close();
        if (!is_open_) open(thread, e.time_ticks);
        const auto op = static_cast<unsigned>(e.op);
        if (e.op == operation::note) return mpt_write_note(&writer_, e.bytes, e.address, e.time_ticks);
        // A realloc is two halves that follow one another: here they may not.
        const unsigned half = op & 1, flags = e.zeroed ? unsigned{mpt_zeroed} : 0u;
        if (half == 0) return mpt_write_free(&writer_, mpt_free, e.address, e.time_ticks, 0);
        if (row.path == 0)
            return mpt_write_allocate(&writer_, mpt_allocate, flags, e.address, e.bytes, e.context, e.alignment_log2,
                                      e.time_ticks, 0);
        const std::vector<std::uint64_t> frames = paths_.frames(row.path);
        while (untold(frames) > mpt_entered_with_event_max) {
            std::uint8_t* const tag = writer_.cursor;
            *tag = mpt_steps;
            mpt_commit(&writer_, put_steps(tag + 1, frames, mpt_entered_max));
            --writer_.count;  // steps are no event
            if (!mpt_full(&writer_)) continue;
            close();
            open(thread, e.time_ticks);
        }
        std::uint8_t* to = mpt_put_stepped_allocate(&writer_, mpt_allocate, flags, e.address, e.bytes, e.alignment_log2,
                                                    e.time_ticks, 0);
        to = put_steps(to, frames, mpt_entered_with_event_max);
        if (e.alignment_log2 != 0) *to++ = e.alignment_log2;
        mpt_commit(&writer_, to);
    }
    std::size_t untold(const std::vector<std::uint64_t>& frames) const {
        const auto same = std::mismatch(told_.begin(), told_.end(), frames.begin(), frames.end()).second;
        return static_cast<std::size_t>(frames.end() - same);
    }

    const std::uint32_t slot_bytes_;
    const std::uint64_t process_, tick_;
    const frame_paths& paths_;
    std::vector<std::vector<std::uint8_t>> slots_;
    mpt_writer writer_{};
    bool is_open_ = false;
    std::vector<std::uint64_t> told_;  // the stack at the cursor of the open block
};

class ring_cutter {
  public:
    ring_cutter(slot_reader& file, slot_process& process, std::uint64_t tick)
        : file_(file), process_(process), tick_(tick) {}

    ring_cut run() {
        if (process_.facts.mapped_ahead != 0) return {};
        const std::vector<slot_block> blocks = file_.blocks(process_);
        const std::uint64_t former = file_.cut_tick(process_);
        const auto is_dropped = [&](const slot_block& b) { return b.closed_tick != 0 && b.closed_tick < tick_; };
        for (const slot_block& block : blocks)
            if (is_dropped(block)) drop(block, former);
        if (!has_older_) return {};
        std::stable_sort(events_.begin(), events_.end(),
                         [](const row_event& a, const row_event& b) { return a.what.time_ticks < b.what.time_ticks; });
        if (!events_.empty())
            for (const slot_block& block : blocks)
                if (!is_dropped(block)) find_contested(block);
        carry();
        return write();
    }

  private:
    void decode(const slot_block& block, const std::function<void(const row_event&)>& visit) {
        mpt_block_header header = block.header;
        header.stored_bytes = std::min(header.stored_bytes, block.room_bytes);
        const bool known = header.version == mpt_version && header.codec == mpt_raw && header.layout == mpt_rows;
        if (!known ||
            !file_.read(block.offset + sizeof header, payload_.resize(header.stored_bytes), header.stored_bytes))
            return;
        if (block.sealed && mpt_checksum(block.header, payload_.bytes().data()) != header.checksum) return;
        decode_rows(header, payload_.bytes(), paths_, visit);
    }

    void drop(const slot_block& block, std::uint64_t former) {
        const std::uint64_t slot = block.offset / file_.header().slot_bytes;
        if (slots_.empty() || slots_.back() != slot) slots_.push_back(slot);
        has_older_ = has_older_ || block.closed_tick != former;  // not only what the former cut has carried over
        carried_stream& stream = streams_[block.header.thread];
        if (const auto number = static_cast<std::int32_t>(block.header.sequence); number >= stream.last) {
            stream.last = number;
            stream.cpu_ns = block.header.cpu_ns;
        }
        decode(block, [&](const row_event& row) { events_.push_back(row); });
    }

    // An address at which a kept block has an event between dropped ones: there, only all events together tell which
    // free ends which block. The window is that of mended hand-offs.
    void find_contested(const slot_block& block) {
        const std::uint64_t last = events_.back().what.time_ticks + live_objects<std::uint32_t>::default_window_ticks;
        if (block.header.kind != mpt_events || block.header.first > last) return;
        decode(block, [&](const row_event& row) {
            const event& e = row.what;
            if (e.op != operation::note && e.time_ticks <= last) contested_[e.address].push_back(e.time_ticks);
        });
    }

    // Returns whether a kept block has an event there between two dropped ones.
    bool is_contested(std::uint64_t address, std::uint64_t first, std::uint64_t last) const {
        constexpr std::uint64_t window = live_objects<std::uint32_t>::default_window_ticks;
        const auto found = contested_.find(address);
        return found != contested_.end() && std::any_of(found->second.begin(), found->second.end(), [&](auto tick) {
                   return tick + window >= first && tick <= last + window;
               });
    }

    void carry() {
        live_objects<std::uint32_t> live;
        std::vector<std::uint32_t> kept;
        std::uint32_t i = 0;
        const auto ended = [&](std::uint32_t begun, std::uint64_t address, moment at, ending how) {
            if (!is_contested(address, events_[begun].what.time_ticks, at.time_ticks)) return;
            kept.push_back(begun);
            if (how == ending::freed && i < events_.size() && events_[i].what.address == address) kept.push_back(i);
        };
        for (; i < events_.size(); ++i) {
            const event& e = events_[i].what;
            const moment now{e.time_ticks, e.thread};
            if (e.op == operation::note)
                take_note(i);
            else if ((static_cast<unsigned>(e.op) & 1) != 0)
                live.begin(e.address, i, now, ended);
            else if (!live.end(e.address, now, ended) && contested_.contains(e.address))
                kept.push_back(i);
        }
        live.settle(ended);
        live.for_each([&](std::uint64_t, std::uint32_t begun) { kept.push_back(begun); });
        kept.insert(kept.end(), phase_.begin(), phase_.end());
        // A mark may be divided between a block that is dropped and the one behind it.
        for (const auto& [thread, notes] : coming_) kept.insert(kept.end(), notes.begin(), notes.end());
        std::sort(kept.begin(), kept.end());
        kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
        for (const std::uint32_t one : kept) streams_[events_[one].what.thread].events.push_back(events_[one]);
        carried_ = kept.size();
    }

    // The last mark of a phase counts.
    void take_note(std::uint32_t i) {
        const event& e = events_[i].what;
        if (e.bytes != mpt_note_name && e.bytes != mpt_note_phase) return;
        std::vector<std::uint32_t>& coming = coming_[e.thread];
        coming.push_back(i);
        if (e.bytes != mpt_note_phase) return;
        phase_ = std::move(coming);
        coming_.erase(e.thread);
    }

    ring_cut write() {
        carried_slots carried(file_, process_, tick_, paths_);
        for (const auto& [thread, stream] : streams_) carried.add(thread, stream);
        const std::uint64_t former = process_.facts.carried, first = carried.write(file_);
        if (first == 0 || !file_.commit_cut(process_, first)) return {};
        if (former != 0) slots_.push_back(former);  // it may have had no event
        const std::uint64_t slot_bytes = file_.header().slot_bytes;
        for (const std::uint64_t slot : slots_) file_.punch(slot * slot_bytes, slot_bytes);
        return {slots_.size(), events_.size(), carried_};
    }

    slot_reader& file_;
    slot_process& process_;
    const std::uint64_t tick_;
    payload_buffer payload_;
    frame_paths paths_;
    bool has_older_ = false;
    std::vector<std::uint64_t> slots_;  // that are dropped
    std::vector<row_event> events_;     // of these
    std::map<std::uint32_t, carried_stream> streams_;
    std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> contested_;  // times of kept events, by address
    std::map<std::uint32_t, std::vector<std::uint32_t>> coming_;  // by stream: marks whose phases have not begun
    std::vector<std::uint32_t> phase_;                            // the notes of the last mark
    std::uint64_t carried_ = 0;
};

}  // namespace

ring_cut drop_before(slot_reader& file, slot_process& process, std::uint64_t tick) {
    return ring_cutter(file, process, tick).run();
}

}  // namespace millpond::trace
