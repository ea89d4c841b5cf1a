// SPDX-License-Identifier: BSL-1.0
// The content of the golden trace is unchanged, and a damage anywhere in it costs at most the block that it hits.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "../lab/trace/recording.hpp"
#include "lab/trace/block_file.hpp"
#include "lab/trace/block_output.hpp"
#include "lab/trace/dump.hpp"
#include "lab/trace/event_decoder.hpp"
#include "lab/trace/seal.h"
#include "make_golden.hpp"

namespace millpond::test {
namespace {

using trace::block_record;
using trace::event;
using trace::reader;

const std::string golden = MILLPOND_GOLDEN_DIR "/three_threads.mpt";

std::string dumped(const std::string& path) {
    char* text = nullptr;
    std::size_t bytes = 0;
    std::FILE* memory = ::open_memstream(&text, &bytes);
    reader opened(path);
    trace::dump(opened, memory);
    std::fclose(memory);
    const std::unique_ptr<char, void (*)(void*)> owned(text, std::free);
    return {text, bytes};
}

bool same(const event& a, const event& b) {
    return a.time_ticks == b.time_ticks && a.address == b.address && a.bytes == b.bytes && a.context == b.context &&
           a.thread == b.thread && a.duration_ticks == b.duration_ticks && a.op == b.op &&
           a.alignment_log2 == b.alignment_log2 && a.zeroed == b.zeroed;
}

bool same(const std::vector<event>& a, const std::vector<event>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const event& x, const event& y) { return same(x, y); });
}

// A file that is damaged in place. Writing the file again for each of many thousand damages would measure the disk.
class damaged_file {
  public:
    damaged_file(const std::string& path, const std::string& bytes) : bytes_(bytes) {
        write_file(path, bytes);
        descriptor_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    }
    ~damaged_file() { ::close(descriptor_); }
    damaged_file(const damaged_file&) = delete;
    damaged_file& operator=(const damaged_file&) = delete;

    void flip(std::uint64_t bit) {
        bytes_[bit / 8] = static_cast<char>(bytes_[bit / 8] ^ (1 << (bit % 8)));
        ASSERT_EQ(::pwrite(descriptor_, &bytes_[bit / 8], 1, static_cast<off_t>(bit / 8)), 1);
    }
    void truncate(std::uint64_t length) { ASSERT_EQ(::ftruncate(descriptor_, static_cast<off_t>(length)), 0); }

  private:
    std::string bytes_;
    int descriptor_;
};

// The parts of the golden trace, from which the tests compute the events that remain after a damage.
struct golden_parts : ::testing::Test {
    scratch_folder folder;
    std::string copy = folder.path("copy.mpt"), bytes = read_file(golden);
    std::vector<block_record> blocks;  // the index among them
    std::vector<std::vector<event>> events;

    golden_parts() {
        trace::block_file file(golden);
        trace::damage_list none;
        trace::payload_buffer payload;
        blocks = file.scan(none);
        for (const block_record& block : blocks) {
            std::string what;
            std::vector<event>& decoded = events.emplace_back();
            if (block.header.kind != mpt_events) continue;
            EXPECT_TRUE(file.read_payload(block, payload, what)) << what;
            trace::event_decoder decoder;
            decoder.open(block.header, payload.bytes(), contexts_known);
            decoded.resize(block.header.count);
            EXPECT_EQ(decoder.decode(decoded.data(), decoded.size()), decoded.size());
        }
    }

    static constexpr std::uint64_t contexts_known = 13;

    std::uint64_t end_of(const block_record& block) const {
        return block.offset + mpt_header_bytes + block.header.stored_bytes;
    }

    // Events of the blocks that are left. Where the contexts are lost, events keep all but theirs.
    template <typename Kept>
    std::vector<event> expected(Kept&& kept) const {
        std::vector<event> left;
        bool contexts = false;
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            if (!kept(i)) continue;
            contexts = contexts || blocks[i].header.kind == mpt_contexts;
            left.insert(left.end(), events[i].begin(), events[i].end());
        }
        if (!contexts)
            for (event& e : left) e.context = 0;
        return in_order(std::move(left));
    }
};

TEST_F(golden_parts, output_is_unchanged) {
    EXPECT_EQ(dumped(golden), read_file(MILLPOND_GOLDEN_DIR "/three_threads.txt"));
}

TEST_F(golden_parts, the_generator_writes_the_same_bytes) {
    make_golden(copy);
    if (read_file(copy) == bytes) return;  // another zstd compresses otherwise, but to the same content
    EXPECT_EQ(dumped(copy), dumped(golden));
}

