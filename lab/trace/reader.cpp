// SPDX-License-Identifier: BSL-1.0
#include "lab/trace/reader.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "lab/trace/block_file.hpp"
#include "lab/trace/event_decoder.hpp"
#include "lab/trace/records.hpp"

namespace millpond::trace {
namespace {

// The merge: every event of a trace in one order by time, each stream's own order kept.
//
//   stream 1 │ block ▸window│ ─┐
//   stream 2 │ block ▸window│ ─┼─▶ heap of next times ─▶ batches
//   stream 3 │ not begun    │ ─┘   (a stretch of one stream goes out as it lies in its window)
//
// Events of equal time are ordered by stream number. Memory: one decoded payload and one window of events for each
// stream that has begun and not ended; a block is read when its first time is due. O(log streams) a stretch.

using event_sink = std::function<void(const event*, std::size_t)>;

constexpr std::size_t window_events = 512;  // of 40 bytes: a window stays in the first-level cache
constexpr std::size_t batch_events = 512;
constexpr std::size_t whole_stretch_events = 64;  // a shorter one is copied into a batch

// One stream: its blocks, and a window of the events of the current one.
class stream_source {
  public:
    stream_source(const std::vector<block_record>& blocks, std::uint64_t contexts)
        : blocks_(&blocks), contexts_(contexts) {}

    bool done() const { return position_ == filled_ && !block_open_ && next_block_ == blocks_->size(); }

    // Returns the time of the next event, or an earlier time: that of its block's first event, so that the block can
    // wait.
    std::uint64_t next_time() const {
        return position_ < filled_ ? window_[position_].time_ticks : (*blocks_)[next_block_].header.first;
    }
    std::uint32_t thread() const { return blocks_->front().header.thread; }

    // Returns the decoded events; empty if a block has to be read first.
    std::span<const event> window() const { return {window_.get() + position_, filled_ - position_}; }

    void advance(std::size_t events, damage_list& damages) {
        position_ += events;
        if (position_ < filled_) return;
        if (block_open_)
            fill(damages);
        else
            release_if_done();
    }

    void read_block(block_file& file, damage_list& damages) {
        const block_record& block = (*blocks_)[next_block_++];
        std::string what;
        if (!file.read_payload(block, payload_, what)) {
            damages.add(block.offset, what + "; " + std::to_string(block.header.count) + " events lost");
            release_if_done();
            return;
        }
        if (window_ == nullptr) window_ = std::make_unique_for_overwrite<event[]>(window_events);
        decoder_.open(block.header, payload_.bytes(), contexts_);
        block_open_ = true;
        fill(damages);
    }

  private:
    void fill(damage_list& damages) {
        position_ = 0;
        filled_ = decoder_.decode(window_.get(), window_events);
        if (filled_ == window_events && decoder_.flaw() == nullptr && decoder_.events_left() > 0) return;
        block_open_ = false;
        const std::uint64_t offset = (*blocks_)[next_block_ - 1].offset;
        if (decoder_.flaw() != nullptr)
            damages.add(offset,
                        std::string(decoder_.flaw()) + "; " + std::to_string(decoder_.events_left()) + " events lost");
        if (decoder_.unknown_contexts() > 0)
            damages.add(offset, std::to_string(decoder_.unknown_contexts()) + " events name contexts that were lost");
        if (filled_ == 0) release_if_done();
    }

    // Frees the memory of a stream that has ended, because a program may start any number of threads.
    void release_if_done() {
        if (!done()) return;
        window_.reset();
        payload_ = {};
        position_ = filled_ = 0;
    }

    const std::vector<block_record>* blocks_;
    std::uint64_t contexts_;
    std::size_t next_block_ = 0, position_ = 0, filled_ = 0;
    bool block_open_ = false;
    payload_buffer payload_;
    event_decoder decoder_;
    std::unique_ptr<event[]> window_;
};

// Collects short stretches, so that the sink is not called for each one.
class batcher {
  public:
    explicit batcher(const event_sink& sink)
        : sink_(sink), batch_(std::make_unique_for_overwrite<event[]>(batch_events)) {}

