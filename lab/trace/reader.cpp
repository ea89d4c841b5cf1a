// SPDX-License-Identifier: BSL-1.0
#include "lab/trace/reader.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "lab/trace/block_file.hpp"
#include "lab/trace/merge.hpp"
#include "lab/trace/records.hpp"

namespace millpond::trace {

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
    std::map<std::uint32_t, std::vector<block_record>> by_thread;
    for (const block_record& block : blocks)
        if (block.header.kind == mpt_events) by_thread[block.header.thread].push_back(block);
    for (auto& [thread, list] : by_thread) {
        std::sort(list.begin(), list.end(), [](const block_record& a, const block_record& b) {
            return std::tie(a.header.sequence, a.offset) < std::tie(b.header.sequence, b.offset);
        });
        stream_record record{thread, 0, list.front().header.first, list.back().header.first, 0};
        std::uint32_t sequence = 0;
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

reader::reader(const std::string& path) : state_(std::make_unique<state>(path)) {
    state_->blocks = state_->file.read_index(state_->damages);
    if (state_->blocks.empty()) state_->blocks = state_->file.scan(state_->damages);
    state_->read_records();
    state_->group_streams();
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
