// SPDX-License-Identifier: BSL-1.0
// block_output: writes a trace block by block, and its index. The file appears whole or not at all.
//
//   PATH.XXXXXX: │ block │ block │ … commit(): │ index │ trailer │ ─rename─▶ PATH
//
// Use it wherever a whole trace is made: finish, rebuild_index, tests. Throws std::system_error if writing fails. An
// object destroyed without commit() leaves no file behind. Memory: one block, and 48 bytes a block. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lab/trace/block_file.hpp"
#include "lab/trace/format.h"
#include "lab/trace/reader.hpp"

namespace millpond::trace {

class block_output {
  public:
    // The level at which payloads are compressed: higher ones take longer than they gain
    // (docs/reference/trace_format.md).
    static constexpr int default_level = 3;

    // `mode`: the permissions of PATH. Traces hold command lines, so by default only their owner may read them.
    explicit block_output(std::string path, int level = default_level, unsigned mode = 0600);
    // Continues a file that was left behind: PATH + name_end, whose first `blocks` are whole.
    block_output(std::string path, const std::string& name_end, const std::vector<block_record>& blocks);
    ~block_output();
    block_output(const block_output&) = delete;
    block_output& operator=(const block_output&) = delete;

    // Called if the disk is full, with the number of bytes that have been written (and are on the disk then). Returns
    // true to try again.
    using room_maker = std::function<bool(std::uint64_t written_bytes)>;
    void set_room_maker(room_maker make_room) { make_room_ = std::move(make_room); }
    // Makes all following blocks those of a sampled trace, which older readers refuse.
    void mark_sampled(bool is_ring) { version_ = is_ring ? mpt_version_ring : mpt_version_sampled; }
    // After a failure the file stays, because it may hold the only copy of its blocks.
    void keep() { keep_ = true; }
    // Returns the suffix of the file's name, after PATH, until commit().
    std::string name_end() const { return temporary_.substr(path_.size()); }

    // Writes one block. These fields of `header` are used: kind, layout, thread, sequence, count, overhead_ticks,
    // first, cpu_ns. The payload is compressed if the codec is mpt_zstd and that makes it smaller.
    void append(mpt_block_header header, std::span<const std::uint8_t> payload, mpt_codec codec = mpt_zstd);

    // Writes a whole block, unchanged, from another trace.
    void copy(const mpt_block_header& header, std::span<const std::uint8_t> stored);

    // Writes index and trailer, closes, renames. No call may follow.
    void commit();

    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t blocks() const { return entries_.size(); }

  private:
    struct compressor;
    struct entry {
        std::uint64_t offset, first, cpu_ns;
        std::uint32_t thread, count;
        std::uint8_t kind;
    };

    void write(std::span<const std::uint8_t> bytes);
    void flush();
    [[noreturn]] void fail(const char* what) const;

    std::string path_, temporary_;
    int descriptor_ = -1;
    int level_;
    std::uint64_t bytes_ = 0, written_bytes_ = 0;
    std::uint8_t version_ = mpt_version;  // of the next block: at least that of every block before it
    bool keep_ = false;
    room_maker make_room_;
    std::vector<std::uint8_t> pending_, compressed_;
    std::vector<entry> entries_;
    std::unique_ptr<compressor> compressor_;
};

// Makes a header for `append`.
mpt_block_header make_header(mpt_kind kind, std::uint32_t count, std::uint32_t sequence = 0, std::uint64_t first = 0);

// Rewrites the trace with a fresh index. Whole blocks are copied unchanged, damaged stretches are left out; the result
// is written to a new file, which is renamed. Returns the damages. Throws trace_error (nothing readable),
// std::system_error.
std::vector<damage> rebuild_index(const std::string& path);

}  // namespace millpond::trace
