// SPDX-License-Identifier: BSL-1.0
#include "lab/trace/block_file.hpp"

#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "lab/program/program.hpp"
#include "lab/program/regular_file.hpp"
#include "lab/trace/fields.hpp"
#include "lab/trace/seal.h"

namespace millpond::trace {

namespace {

constexpr std::size_t damages_listed = 1000;
constexpr std::uint64_t trailer_bytes = 16;

// Returns the error in a header, or null; `bytes_behind`: the bytes of the file that follow it.
const char* flaw(const mpt_block_header& h, std::uint64_t bytes_behind) {
    const bool raw = h.codec == mpt_raw;
    const std::uint32_t limit = h.kind == mpt_events ? events_payload_bytes_max : payload_bytes_max;
    if (h.frame_magic != static_cast<std::uint32_t>(mpt_frame_magic) ||
        h.magic != static_cast<std::uint32_t>(mpt_magic))
        return "no block starts here";
    if (h.version == 0 || h.kind == 0) return "the block's header is damaged (version or kind 0)";
    if (h.codec > mpt_zstd) return "the block's codec is unknown";
    if (h.layout > (h.kind == mpt_events ? mpt_columns : mpt_rows)) return "the block's layout is unknown";
    if (h.stored_bytes > bytes_behind) return "the block is cut off by the end of the file";
    if (h.stored_bytes > limit || h.payload_bytes > limit) return "the block's payload is larger than any writer makes";
    if (h.frame_bytes != mpt_header_bytes - mpt_frame_prefix_bytes + (raw ? h.stored_bytes : 0))
        return "the block's lengths contradict one another";
    if (raw && h.payload_bytes != h.stored_bytes) return "the block's lengths contradict one another";
    if (h.count > h.payload_bytes) return "the block counts more entries than its payload can hold";
    return nullptr;
}

}  // namespace

struct block_file::decompressor {
    ZSTD_DCtx* context = ZSTD_createDCtx();
    ~decompressor() { ZSTD_freeDCtx(context); }
};

std::uint8_t* payload_buffer::resize(std::size_t bytes) {
    if (bytes + padding_bytes > capacity_) {
        capacity_ = bytes + padding_bytes;
        data_ = std::make_unique_for_overwrite<std::uint8_t[]>(capacity_);
    }
    size_ = bytes;
    std::memset(data_.get() + bytes, 0, padding_bytes);
    return data_.get();
}

void damage_list::add(std::uint64_t offset, std::string what) {
    const auto same = [&](const damage& known) { return known.offset == offset && known.what == what; };
    if (all_.size() >= damages_listed || std::any_of(all_.begin(), all_.end(), same)) return;
    if (all_.size() + 1 == damages_listed) what += " (further damages are not listed)";
    all_.push_back({offset, std::move(what)});
}

block_file::block_file(std::string path) : path_(std::move(path)), decompressor_(std::make_unique<decompressor>()) {
    try {
        descriptor_ = program::open_regular(path_.c_str());
    } catch (const program::failure& error) {
        throw trace_error(std::string("the trace ") + error.what() +
                          "; `millpond trace record -o FILE -- PROGRAM` writes one");
    }
    struct stat status;
    if (::fstat(descriptor_, &status) != 0 || status.st_size == 0) {
        ::close(descriptor_);
        throw trace_error(path_ + " is empty: nothing was recorded");
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
    permissions_ = status.st_mode & 07777;
}

block_file::~block_file() { ::close(descriptor_); }

bool read_at(int descriptor, std::uint64_t offset, void* to, std::size_t bytes) noexcept {
    auto* at = static_cast<std::uint8_t*>(to);
    while (bytes > 0) {
        const ssize_t got = ::pread(descriptor, at, bytes, static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        offset += static_cast<std::uint64_t>(got);
        bytes -= static_cast<std::size_t>(got);
    }
    return true;
}

bool block_file::read(std::uint64_t offset, void* to, std::size_t bytes) const {
    return read_at(descriptor_, offset, to, bytes);
}

const char* block_file::read_header(std::uint64_t offset, mpt_block_header& header) const {
    if (offset > size_ || size_ - offset < sizeof header) return "the file ends inside a block's header";
    if (!read(offset, &header, sizeof header)) return "the file cannot be read here";
    return flaw(header, size_ - offset - sizeof header);
}

bool block_file::read_stored(const block_record& block, payload_buffer& stored, std::string& what) {
    const mpt_block_header& h = block.header;
    if (!read(block.offset + sizeof h, stored.resize(h.stored_bytes), h.stored_bytes)) {
        what = "the block's payload cannot be read";
        return false;
    }
    if (mpt_checksum(h, stored.bytes().data()) == h.checksum) return true;
    what = "the block's checksum does not hold";
    return false;
}

bool block_file::read_payload(const block_record& block, payload_buffer& payload, std::string& what) {
    if (block.header.codec == mpt_raw) return read_stored(block, payload, what);
    if (!read_stored(block, stored_, what)) return false;
    const std::size_t bytes = block.header.payload_bytes;
    const std::span<const std::uint8_t> stored = stored_.bytes();
    const std::size_t got =
        ZSTD_decompressDCtx(decompressor_->context, payload.resize(bytes), bytes, stored.data(), stored.size());
    if (got == bytes) return true;
    what = ZSTD_isError(got) ? std::string("the block does not decompress: ") + ZSTD_getErrorName(got)
                             : "the block decompresses to another length than its header says";
    return false;
}

bool block_file::whole_block(std::uint64_t offset, block_record& block, std::string& what) {
    block.offset = offset;
    if (const char* wrong = read_header(offset, block.header)) {
        what = wrong;
        return false;
    }
    if (!read_stored(block, stored_, what)) return false;
    if (block.header.version > mpt_version_last)
        throw trace_error(path_ + " is a trace of version " + std::to_string(block.header.version) +
                          "; this program reads versions up to " + std::to_string(mpt_version_last) +
                          ": use a newer millpond");
    return true;
}

bool block_file::read_first(block_record& block, payload_buffer& payload) {
    std::string what;
    return whole_block(0, block, what) && read_payload(block, payload, what);
}

bool block_file::is_trailer(std::uint64_t offset, std::uint64_t& index_offset) const {
    std::uint32_t words[4];
    if (size_ - offset != trailer_bytes || !read(offset, words, sizeof words)) return false;
    std::memcpy(&index_offset, words + 2, sizeof index_offset);
    return words[0] == static_cast<std::uint32_t>(mpt_trailer_magic) && words[1] == 8;
}

// Returns the offset of the next whole block at or behind `from`; size() if there is no further block.
std::uint64_t block_file::find_block(std::uint64_t from, block_record& block) {
    constexpr std::size_t chunk_bytes_max = 1u << 20, overlap_bytes = 3;
    static constexpr std::uint32_t magic = static_cast<std::uint32_t>(mpt_frame_magic);
    const std::string_view pattern(reinterpret_cast<const char*>(&magic), sizeof magic);
    std::vector<char> chunk(4096);  // damage is usually short; the chunk grows if it is not
    while (from < size_ && search_budget_bytes_ > 0) {
        const std::size_t bytes = static_cast<std::size_t>(std::min<std::uint64_t>(chunk.size(), size_ - from));
        if (!read(from, chunk.data(), bytes)) break;
        const std::string_view text(chunk.data(), bytes);
        for (std::size_t at = text.find(pattern); at != text.npos; at = text.find(pattern, at + 1)) {
            std::string what;
            stored_.resize(0);
            if (whole_block(from + at, block, what)) return from + at;
            // Many false headers that claim long payloads would make the search quadratic, so its work is bounded.
            const std::uint64_t cost = sizeof block.header + stored_.bytes().size();
            search_budget_bytes_ -= std::min(search_budget_bytes_, cost);
            if (search_budget_bytes_ == 0) break;
        }
        if (bytes < chunk.size()) break;
        from += bytes - overlap_bytes;
        chunk.resize(std::min(chunk_bytes_max, 2 * chunk.size()));
    }
    return size_;
}

std::vector<block_record> block_file::scan(damage_list& damages) {
    search_budget_bytes_ = 4 * size_ + (256u << 20);
    std::vector<block_record> blocks;
    block_record block;
    std::string what;
    for (std::uint64_t offset = 0; offset < size_;) {
        if (std::uint64_t index; is_trailer(offset, index)) {
            const bool right =
                !blocks.empty() && blocks.back().header.kind == mpt_index && blocks.back().offset == index;
            if (!right) damages.add(offset, "the trailer does not name the index block in front of it");
            break;
        }
        if (!whole_block(offset, block, what)) {
            const std::uint64_t next = find_block(offset + 1, block);
            damages.add(offset, what + "; " + std::to_string(next - offset) + " bytes skipped");
            if (next == size_) break;
            offset = next;
        }
        blocks.push_back(block);
        offset += sizeof block.header + block.header.stored_bytes;
    }
    if (blocks.empty()) refuse_unreadable();
    return blocks;
}

void block_file::refuse_unreadable() const {
    mpt_block_header header;
    const bool ours = size_ >= sizeof header && read(0, &header, sizeof header) &&
                      header.frame_magic == static_cast<std::uint32_t>(mpt_frame_magic) &&
                      header.magic == static_cast<std::uint32_t>(mpt_magic);
    if (!ours) throw trace_error(path_ + " is not a trace: no block at offset 0, none found behind it");
    if (header.version > mpt_version_last)
        throw trace_error(path_ + " seems to be a trace of version " + std::to_string(header.version) +
                          "; this program reads versions up to " + std::to_string(mpt_version_last));
    throw trace_error(path_ + " is damaged at offset 0, and no whole block follows");
}

std::vector<block_record> block_file::read_index(damage_list& damages) {
    std::vector<block_record> blocks;
    block_record index;
    std::string what;
    payload_buffer payload;
    std::vector<damage> flaws;
    if (size_ < trailer_bytes || !is_trailer(size_ - trailer_bytes, index.offset)) return blocks;
    if (read_header(index.offset, index.header) != nullptr || index.header.kind != mpt_index) return blocks;
    if (index.header.version > mpt_version_last || !read_payload(index, payload, what)) return blocks;
    if (index.offset + sizeof index.header + index.header.stored_bytes != size_ - trailer_bytes) return blocks;
    try {
        field_cursor cursor(payload.bytes());
        bool is_told = true;
        std::uint64_t past = 0;  // entries come in the order of the file, so that no block is named twice
        for (std::uint32_t i = 0; i < index.header.count; ++i) {
            block_record block;
            block.offset = cursor.number();
            const std::uint64_t kind = cursor.number(), thread = cursor.number(), count = cursor.number();
            const std::uint64_t first = cursor.number(), cpu_ns = cursor.number();
            if (block.offset < past || block.offset >= index.offset) throw trace_error("offsets out of order");
            if (block.offset != past && is_told) flaws.push_back({past, "bytes that belong to no block"});
            const char* wrong = read_header(block.offset, block.header);
            const mpt_block_header& h = block.header;
            if (wrong == nullptr && (h.kind != kind || h.thread != thread || h.count != count || h.first != first ||
                                     h.cpu_ns != cpu_ns || h.version > mpt_version_last))
                wrong = "the block's header is not the one that the index names";
            is_told = wrong == nullptr;  // if the header is damaged, its length is unknown
            past = block.offset + sizeof h + (is_told ? h.stored_bytes : 0);
            if (wrong != nullptr)
                flaws.push_back({block.offset, wrong});
            else
                blocks.push_back(block);
        }
        if (past != index.offset && is_told) flaws.push_back({past, "bytes that belong to no block"});
    } catch (const trace_error&) {
        return {};  // the index contradicts itself
    }
    for (damage& known : flaws) damages.add(known.offset, std::move(known.what));
    return blocks;
}

}  // namespace millpond::trace
