// SPDX-License-Identifier: BSL-1.0
// recording: what a recorder leaves behind, made by a test: a raw file of closed blocks and an open file of slots.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lab/trace/reader.hpp"
#include "lab/trace/writer.h"

namespace millpond::test {

// A folder that goes with the test.
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

    const std::string& closed() const { return closed_; }
    std::string open() const;
    void save(const std::string& raw, const std::string& open_path = {}) const;

  private:
    struct stream {
        std::vector<std::uint8_t> slot;
        mpt_writer writer{};
        std::uint32_t sequence = 0;
        bool in_use = false;
    };

    std::uint32_t slot_bytes_;
    std::string closed_;
    std::map<std::uint32_t, stream> streams_;
    std::map<int, std::uint32_t> sequences_;
};

// Every event of a trace, as handed out.
std::vector<trace::event> read_all(trace::reader& reader);
std::vector<trace::event> read_all(const std::string& path);

// One line an event, for comparisons that explain themselves.
std::string to_text(const trace::event& e);
std::vector<std::string> to_text(std::span<const trace::event> events);

// The order of a merge, by the definition: by time, then stream, each stream's own order kept.
std::vector<trace::event> in_order(std::vector<trace::event> events);

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);

}  // namespace millpond::test
