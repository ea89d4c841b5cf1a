// SPDX-License-Identifier: BSL-1.0
// Traces with any content, checksummed or not: none crashes a reader, makes it loop or makes it allocate without
// bounds.
#include "hostile.hpp"

#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>
#include <random>

#include "lab/trace/block_file.hpp"
#include "lab/trace/block_output.hpp"
#include "lab/trace/fields.hpp"
#include "lab/trace/finish.hpp"
#include "lab/trace/seal.h"
#include "random_events.hpp"
#include "seed.hpp"

namespace millpond::test {
namespace {

using trace::reader;

struct lying : ::testing::Test {
    scratch_folder folder;
    std::string path = folder.path("t.mpt");
    memory_file memory;
    std::mt19937_64 random{seed()};

    std::string finished(std::size_t events) {
        recording made(1024);
        made.put_process({.pid = 1, .arguments = {"a"}});
        made.put_module({1, 0, 1, 2, "/lib/x", "00", 1, 0});
        made.put_contexts(1, random_contexts(seed(), 50));
        random_events(seed(), 3, 51).record(made, events);
        made.save(folder.path("raw"));
        write_file(folder.path("partial"), made.slot_file());
        finish(folder.path("partial"), path);
        return read_file(path);
    }

    // Reads it; both an error and a report of damage are right, a broken promise is not.
    void survive(const std::string& bytes) {
        memory.write(bytes);
        try {
            read_and_check(memory.path());
        } catch (const trace::trace_error& refused) {
            EXPECT_STRNE(refused.what(), "");
        }
    }
};

TEST_F(lying, payloads_and_headers_under_checksums_that_hold_are_survived) {
    SCOPED_TRACE("--seed=" + std::to_string(seed()));
    for (const std::size_t events : {0u, 30u, 600u}) {
        const std::string whole = finished(events);
        const std::string raw = read_file(folder.path("raw"));
        for (int round = 0; round < 1500; ++round) {
            std::string bytes = round % 2 ? whole : raw;
            for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes)
                bytes[random() % bytes.size()] = static_cast<char>(random() % 3 ? random() : (random() % 2 ? 0 : 0xFF));
            if (random() % 8 == 0) bytes.resize(random() % bytes.size());
            reseal(bytes);
            survive(bytes);
        }
    }
}

TEST_F(lying, random_payloads_of_every_kind_are_survived) {
    SCOPED_TRACE("--seed=" + std::to_string(seed()));
    for (int round = 0; round < 3000; ++round) {
        recording made;
        made.put_process({});
        for (int i = 0; i < 4; ++i) {
            std::vector<std::uint8_t> payload(random() % 60);
            for (std::uint8_t& byte : payload) byte = static_cast<std::uint8_t>(random() % 2 ? random() : random() % 8);
            made.put(static_cast<mpt_kind>(1 + random() % 7), static_cast<std::uint32_t>(random() % 20), payload,
                     random() % 3 ? random() % 100 : random());
        }
        survive(made.closed());
    }
}

TEST_F(lying, an_index_with_false_entries_is_survived) {
    SCOPED_TRACE("--seed=" + std::to_string(seed()));
    const std::string whole = finished(200);
    memory.write(whole);
    const std::size_t blocks = reader(memory.path()).blocks().size();
    std::uint64_t index_offset;
    std::memcpy(&index_offset, whole.data() + whole.size() - 8, 8);
    for (int round = 0; round < 500; ++round) {
        trace::field_writer index;
        const std::uint32_t entries = static_cast<std::uint32_t>(random() % (2 * blocks));
        for (std::uint32_t i = 0; i < entries; ++i) {
            index.number(random() % 8 ? random() % index_offset : random());
            for (int field = 0; field < 5; ++field) index.number(random() >> (random() % 64));
        }
        recording made;
        made.put(mpt_index, entries, index.bytes());
        survive(whole.substr(0, index_offset) + made.closed() + whole.substr(whole.size() - 16));
    }
}

TEST_F(lying, a_payload_that_would_fill_the_memory_is_refused) {
    // 64 MiB of frees of one address, in some kilobytes.
    const std::vector<std::uint8_t> bomb(64u << 20, 0);
    std::vector<std::uint8_t> small(ZSTD_compressBound(bomb.size()));
    small.resize(ZSTD_compress(small.data(), small.size(), bomb.data(), bomb.size(), 1));
    std::string bytes(mpt_header_bytes, '\0');
    mpt_block_header header = trace::make_header(mpt_events, static_cast<std::uint32_t>(bomb.size() / 2));
    header.version = mpt_version;
    header.codec = mpt_zstd;
    header.stored_bytes = static_cast<std::uint32_t>(small.size());
    header.payload_bytes = static_cast<std::uint32_t>(bomb.size());
    std::memcpy(bytes.data(), &header, sizeof header);
    bytes.append(small.begin(), small.end());
    reseal(bytes);
    recording made;
    made.put_process({});
    memory.write(made.closed() + bytes);
    reader opened(memory.path());
    EXPECT_EQ(opened.event_count(), 0u);
    ASSERT_EQ(opened.damages().size(), 1u);
    EXPECT_EQ(opened.damages()[0].offset, made.closed().size());
}

TEST_F(lying, ids_that_would_fill_the_memory_are_refused) {
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{1} << 31, ~std::uint64_t{0}}) {
        recording made;
        made.put_process({});
        const std::uint8_t node[] = {1, 1, 1};
        made.put(mpt_contexts, 1, node, first);
        memory.write(made.closed());
        reader opened(memory.path());
        EXPECT_EQ(opened.contexts().size(), 1u);
        EXPECT_EQ(opened.damages().size(), 1u);
    }
}