TEST_F(golden_parts, has_the_shape_that_the_damage_tests_need) {
    EXPECT_LE(bytes.size(), 8192u);
    reader opened(golden);
    EXPECT_GE(opened.streams().size(), 3u);
    std::map<std::uint32_t, int> blocks_of;
    std::set<int> layouts, codecs;
    for (const block_record& block : opened.blocks()) {
        if (block.header.kind != mpt_events) continue;
        ++blocks_of[block.header.thread];
        layouts.insert(block.header.layout);
        codecs.insert(block.header.codec);
    }
    for (const auto& [thread, count] : blocks_of) EXPECT_EQ(count, 2) << "thread " << thread;
    EXPECT_EQ(layouts.size(), 2u);
    EXPECT_EQ(codecs.size(), 2u);
    EXPECT_TRUE(opened.process().ended);
    EXPECT_FALSE(opened.process().clean);
    std::map<std::uint64_t, std::uint32_t> allocated_by;
    std::size_t foreign_frees = 0, reallocs = 0;
    for (const event& e : read_all(opened)) {
        if (e.op == trace::operation::allocate) allocated_by[e.address] = e.thread;
        reallocs += e.op == trace::operation::realloc_allocate;
        const auto known = allocated_by.find(e.address);
        foreign_frees += e.op == trace::operation::free && known != allocated_by.end() && known->second != e.thread;
    }
    EXPECT_GE(foreign_frees, 10u);
    EXPECT_GE(reallocs, 10u);
    EXPECT_TRUE(opened.damages().empty());
}

TEST_F(golden_parts, every_flipped_bit_costs_one_block_and_is_reported_there) {
    const std::uint64_t index_offset = blocks.back().offset;
    damaged_file damaged(copy, bytes);
    for (std::size_t i = 0; i <= blocks.size(); ++i) {
        const bool tail = i == blocks.size() || blocks[i].offset == index_offset;  // the index or the trailer
        const std::uint64_t begin = i < blocks.size() ? blocks[i].offset : end_of(blocks.back());
        const std::uint64_t end = i < blocks.size() ? end_of(blocks[i]) : bytes.size();
        const std::vector<event> left = expected([&](std::size_t k) { return k != i; });
        for (std::uint64_t bit = 8 * begin; bit < 8 * end; ++bit) {
            damaged.flip(bit);
            reader opened(copy);
            ASSERT_TRUE(same(read_all(opened), left)) << "bit " << bit;
            const auto here = [&](const trace::damage& d) {
                return d.offset >= (tail ? index_offset : begin) && d.offset < (tail ? bytes.size() : end);
            };
            ASSERT_TRUE(std::any_of(opened.damages().begin(), opened.damages().end(), here)) << "bit " << bit;
            damaged.flip(bit);
        }
    }
}

TEST_F(golden_parts, every_flipped_bit_without_an_index_costs_at_most_its_block) {
    const std::uint64_t index_offset = blocks.back().offset;
    blocks.pop_back();
    damaged_file damaged(copy, bytes.substr(0, index_offset));
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const std::vector<event> left = expected([&](std::size_t k) { return k != i; });
        for (std::uint64_t bit = 8 * blocks[i].offset; bit < 8 * end_of(blocks[i]); ++bit) {
            damaged.flip(bit);
            reader opened(copy);
            ASSERT_TRUE(same(read_all(opened), left)) << "bit " << bit;
            ASSERT_FALSE(opened.damages().empty()) << "bit " << bit;
            ASSERT_EQ(opened.damages()[0].offset, blocks[i].offset) << "bit " << bit;
            damaged.flip(bit);
        }
    }
}

TEST_F(golden_parts, every_truncation_keeps_the_blocks_in_front_of_it) {
    damaged_file damaged(copy, bytes);
    for (std::size_t length = bytes.size() - 1; length < bytes.size(); --length) {
        damaged.truncate(length);
        const auto whole = [&](std::size_t i) { return end_of(blocks[i]) <= length; };
        if (!whole(0)) {
            ASSERT_THROW(reader opened(copy), trace::trace_error) << "length " << length;
            continue;
        }
        reader opened(copy);
        ASSERT_TRUE(same(read_all(opened), expected(whole))) << "length " << length;
        std::uint64_t cut = 0;
        for (std::size_t i = 0; i < blocks.size() && whole(i); ++i) cut = end_of(blocks[i]);
        const auto here = [&](const trace::damage& d) { return d.offset == cut; };
        ASSERT_TRUE(std::any_of(opened.damages().begin(), opened.damages().end(), here)) << "length " << length;
    }
}

TEST_F(golden_parts, a_rebuilt_index_lists_what_a_damage_left) {
    for (std::size_t i = 0; i + 1 < blocks.size(); ++i) {
        std::string damaged = bytes;
        damaged[blocks[i].offset + 70] ^= 4;
        write_file(copy, damaged);
        EXPECT_EQ(trace::rebuild_index(copy).size(), 1u);
        reader opened(copy);
        EXPECT_EQ(opened.blocks().size(), blocks.size() - 2);
        EXPECT_TRUE(same(read_all(opened), expected([&](std::size_t k) { return k != i; })));
    }
}

TEST_F(golden_parts, a_later_version_is_refused_with_both_versions_named) {
    // Every block of the next version, with checksums that hold.
    recording made;
    made.put_process({.pid = 1});
    std::string later = made.closed();
    mpt_block_header header;
    std::memcpy(&header, later.data(), sizeof header);
    header.version = mpt_version_last + 1;
    header.checksum = mpt_checksum(header, later.data() + sizeof header);
    std::memcpy(later.data(), &header, sizeof header);
    write_file(copy, later);
    try {
        reader opened(copy);
        FAIL() << "read a trace of a later version";
    } catch (const trace::trace_error& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("version " + std::to_string(mpt_version_last + 1)), std::string::npos) << text;
        EXPECT_NE(text.find("up to " + std::to_string(mpt_version_last)), std::string::npos) << text;
    }
}

}  // namespace
}  // namespace millpond::test
