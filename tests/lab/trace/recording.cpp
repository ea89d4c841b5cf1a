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
    closed_.append(bytes.begin(), bytes.end());
}

void recording::put_process(const trace::process_record& process) {
    trace::field_writer payload;
    trace::put_process(process, payload);
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
    closed_.append(s.slot.begin(), s.slot.begin() + bytes);
    s.in_use = false;
}

void recording::close_all() {
    for (auto& [thread, s] : streams_) close(thread);
}

std::string recording::open() const {
    std::string bytes(mpt_open_header_bytes, '\0');
    const mpt_open_header header{mpt_open_magic, mpt_version, slot_bytes_, static_cast<std::uint32_t>(streams_.size())};
    std::memcpy(bytes.data(), &header, sizeof header);
    for (const auto& [thread, s] : streams_) {
        if (s.in_use)
            bytes.append(s.slot.begin(), s.slot.end());
        else
            bytes.append(slot_bytes_, '\0');
    }
    return bytes;
}

void recording::save(const std::string& raw, const std::string& open_path) const {
    write_file(raw, closed_);
    if (!open_path.empty()) write_file(open_path, open());
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