TEST_F(lying, callers_in_a_circle_are_cut) {
    recording made;
    made.put_process({});
    made.put_contexts(
        1, std::vector<trace::context_node>{{2, 1, 1}, {3, 1, 1}, {1, 1, 1}, {3, 1, 1}, {900, 1, 1}, {0, 1, 1}});
    memory.write(made.closed());
    EXPECT_EQ(read_and_check(memory.path()), 0u);
    EXPECT_EQ(reader(memory.path()).contexts().size(), 7u);
    EXPECT_EQ(reader(memory.path()).damages().size(), 1u);
}

TEST_F(lying, headers_with_false_lengths_are_skipped_in_linear_time) {
    recording made;
    made.put_process({});
    std::string bytes = made.closed();
    mpt_block_header header{};
    std::memcpy(&header, bytes.data(), sizeof header);
    header.kind = mpt_contexts;
    const std::size_t lies = 20000;
    for (std::size_t i = 0; i < lies; ++i) {
        header.stored_bytes = static_cast<std::uint32_t>((lies - 1 - i) * sizeof header);
        header.payload_bytes = header.stored_bytes;
        header.frame_bytes = mpt_header_bytes - mpt_frame_prefix_bytes + header.stored_bytes;
        bytes.append(reinterpret_cast<const char*>(&header), sizeof header);
    }
    memory.write(bytes);
    reader opened(memory.path());
    EXPECT_EQ(opened.blocks().size(), 1u);
    EXPECT_FALSE(opened.damages().empty());
}

TEST_F(lying, damages_without_end_are_listed_up_to_a_thousand) {
    recording made;
    made.put_process({});
    std::string bytes;
    for (int i = 0; i < 3000; ++i) bytes += made.closed() + "?";
    memory.write(bytes);
    reader opened(memory.path());
    EXPECT_EQ(opened.blocks().size(), 3000u);
    EXPECT_EQ(opened.damages().size(), 1000u);
}

TEST_F(lying, a_file_that_is_no_trace_is_refused_with_a_reason) {
    const auto reason = [&](const std::string& bytes) -> std::string {
        memory.write(bytes);
        try {
            reader opened(memory.path());
        } catch (const trace::trace_error& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_NE(reason("").find("empty"), std::string::npos);
    EXPECT_NE(reason("#!/bin/sh\n").find("not a trace"), std::string::npos);
    EXPECT_NE(reason(std::string(100000, '\x5d')).find("not a trace"), std::string::npos);
    EXPECT_THROW(reader opened(folder.path("absent")), trace::trace_error);
    EXPECT_THROW(reader opened(folder.path("")), trace::trace_error);
    EXPECT_THROW(trace::rebuild_index(folder.path("absent")), trace::trace_error);
}

}  // namespace
}  // namespace millpond::test