    void put(std::span<const event> stretch) {
        if (stretch.size() >= whole_stretch_events) {
            flush();
            sink_(stretch.data(), stretch.size());
            return;
        }
        if (filled_ + stretch.size() > batch_events) flush();
        std::copy(stretch.begin(), stretch.end(), batch_.get() + filled_);
        filled_ += stretch.size();
    }

    void flush() {
        if (filled_ > 0) sink_(batch_.get(), filled_);
        filled_ = 0;
    }

  private:
    const event_sink& sink_;
    std::unique_ptr<event[]> batch_;
    std::size_t filled_ = 0;
};

// A stream's place in the order.
struct turn {
    std::uint64_t time;
    std::uint32_t thread;
    std::uint32_t source;
    bool operator<(const turn& other) const { return time != other.time ? time < other.time : thread < other.thread; }
};

void sift_down(std::vector<turn>& heap) {
    const turn moving = heap[0];
    std::size_t at = 0;
    for (std::size_t child = 1; child < heap.size(); child = 2 * at + 1) {
        if (child + 1 < heap.size() && heap[child + 1] < heap[child]) ++child;
        if (!(heap[child] < moving)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

// Returns the number of events of `window` whose turn comes before `other`'s. Within a block time does not go back, so
// the last event decides for all of them.
std::size_t stretch_before(std::span<const event> window, const turn& other) {
    const auto before = [&](const event& e) { return turn{e.time_ticks, e.thread, 0} < other; };
    if (before(window.back())) return window.size();
    std::size_t length = 1;  // the first was chosen
    while (length < window.size() && before(window[length])) ++length;
    return length;
}

// `streams`: the events blocks of each stream, in the stream's order. Contexts from `contexts` on are unknown.
void merge_streams(block_file& file, const std::vector<std::vector<block_record>>& streams, std::uint64_t contexts,
                   damage_list& damages, const event_sink& sink) {
    std::vector<stream_source> sources;
    std::vector<turn> heap;
    sources.reserve(streams.size());
    for (const auto& blocks : streams) {
        sources.emplace_back(blocks, contexts);
        heap.push_back(
            {sources.back().next_time(), sources.back().thread(), static_cast<std::uint32_t>(sources.size() - 1)});
    }
    std::sort(heap.begin(), heap.end());  // a sorted list is a heap
    batcher batch(sink);
    while (!heap.empty()) {
        stream_source& source = sources[heap[0].source];
        const std::span<const event> window = source.window();
        if (window.empty()) {
            source.read_block(file, damages);
        } else {
            const std::size_t rival = heap.size() > 2 && heap[2] < heap[1] ? 2 : 1;
            const std::size_t length = heap.size() == 1 ? window.size() : stretch_before(window, heap[rival]);
            batch.put(window.first(length));
            source.advance(length, damages);
        }
        if (source.done()) {
            heap[0] = heap.back();
            heap.pop_back();
            if (heap.empty()) break;
        } else {
            heap[0].time = source.next_time();
        }
        sift_down(heap);
    }
    batch.flush();
}

}  // namespace

struct reader::state {
    explicit state(const std::string& path) : file(path) {}

    block_file file;
    damage_list damages;
    std::vector<block_record> blocks;
    std::vector<std::vector<block_record>> streams;  // events blocks, by stream, in the stream's order
    std::vector<stream_record> stream_records;
    std::vector<module_record> modules;
    std::vector<context_node> contexts{{0, 0, 0}};
    process_record process;
    std::uint64_t events = 0;

    void read_records();
    void read_record(const block_record& block, const payload_buffer& payload);
    void group_streams();
};

void reader::state::read_record(const block_record& block, const payload_buffer& payload) {
    // A node takes three bytes before compression, and no trace that we know compresses nodes a hundredfold.
    const std::uint64_t contexts_max = std::min<std::uint64_t>(std::uint64_t{1} << 26, 64 * file.size());
    switch (block.header.kind) {
        case mpt_process:
            return take_process(payload.bytes(), process);
        case mpt_modules:
            return take_modules(payload.bytes(), block.header.count, modules);
        case mpt_contexts:
            return take_contexts(payload.bytes(), block.header, contexts_max, contexts);
        case mpt_end:
            return take_end(payload.bytes(), process);
        default:
            return;
    }
}

void reader::state::read_records() {
    payload_buffer payload;
    bool any = false;
    std::erase_if(blocks, [&](const block_record& block) {
        const std::uint8_t kind = block.header.kind;
        if (kind == mpt_events || kind == mpt_index) return kind == mpt_index;
        if (kind > mpt_index) return false;  // for another reader, and perhaps large
        std::string what;
        if (!file.read_payload(block, payload, what)) {
            damages.add(block.offset, what);
            return true;
        }
        any = any || kind == mpt_process;
        try {
            read_record(block, payload);
        } catch (const trace_error& wrong) {
            damages.add(block.offset, wrong.what());
        }
        return false;
    });
    if (!any) damages.add(0, "the trace has no readable process block: the program's name and clock are unknown");
    if (const std::size_t cut = mend_contexts(contexts); cut > 0)
        damages.add(0, std::to_string(cut) + " contexts lost their callers and are cut there");
}

void reader::state::group_streams() {
    const bool is_ring = process.cut_tick != 0;
    std::map<std::uint32_t, std::vector<block_record>> by_thread;
    for (const block_record& block : blocks)
        if (block.header.kind == mpt_events) by_thread[block.header.thread].push_back(block);
    for (auto& [thread, list] : by_thread) {
        std::sort(list.begin(), list.end(), [is_ring](const block_record& a, const block_record& b) {
            const auto number = [is_ring](std::uint32_t of) {
                return is_ring ? std::int64_t{static_cast<std::int32_t>(of)} : std::int64_t{of};
            };
            return std::pair(number(a.header.sequence), a.offset) < std::pair(number(b.header.sequence), b.offset);
        });
        stream_record record{thread, 0, list.front().header.first, list.back().header.first, 0};
        std::uint32_t sequence = is_ring ? list.front().header.sequence : 0;
        for (const block_record& block : list) {
            if (block.header.sequence != sequence)
                damages.add(block.offset, "stream " + std::to_string(thread) + " misses blocks in front of this one");
            sequence = block.header.sequence + 1;
            record.events += block.header.count;
            record.cpu_ns = std::max(record.cpu_ns, block.header.cpu_ns);
        }
        events += record.events;
        stream_records.push_back(record);
        streams.push_back(std::move(list));
    }
}

reader::reader(const std::string& path, sampled_traces sampled) : state_(std::make_unique<state>(path)) {
    state_->blocks = state_->file.read_index(state_->damages);
    const bool has_index = !state_->blocks.empty();
    if (!has_index) state_->blocks = state_->file.scan(state_->damages);
    state_->read_records();
    if (state_->process.sample_bytes != 0 && sampled == sampled_traces::refused)
        throw trace_error(path + " is a sample of the allocations, and this needs every one: record without --sample");
    state_->group_streams();
    // Every finished trace has an index, so without one the file was cut between two blocks.
    if (!has_index && damages().empty())
        state_->damages.add(state_->file.size(), "there is no whole index: the file was cut or changed");
}

reader::~reader() = default;
reader::reader(reader&&) noexcept = default;
reader& reader::operator=(reader&&) noexcept = default;

const process_record& reader::process() const { return state_->process; }
const std::vector<module_record>& reader::modules() const { return state_->modules; }
const std::vector<context_node>& reader::contexts() const { return state_->contexts; }
const std::vector<stream_record>& reader::streams() const { return state_->stream_records; }
const std::vector<block_record>& reader::blocks() const { return state_->blocks; }
std::uint64_t reader::event_count() const { return state_->events; }
const std::vector<damage>& reader::damages() const { return state_->damages.all(); }

double reader::ticks_per_ns() const {
    const process_record& p = state_->process;
    if (p.start_ns == 0 || p.end_ns <= p.start_ns || p.end_ticks <= p.start_ticks) return 1.0;
    return static_cast<double>(p.end_ticks - p.start_ticks) / static_cast<double>(p.end_ns - p.start_ns);
}

void reader::for_each_batch(const std::function<void(const event*, std::size_t)>& sink) {
    merge_streams(state_->file, state_->streams, state_->contexts.size(), state_->damages, sink);
}

}  // namespace millpond::trace
