// SPDX-License-Identifier: BSL-1.0
#include "recording.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "lab/trace/records.hpp"
#include "lab/trace/seal.h"

namespace millpond::test {

using trace::event;
using trace::operation;

scratch_folder::scratch_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "millpond-trace-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a folder for the test");
    folder_ = name;
}

scratch_folder::~scratch_folder() { std::filesystem::remove_all(folder_); }

std::vector<std::string> scratch_folder::names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
}

void put_process(const trace::process_record& process, trace::field_writer& to) {
    to.entry(mpt_key_pid, process.pid);
    to.entry(mpt_key_parent, process.parent_pid);
    to.entry(mpt_key_executable, process.executable);
    to.entry(mpt_key_build_id, process.build_id);
    for (const std::string& argument : process.arguments) to.entry(mpt_key_argument, argument);
    to.entry(mpt_key_clock, process.start_ticks, process.start_ns);
    to.entry(mpt_key_provider, process.malloc_provider);
    to.entry(mpt_key_image, process.image);
    to.entry(mpt_key_first_tick, process.first_tick);
    if (process.recording != 0) to.entry(mpt_key_recording, process.recording);
}

void recording::put(mpt_kind kind, std::uint32_t count, std::span<const std::uint8_t> payload, std::uint64_t first) {
    std::vector<std::uint8_t> bytes(mpt_header_bytes + payload.size());
    mpt_block_header header{};
    header.frame_magic = mpt_frame_magic;
    header.magic = mpt_magic;
    header.version = mpt_version;
    header.kind = static_cast<std::uint8_t>(kind);
    header.sequence = sequences_[kind]++;
    header.stored_bytes = static_cast<std::uint32_t>(payload.size());
    header.first = first;
    std::memcpy(bytes.data(), &header, sizeof header);
    if (!payload.empty()) std::memcpy(bytes.data() + sizeof header, payload.data(), payload.size());
    mpt_seal_block(reinterpret_cast<mpt_block_header*>(bytes.data()), count);
    closed_.emplace_back(bytes.begin(), bytes.end());
}

void recording::put_process(const trace::process_record& process) {
    trace::field_writer payload;
    test::put_process(process, payload);
    put(mpt_process, 1, payload.bytes());
}

void recording::put_module(const trace::module_record& module) {
    trace::field_writer payload;
    trace::put_module(module, payload);
    put(mpt_modules, 1, payload.bytes());
}

void recording::put_contexts(std::uint32_t first, std::span<const trace::context_node> nodes) {
    trace::field_writer payload;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) trace::put_context(first + i, nodes[i], payload);
    put(mpt_contexts, static_cast<std::uint32_t>(nodes.size()), payload.bytes(), first);
}

void recording::add(const event& e, bool timed) {
    stream& s = streams_[e.thread];
    if (!s.in_use) {
        s.slot.assign(slot_bytes_, 0);
        mpt_open_block(&s.writer, s.slot.data(), slot_bytes_, e.thread, s.sequence++, e.time_ticks);
        s.in_use = true;
    }
    const std::uint64_t time = timed ? e.time_ticks : 0;
    const auto op = static_cast<unsigned>(e.op);
    if (e.op == operation::note)
        mpt_write_note(&s.writer, e.bytes, e.address, time);
    else if (op & 1)
        mpt_write_allocate(&s.writer, op, e.zeroed ? static_cast<unsigned>(mpt_zeroed) : 0u, e.address, e.bytes,
                           e.context, e.alignment_log2, time, e.duration_ticks);
    else
        mpt_write_free(&s.writer, op, e.address, time, e.duration_ticks);
    if (mpt_full(&s.writer)) close(e.thread);
}

void recording::close(std::uint32_t thread) {
    stream& s = streams_[thread];
    if (!s.in_use) return;
    auto* header = reinterpret_cast<mpt_block_header*>(s.slot.data());
    header->cpu_ns = std::uint64_t{1000} * s.sequence;
    const std::uint32_t bytes = mpt_seal_block(header, s.writer.count);
    closed_.emplace_back(s.slot.begin(), s.slot.begin() + bytes);
    s.in_use = false;
}

void recording::close_all() {
    for (auto& [thread, s] : streams_) close(thread);
}

