// SPDX-License-Identifier: BSL-1.0
#include "lab/replay/script_source.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "lab/program/program.hpp"
#include "lab/program/regular_file.hpp"

namespace millpond::replay {
namespace {

int open_script(const char* path) {
    try {
        return program::open_regular(path);
    } catch (const program::failure& error) {
        throw program::failure(program::input, std::string("the script ") + error.what() +
                                                   "; millpond-replay --prepare TRACE -o SCRIPT makes one");
    }
}

}  // namespace

script_source::script_source(const char* path) : path_(path), file_(open_script(path)) {
    struct stat about;
    if (::fstat(file_, &about) != 0 || static_cast<std::size_t>(about.st_size) < sizeof header_)
        damaged("it is too short to be a script");
    read(&header_, sizeof header_);
    if (header_.magic != script_header::magic_value)
        damaged("it is not a script; millpond-replay --prepare TRACE -o SCRIPT makes one");
    if (header_.version != script_header::version_value || header_.build != (sizeof(record) << 16 | sizeof header_))
        damaged("it was written by another version; prepare it again");
    if (header_.checksum != checksum(&header_, offsetof(script_header, checksum))) damaged("its header is damaged");
    const auto size = static_cast<std::uint64_t>(about.st_size);
    const std::uint64_t pool_bytes = std::uint64_t{header_.pools} * sizeof(script_pool);
    if (header_.pools == 0 || header_.pools_at > size || size - header_.pools_at != pool_bytes ||
        header_.slots > header_.records || header_.threads > 0x10000)
        damaged("it was truncated or extended");
    pools_ = page_array<script_pool>(header_.pools);
    const off_t here = ::lseek(file_, 0, SEEK_CUR);
    ::lseek(file_, static_cast<off_t>(header_.pools_at), SEEK_SET);
    read(pools_.data(), pool_bytes);
    ::lseek(file_, here, SEEK_SET);
    if (checksum(pools_.data(), pool_bytes) != header_.pools_checksum) damaged("its pools are damaged");
    records_of_block_ = page_array<record>(script_block::records_max);
    live_ = page_array<std::uint64_t>(header_.slots / 64 + 1);
    resizing_ = page_array<std::uint32_t>(header_.threads + 1);
}

script_source::~script_source() { ::close(file_); }

void script_source::damaged(const char* what) const {
    throw program::failure(program::input, std::string(path_) + ": " + what);
}

void script_source::read(void* to, std::size_t bytes) {
    for (auto* at = static_cast<char*>(to); bytes > 0;) {
        const ssize_t got = ::read(file_, at, bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) damaged(std::strerror(errno));
        if (got == 0) damaged("it is truncated");
        at += got;
        bytes -= static_cast<std::size_t>(got);
    }
}

std::span<const record> script_source::next() {
    if (blocks_ == header_.blocks) {
        if (records_ != header_.records || peak_live_bytes_ != header_.peak_live_bytes ||
            live_bytes_ != header_.end_live_bytes)
            damaged("the sum of its records differs from its header");
        if (::lseek(file_, 0, SEEK_CUR) != static_cast<off_t>(header_.pools_at))
            damaged("it continues after its last record");
        return {};
    }
    read(&block_, sizeof block_);
    if (block_.count == 0 || block_.count > script_block::records_max || block_.reserved != 0)
        damaged("one of its blocks is damaged");
    read(records_of_block_.data(), block_.count * sizeof(record));
    if (checksum_of(block_, records_of_block_.data(), blocks_) != block_.checksum)
        damaged("one of its blocks is damaged");
    const std::span<const record> given(records_of_block_.data(), block_.count);
    for (const record& r : given) check(r);
    ++blocks_;
    records_ += block_.count;
    return given;
}

// Flips the bit of a slot; false if it had the wrong value.
inline bool script_source::flip(std::uint32_t slot, bool was_live) {
    std::uint64_t& word = live_[slot / 64];
    const std::uint64_t bit = std::uint64_t{1} << slot % 64;
    const bool is_live = (word & bit) != 0;
    word ^= bit;
    return is_live == was_live;
}

inline void script_source::check(const record& r) {
    const bool in_range = r.thread() < header_.threads && r.pool() < header_.pools && !r.has_rest() &&
                          r.alignment_log2() <= record::alignment_log2_max && r.bytes() <= record::bytes_max &&
                          static_cast<unsigned>(r.op()) < operations;
    if (!in_range) damaged("one of its records has a field out of range");
    if (r.op() == operation::thread_end) return;
    if (r.slot() >= header_.slots) damaged("one of its records has a slot out of range");
    std::uint32_t& resizing = resizing_[r.thread()];
    bool in_order = true;
    switch (r.op()) {
        case operation::allocate:
            in_order = flip(r.slot(), false) && resizing == 0;
            break;
        case operation::free:
            in_order = flip(r.slot(), true);
            break;
        case operation::resize_from:
            in_order = flip(r.slot(), true) && resizing == 0;
            resizing = r.slot() + 1;
            break;
        case operation::resize_to:
            in_order = flip(r.slot(), false) && resizing == r.slot() + 1;
            resizing = 0;
            break;
        default:
            in_order = (live_[r.slot() / 64] >> r.slot() % 64 & 1) == 0 && resizing == r.slot() + 1;
            resizing = 0;
    }
    if (!in_order) damaged("one of its records is out of order");
    if (r.op() == operation::allocate || r.op() == operation::resize_to) {
        live_bytes_ += r.bytes();
        if (live_bytes_ > peak_live_bytes_) peak_live_bytes_ = live_bytes_;
    } else if (r.op() != operation::drop) {
        live_bytes_ -= r.bytes();
    }
}

}  // namespace millpond::replay
