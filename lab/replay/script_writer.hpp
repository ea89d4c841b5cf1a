// SPDX-License-Identifier: BSL-1.0
// script_writer: writes a script, a block at a time, and its header last (script.hpp).
//
// Use: add() every record in the total order, then finish(), which makes the file appear. O(1) a record; memory: one
// block. Throws failure (status 4) if the file cannot be written. Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "lab/program/aside_file.hpp"
#include "lab/replay/script.hpp"

namespace millpond::replay {

class script_writer {
  public:
    explicit script_writer(const std::string& path);
    script_writer(const script_writer&) = delete;
    script_writer& operator=(const script_writer&) = delete;

    // `time_ns` counts from the first event.
    void add(const record& r, std::uint64_t time_ns) {
        if (buffer_.empty()) block_.time_ns = time_ns;
        buffer_.push_back(r);
        if (buffer_.size() == script_block::records_max) [[unlikely]]
            write_block();
    }

    // `header` needs: flags, slots, threads, the live bytes and objects, the span.
    void finish(script_header header, const std::vector<script_pool>& pools);

    std::uint64_t records() const { return records_ + buffer_.size(); }

  private:
    void write_block();
    void write(const void* data, std::size_t bytes);

    program::aside_file file_;
    script_block block_{};
    std::vector<record> buffer_;
    std::uint64_t records_ = 0, blocks_ = 0, written_ = 0;
};

}  // namespace millpond::replay
