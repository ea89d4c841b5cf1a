// SPDX-License-Identifier: BSL-1.0
#include "lab/replay/script_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lab/replay/replay_error.hpp"

namespace millpond::replay {

script_writer::script_writer(const std::string& path)
    : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (file_ < 0) fail();
    buffer_.reserve(script_block::records_max);
    const script_header none{};
    write(&none, sizeof none);
}

script_writer::~script_writer() {
    if (file_ >= 0) ::close(file_);
    if (!finished_) ::unlink(path_.c_str());
}

void script_writer::fail() {
    throw replay_error(replay_error::environment_lacks,
                       "cannot write " + path_ + ": " + std::strerror(errno) + "; choose another place");
}

void script_writer::write(const void* data, std::size_t bytes) {
    const auto* at = static_cast<const char*>(data);
    for (std::size_t left = bytes; left > 0;) {
        const ssize_t done = ::write(file_, at, left);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) fail();
        at += done;
        left -= static_cast<std::size_t>(done);
    }
    written_ += bytes;
}

void script_writer::write_block() {
    if (buffer_.empty()) return;
    block_.count = static_cast<std::uint32_t>(buffer_.size());
    block_.checksum = checksum_of(block_, buffer_.data());
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
    if (::pwrite(file_, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header)) fail();
    if (::close(file_) != 0) {
        file_ = -1;
        fail();
    }
    file_ = -1;
    finished_ = true;
}

}  // namespace millpond::replay