std::string recording::closed() const {
    std::string bytes;
    for (const std::string& block : closed_) bytes += block;
    return bytes;
}

std::vector<std::string> recording::open_blocks() const {
    std::vector<std::string> blocks;
    for (const auto& [thread, s] : streams_)
        blocks.push_back(s.in_use ? std::string(s.slot.begin(), s.slot.end()) : std::string());
    return blocks;
}

namespace {

bool has_events(const std::string& block) {
    mpt_block_header header;
    std::memcpy(&header, block.data(), sizeof header);
    return header.kind == mpt_events;
}

std::string bytes_of(const auto& object) { return {reinterpret_cast<const char*>(&object), sizeof object}; }

}  // namespace

std::uint32_t recording::file_slot_bytes() const {
    std::size_t largest = slot_bytes_;
    for (const std::string& block : closed_) largest = std::max(largest, block.size());
    return static_cast<std::uint32_t>(largest + 4096);
}

std::uint64_t recording::first_open_slot() const {
    return slot_file().size() - open_blocks().size() * file_slot_bytes();
}

std::string recording::slot_file(const std::vector<std::string>& sealed, const std::vector<std::string>& open) const {
    const std::uint32_t slot_bytes = file_slot_bytes();
    mpt_slot_file header{};
    header.magic = mpt_slot_file_magic;
    header.version = mpt_slot_file_version;
    header.slot_bytes = slot_bytes;
    std::vector<std::string> slots{std::string()};
    const auto add_slot = [&](std::uint32_t first_block, std::string content) {
        slots.push_back(bytes_of(mpt_slot{mpt_slot_magic, first_block, 1, 0, 0, 0, {}}) + std::move(content));
    };
    mpt_slot_process facts{};
    facts.pid = 1;
    std::string notes = bytes_of(facts);
    std::uint32_t notes_begin = sizeof(mpt_slot) + sizeof facts;
    for (const std::string& block : sealed) {
        if (has_events(block)) continue;
        if (sizeof(mpt_slot) + notes.size() + block.size() > slot_bytes) {
            add_slot(notes_begin, std::exchange(notes, {}));
            notes_begin = sizeof(mpt_slot);
        }
        notes += block;
    }
    add_slot(notes_begin, notes);
    for (const std::string& block : sealed)
        if (has_events(block)) add_slot(sizeof(mpt_slot), block);
    for (const std::string& block : open) add_slot(sizeof(mpt_slot), block);
    header.slots = slots.size();
    slots[0] = bytes_of(header);
    std::string file;
    for (std::string& slot : slots) {
        if (slot.size() > slot_bytes) throw std::runtime_error("a block of the test does not fit into its slot");
        slot.resize(slot_bytes);
        file += slot;
    }
    return file;
}

trace::finish_result finish(const std::string& partial, const std::string& out, const trace::end_record& end) {
    const trace::slot_reader from(partial);
    if (from.processes().size() != 1) throw trace::trace_error("not one process");
    return trace::finish(from, from.processes().front(), out, {}, end);
}

std::vector<event> read_all(trace::reader& reader) {
    std::vector<event> events;
    reader.for_each_batch(
        [&](const event* batch, std::size_t count) { events.insert(events.end(), batch, batch + count); });
    return events;
}

std::vector<event> read_all(const std::string& path) {
    trace::reader reader(path);
    return read_all(reader);
}

std::string to_text(const event& e) {
    std::ostringstream text;
    text << "thread " << e.thread << " time " << e.time_ticks << " op " << static_cast<int>(e.op) << " address "
         << e.address << " bytes " << e.bytes << " context " << e.context << " alignment " << int{e.alignment_log2}
         << " zeroed " << e.zeroed << " duration " << e.duration_ticks;
    return text.str();
}

std::vector<std::string> to_text(std::span<const event> events) {
    std::vector<std::string> lines;
    for (const event& e : events) lines.push_back(to_text(e));
    return lines;
}

std::vector<event> in_order(std::vector<event> events) {
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::vector<event>> by_turn;
    for (const event& e : events) by_turn[{e.time_ticks, e.thread}].push_back(e);
    events.clear();
    for (const auto& [turn, together] : by_turn) events.insert(events.end(), together.begin(), together.end());
    return events;
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file) throw std::runtime_error("cannot write " + path);
}

}  // namespace millpond::test
