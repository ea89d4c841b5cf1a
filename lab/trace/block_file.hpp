// SPDX-License-Identifier: BSL-1.0
// block_file: reads a file as a sequence of blocks: finds them, checks them, and decompresses their payloads.
//
//   offset 0                      ▼ damage: reported, then search for the next header whose checksum holds
//   │ block │ block │ block │ ▒▒▒▒▒▒▒▒▒▒▒▒ │ block │ … │ index │ trailer │
//
// reader, finish and rebuild_index use it and interpret the payloads. Every length in the file is checked before it is
// used. Memory: one payload at a time. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lab/trace/format.h"
#include "lab/trace/reader.hpp"

namespace millpond::trace {

// The size limit of payloads, so that a hostile file cannot make a reader allocate without bounds. No writer exceeds
// it.
inline constexpr std::uint32_t payload_bytes_max = 64u << 20;
inline constexpr std::uint32_t events_payload_bytes_max = 256u << 10;

// The bytes of a payload, with zeroed padding behind them that decoders may read.
class payload_buffer {
  public:
    static constexpr std::size_t padding_bytes = 192;

    // Loses the content.
    std::uint8_t* resize(std::size_t bytes);
    std::span<const std::uint8_t> bytes() const { return {data_.get(), size_}; }

  private:
    std::unique_ptr<std::uint8_t[]> data_;
    std::size_t size_ = 0, capacity_ = 0;
};

// A list of damages with a bounded length: those after the first thousand are not listed.
class damage_list {
  public:
    void add(std::uint64_t offset, std::string what);
    const std::vector<damage>& all() const { return all_; }

  private:
    std::vector<damage> all_;
};

// Reads `bytes` at `offset`; false if the file ends before or cannot be read. Thread-safe.
bool read_at(int descriptor, std::uint64_t offset, void* to, std::size_t bytes) noexcept;

class block_file {
  public:
    // Throws trace_error, also for an empty file.
    explicit block_file(std::string path);
    ~block_file();
    block_file(const block_file&) = delete;
    block_file& operator=(const block_file&) = delete;

    const std::string& path() const { return path_; }
    std::uint64_t size() const { return size_; }
    unsigned permissions() const { return permissions_; }

    // Returns all whole blocks, in the order of the file, each with its checksum verified. Reads the whole file. Throws
    // trace_error if there is no whole block, or for a later version.
    std::vector<block_record> scan(damage_list& damages);

    // The same from the index, without reading the blocks. Empty if there is no whole index.
    std::vector<block_record> read_index(damage_list& damages);

    // Verifies the checksum and decodes the payload. On failure returns false and describes the error in `what`.
    bool read_payload(const block_record& block, payload_buffer& payload, std::string& what);

    // Reads only the first block of the file and its payload; false if it is damaged.
    bool read_first(block_record& block, payload_buffer& payload);

    // Reads the payload as stored, and verifies its checksum.
    bool read_stored(const block_record& block, payload_buffer& stored, std::string& what);

  private:
    struct decompressor;

    bool read(std::uint64_t offset, void* to, std::size_t bytes) const;
    // Returns null, or the error in the header at `offset`.
    const char* read_header(std::uint64_t offset, mpt_block_header& header) const;
    bool whole_block(std::uint64_t offset, block_record& block, std::string& what);
    std::uint64_t find_block(std::uint64_t from, block_record& block);
    bool is_trailer(std::uint64_t offset, std::uint64_t& index_offset) const;
    [[noreturn]] void refuse_unreadable() const;

    std::string path_;
    int descriptor_ = -1;
    std::uint64_t size_ = 0;
    unsigned permissions_ = 0;
    std::uint64_t search_budget_bytes_ = 0;
    payload_buffer stored_;
    std::unique_ptr<decompressor> decompressor_;
};

}  // namespace millpond::trace
