// SPDX-License-Identifier: BSL-1.0
// recording: the files of a recorder, made by a test: sealed blocks, and a slot file with sealed and open blocks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lab/trace/fields.hpp"
#include "lab/trace/finish.hpp"
#include "lab/trace/reader.hpp"
#include "lab/trace/writer.h"

namespace millpond::test {

// A folder that is removed at the end of the test.
class scratch_folder {
  public:
    scratch_folder();
    ~scratch_folder();
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    std::vector<std::string> names() const;

  private:
    std::filesystem::path folder_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);

// Writes the payload of a process block.
void put_process(const trace::process_record& process, trace::field_writer& to);

class recording {
  public:
    explicit recording(std::uint32_t slot_bytes = mpt_slot_bytes) : slot_bytes_(slot_bytes) {}

    // Blocks that are not events; each is one raw block.
    void put(mpt_kind kind, std::uint32_t count, std::span<const std::uint8_t> payload, std::uint64_t first = 0);
    void put_process(const trace::process_record& process);
    void put_module(const trace::module_record& module);
    void put_contexts(std::uint32_t first, std::span<const trace::context_node> nodes);

    // Appends the event to its thread's open block; a full block is closed. An event that is not timed carries the last
    // time of its thread.
    void add(const trace::event& e, bool timed);
    // Closes the open block of a thread, as a recorder does when it is full.
    void close(std::uint32_t thread);
    void close_all();

    // The sealed blocks, one behind the other: a trace without end and index.
    std::string closed() const;
    const std::vector<std::string>& closed_blocks() const { return closed_; }
    // The open blocks, each as long as a slot's room; empty where a thread has none.
    std::vector<std::string> open_blocks() const;

    void save(const std::string& raw) const { write_file(raw, closed()); }
    // The slot file of one process with these blocks.
    std::string slot_file() const { return slot_file(closed_, open_blocks()); }
    std::string slot_file(const std::vector<std::string>& sealed, const std::vector<std::string>& open) const;
    // Returns the offset in slot_file() of the first slot with an open block.
    std::uint64_t first_open_slot() const;
    std::uint32_t file_slot_bytes() const;

  private:
    struct stream {
        std::vector<std::uint8_t> slot;
        mpt_writer writer{};
        std::uint32_t sequence = 0;
        bool in_use = false;
    };

    std::uint32_t slot_bytes_;
    std::vector<std::string> closed_;
    std::map<std::uint32_t, stream> streams_;
    std::map<int, std::uint32_t> sequences_;
};

// Finishes the only process of the slot file at `partial`.
trace::finish_result finish(const std::string& partial, const std::string& out, const trace::end_record& end = {});

// Returns every event of a trace in the order of the reader.
std::vector<trace::event> read_all(trace::reader& reader);
std::vector<trace::event> read_all(const std::string& path);

// Returns one line for an event, so that a failed comparison explains itself.
std::string to_text(const trace::event& e);
std::vector<std::string> to_text(std::span<const trace::event> events);

// Returns the merged order by definition: by time, then by stream; each stream keeps its own order.
std::vector<trace::event> in_order(std::vector<trace::event> events);

}  // namespace millpond::test
