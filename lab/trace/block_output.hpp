// SPDX-License-Identifier: BSL-1.0
// block_output: writes a trace block by block, keeps its index, and lets it appear whole or not at all.
//
//   PATH.XXXXXX: │ block │ block │ … commit(): │ index │ trailer │ ─rename─▶ PATH
//
// Use it wherever a whole trace is made: finish, rebuild_index, tests. Throws std::system_error where the disk refuses;
// whatever is destroyed without commit() leaves no file behind. Memory: one block, and 48 bytes a block. Not
// thread-safe.
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
    // Level at which payloads are compressed: higher ones take longer than they gain (docs/trace_format.md).
    static constexpr int default_level = 3;

    // `mode`: the permissions of PATH. Traces hold command lines, so by default only their owner may read them.
    explicit block_output(std::string path, int level = default_level, unsigned mode = 0600);
    // Goes on with a file that was left behind: PATH + name_end, of which `blocks` are whole.
    block_output(std::string path, const std::string& name_end, const std::vector<block_record>& blocks);
    ~block_output();
    block_output(const block_output&) = delete;
    block_output& operator=(const block_output&) = delete;

    // Called where the disk is full, with the bytes that have been written: true to try again. What has been written is
    // on the disk then.
    using room_maker = std::function<bool(std::uint64_t written_bytes)>;
    void set_room_maker(room_maker make_room) { make_room_ = std::move(make_room); }
    // After a failure the file stays: it is the only place of its blocks.
    void keep() { keep_ = true; }
    // What follows PATH in the name of the file until commit().
    std::string name_end() const { return temporary_.substr(path_.size()); }

    // Writes one block. Of `header` these count: kind, layout, thread, sequence, count, overhead_ticks, first, cpu_ns.
    // The payload is compressed where the codec is mpt_zstd and that makes it smaller.
    void append(mpt_block_header header, std::span<const std::uint8_t> payload, mpt_codec codec = mpt_zstd);

    // Writes a whole block as it stands in another trace.
    void copy(const mpt_block_header& header, std::span<const std::uint8_t> stored);

    // Writes index and trailer, closes, renames. Nothing may follow.
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
    bool keep_ = false;
    room_maker make_room_;
    std::vector<std::uint8_t> pending_, compressed_;
    std::vector<entry> entries_;
    std::unique_ptr<compressor> compressor_;
};

// A header for `append`.
mpt_block_header make_header(mpt_kind kind, std::uint32_t count, std::uint32_t sequence = 0, std::uint64_t first = 0);

// Rewrites the trace with a fresh index: whole blocks are copied as they are, damaged stretches are left out, the
// result is written aside and renamed. Returns what was left out. Throws trace_error (nothing readable),
// std::system_error.
std::vector<damage> rebuild_index(const std::string& path);

}  // namespace millpond::trace
