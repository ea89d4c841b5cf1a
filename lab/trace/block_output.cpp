// SPDX-License-Identifier: BSL-1.0
#include "block_output.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "fields.hpp"
#include "seal.h"

namespace millpond::trace {

namespace {

constexpr std::size_t write_bytes = 1u << 20;
constexpr int names_tried = 1000;

std::span<const std::uint8_t> bytes_of(const auto& object) {
    return {reinterpret_cast<const std::uint8_t*>(&object), sizeof object};
}

// Whether a file was left by a writer that was killed: it begins as ours do, and no writer holds its lock any more.
bool is_abandoned(int descriptor) {
    struct stat about;
    std::uint32_t words[3];
    return ::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && about.st_nlink == 1 &&
           ::pread(descriptor, words, sizeof words, 0) == static_cast<ssize_t>(sizeof words) &&
           words[0] == static_cast<std::uint32_t>(mpt_frame_magic) &&
           words[2] == static_cast<std::uint32_t>(mpt_magic) && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
}

// A file of that name for us alone, empty and locked; -1 with errno EEXIST where another file has the name.
int create(const std::string& name) {
    const int made = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (made >= 0) {
        ::flock(made, LOCK_EX | LOCK_NB);  // where a file system has no locks, what a kill leaves is never taken over
        return made;
    }
    if (errno != EEXIST) return -1;
    const int found = ::open(name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (found >= 0 && is_abandoned(found) && ::ftruncate(found, 0) == 0) return found;
    if (found >= 0) ::close(found);
    errno = EEXIST;
    return -1;
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

block_output::block_output(std::string path, int level)
    : path_(std::move(path)), level_(level), compressor_(std::make_unique<compressor>()) {
    for (int i = 0; descriptor_ < 0; ++i) {
        temporary_ = path_ + ".partial-write" + (i == 0 ? "" : "-" + std::to_string(i));
        descriptor_ = create(temporary_);
        if (descriptor_ < 0 && (errno != EEXIST || i == names_tried)) fail("cannot create");
    }
    pending_.reserve(write_bytes + write_bytes / 4);
}

block_output::~block_output() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(temporary_.c_str());
}

void block_output::fail(const char* what) const {
    const int error = errno;
    throw std::system_error(error, std::generic_category(), std::string(what) + " " + temporary_);
}

void block_output::flush() {
    for (std::size_t done = 0; done < pending_.size();) {
        const ssize_t wrote = ::write(descriptor_, pending_.data() + done, pending_.size() - done);
        if (wrote < 0 && errno != EINTR) fail("cannot write");
        if (wrote > 0) done += static_cast<std::size_t>(wrote);
    }
    pending_.clear();
}

void block_output::write(std::span<const std::uint8_t> bytes) {
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
    bytes_ += bytes.size();
    if (pending_.size() >= write_bytes) flush();
}

void block_output::copy(const mpt_block_header& header, std::span<const std::uint8_t> stored) {
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
    header.version = mpt_version;
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
        ::unlink(temporary_.c_str());
        errno = error;
        fail("cannot complete");
    }
}

}  // namespace millpond::trace
