// SPDX-License-Identifier: BSL-1.0
#include "lab/trace/block_output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "lab/trace/fields.hpp"
#include "lab/trace/seal.h"

namespace millpond::trace {

namespace {

constexpr std::size_t write_bytes = 1u << 20;

std::span<const std::uint8_t> bytes_of(const auto& object) {
    return {reinterpret_cast<const std::uint8_t*>(&object), sizeof object};
}

}  // namespace

struct block_output::compressor {
    ZSTD_CCtx* context = ZSTD_createCCtx();
    ~compressor() { ZSTD_freeCCtx(context); }
};

mpt_block_header make_header(mpt_kind kind, std::uint32_t count, std::uint32_t sequence, std::uint64_t first) {
    mpt_block_header header{};
    header.kind = static_cast<std::uint8_t>(kind);
    header.count = count;
    header.sequence = sequence;
    header.first = first;
    return header;
}

block_output::block_output(std::string path, int level, unsigned mode)
    : path_(std::move(path)),
      temporary_(path_ + ".XXXXXX"),  // a name that no other file has
      level_(level),
      compressor_(std::make_unique<compressor>()) {
    descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
    if (descriptor_ < 0) fail("cannot create");
    if (::fchmod(descriptor_, mode) != 0) {
        const int error = errno;
        ::close(std::exchange(descriptor_, -1));
        ::unlink(temporary_.c_str());
        errno = error;
        fail("cannot set the permissions of");
    }
    pending_.reserve(write_bytes + write_bytes / 4);
}

block_output::block_output(std::string path, const std::string& name_end, const std::vector<block_record>& blocks)
    : path_(std::move(path)),
      temporary_(path_ + name_end),
      level_(default_level),
      keep_(true),
      compressor_(std::make_unique<compressor>()) {
    for (const block_record& block : blocks) {
        const mpt_block_header& h = block.header;
        entries_.push_back({block.offset, h.first, h.cpu_ns, h.thread, h.count, h.kind});
        bytes_ = block.offset + sizeof h + h.stored_bytes;
    }
    written_bytes_ = bytes_;
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CLOEXEC);
    const auto end = static_cast<off_t>(bytes_);
    if (descriptor_ < 0 || ::ftruncate(descriptor_, end) != 0 || ::lseek(descriptor_, end, SEEK_SET) != end) {
        const int error = errno;
        if (descriptor_ >= 0) ::close(descriptor_);
        errno = error;
        fail("cannot continue");
    }
}

block_output::~block_output() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    if (!keep_) ::unlink(temporary_.c_str());
}

void block_output::fail(const char* what) const {
    const int error = errno;
    throw std::system_error(error, std::generic_category(), std::string(what) + " " + temporary_);
}

void block_output::flush() {
    std::size_t done = 0;
    while (done < pending_.size()) {
        const ssize_t wrote = ::write(descriptor_, pending_.data() + done, pending_.size() - done);
        if (wrote > 0) {
            done += static_cast<std::size_t>(wrote);
            written_bytes_ += static_cast<std::uint64_t>(wrote);
            continue;
        }
        const int error = errno;
        if (wrote < 0 && error == EINTR) continue;
        const bool full = wrote == 0 || error == ENOSPC || error == EDQUOT;
        if (full && make_room_ && ::fdatasync(descriptor_) == 0 && make_room_(written_bytes_)) continue;
        errno = wrote == 0 ? ENOSPC : error;
        fail("cannot write");
    }
    pending_.clear();
}

void block_output::write(std::span<const std::uint8_t> bytes) {
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
    bytes_ += bytes.size();
    if (pending_.size() >= write_bytes) flush();
}

void block_output::copy(const mpt_block_header& header, std::span<const std::uint8_t> stored) {
    version_ = std::max(version_, header.version);
    if (header.kind != mpt_index)
        entries_.push_back({bytes_, header.first, header.cpu_ns, header.thread, header.count, header.kind});
    write(bytes_of(header));
    write(stored);
}

void block_output::append(mpt_block_header header, std::span<const std::uint8_t> payload, mpt_codec codec) {
    std::span<const std::uint8_t> stored = payload;
    header.codec = mpt_raw;
    if (codec == mpt_zstd) {
        compressed_.resize(ZSTD_compressBound(payload.size()));
        const std::size_t bytes = ZSTD_compressCCtx(compressor_->context, compressed_.data(), compressed_.size(),
                                                    payload.data(), payload.size(), level_);
        if (ZSTD_isError(bytes)) throw std::runtime_error(std::string("zstd: ") + ZSTD_getErrorName(bytes));
        if (bytes < payload.size()) {
            header.codec = mpt_zstd;
            stored = {compressed_.data(), bytes};
        }
    }
    header.frame_magic = mpt_frame_magic;
    header.magic = mpt_magic;
    header.version = version_;
    header.stored_bytes = static_cast<std::uint32_t>(stored.size());
    header.payload_bytes = static_cast<std::uint32_t>(payload.size());
    header.frame_bytes =
        mpt_header_bytes - mpt_frame_prefix_bytes + (header.codec == mpt_raw ? header.stored_bytes : 0);
    header.checksum = mpt_checksum(header, stored.data());
    copy(header, stored);
}

void block_output::commit() {
    field_writer index;
    for (const entry& e : entries_) {
        index.number(e.offset);
        index.number(e.kind);
        index.number(e.thread);
        index.number(e.count);
        index.number(e.first);
        index.number(e.cpu_ns);
    }
    const std::uint64_t offset = bytes_;
    append(make_header(mpt_index, static_cast<std::uint32_t>(entries_.size())), index.bytes());
    const std::uint32_t trailer[2] = {mpt_trailer_magic, sizeof offset};
    write(bytes_of(trailer));
    write(bytes_of(offset));
    flush();
    const int descriptor = std::exchange(descriptor_, -1);
    if (::close(descriptor) != 0 || std::rename(temporary_.c_str(), path_.c_str()) != 0) {
        const int error = errno;
        if (!keep_) ::unlink(temporary_.c_str());
        errno = error;
        fail("cannot complete");
    }
}

std::vector<damage> rebuild_index(const std::string& path) {
    block_file file(path);
    damage_list damages;
    payload_buffer stored;
    block_output output(path, block_output::default_level, file.permissions());
    for (const block_record& block : file.scan(damages)) {
        std::string what;
        if (block.header.kind == mpt_index) continue;
        if (file.read_stored(block, stored, what))
            output.copy(block.header, stored.bytes());
        else
            damages.add(block.offset, what);
    }
    output.commit();
    return damages.all();
}

}  // namespace millpond::trace
