// SPDX-License-Identifier: BSL-1.0
#include "lab/replay/script_writer.hpp"

#include <cstddef>
#include <string>

namespace millpond::replay {

script_writer::script_writer(const std::string& path) : file_(path) {
    buffer_.reserve(script_block::records_max);
    const script_header none{};
    write(&none, sizeof none);
}

void script_writer::write(const void* data, std::size_t bytes) {
    file_.write({static_cast<const char*>(data), bytes});
    written_ += bytes;
}

void script_writer::write_block() {
    if (buffer_.empty()) return;
    block_.count = static_cast<std::uint32_t>(buffer_.size());
    block_.checksum = checksum_of(block_, buffer_.data(), blocks_);
    write(&block_, sizeof block_);
    write(buffer_.data(), buffer_.size() * sizeof(record));
    records_ += buffer_.size();
    ++blocks_;
    buffer_.clear();
}

void script_writer::finish(script_header header, const std::vector<script_pool>& pools) {
    write_block();
    header.magic = script_header::magic_value;
    header.version = script_header::version_value;
    header.build = sizeof(record) << 16 | sizeof(script_header);
    header.records = records_;
    header.blocks = blocks_;
    header.pools = static_cast<std::uint32_t>(pools.size());
    header.pools_at = written_;
    header.pools_checksum = checksum(pools.data(), pools.size() * sizeof(script_pool));
    header.checksum = checksum(&header, offsetof(script_header, checksum));
    write(pools.data(), pools.size() * sizeof(script_pool));
    file_.write_at(0, {reinterpret_cast<const char*>(&header), sizeof header});
    file_.commit();
}

}  // namespace millpond::replay
