// SPDX-License-Identifier: BSL-1.0
// Finishing keeps every event that can be kept, whatever killed the recorder, and leaves OUT whole or as it was.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "lab/trace/block_output.hpp"
#include "lab/trace/finish.hpp"
#include "lab/trace/index.hpp"
#include "lab/trace/records.hpp"
#include "lab/trace/trace_set.hpp"
#include "random_events.hpp"
#include "seed.hpp"

namespace millpond::test {
namespace {

using trace::event;
using trace::reader;

constexpr std::uint32_t context_count = 100;
constexpr std::uint32_t slot_bytes = 4096;

struct killed : ::testing::Test {
    scratch_folder folder;
    std::string raw = folder.path("raw"), open = folder.path("open"), out = folder.path("t.mpt");
    recording made{slot_bytes};
    std::vector<event> events;

    void SetUp() override {
        made.put_process({.pid = 1});
        made.put_contexts(1, random_contexts(seed(), context_count - 1));
        events = random_events(seed(), 3, context_count).record(made, 5000);
        made.save(raw, open);
    }
    std::vector<std::string> expected() const { return to_text(in_order(events)); }
};

TEST_F(killed, open_blocks_are_salvaged_to_the_last_event) {
    EXPECT_TRUE(trace::finish(raw, open, out, {}).damages.empty());
    EXPECT_EQ(to_text(read_all(out)), expected());
}

TEST_F(killed, between_the_write_of_a_block_and_its_reuse_no_event_counts_twice) {
    const std::string before = made.open();
    made.close_all();
    write_file(raw, made.closed());
    write_file(open, before);
    EXPECT_EQ(trace::finish(raw, open, out, {}).events, events.size());
    EXPECT_EQ(to_text(read_all(out)), expected());
}

TEST_F(killed, inside_the_write_of_a_block_its_open_slot_stands_in) {
    const std::string before = made.open();
    made.close(2);
    write_file(raw, made.closed().substr(0, made.closed().size() - 100));
    write_file(open, before);
    const trace::finish_result result = trace::finish(raw, open, out, {});
    EXPECT_EQ(result.damages.size(), 1u);
    EXPECT_EQ(to_text(read_all(out)), expected());
}

TEST_F(killed, a_slot_is_taken_up_to_its_first_undecodable_byte) {
    std::string slots = made.open();
    mpt_block_header header;
    char* slot = slots.data() + mpt_open_header_bytes;
    std::memcpy(&header, slot, sizeof header);
    ASSERT_GT(header.stored_bytes, 0u);
    slot[sizeof header + header.stored_bytes] = 6;  // a tag that is none
    header.stored_bytes += 1;
    std::memcpy(slot, &header, sizeof header);
    write_file(open, slots);
    const trace::finish_result result = trace::finish(raw, open, out, {});
    ASSERT_EQ(result.damages.size(), 1u);
    EXPECT_EQ(result.damages[0].offset, static_cast<std::uint64_t>(mpt_open_header_bytes));
    EXPECT_EQ(to_text(read_all(out)), expected());
}

TEST_F(killed, open_files_of_nonsense_are_reported_and_never_followed) {
    std::mt19937_64 random(seed());
    for (int round = 0; round < 300; ++round) {
        std::string slots = made.open();
        for (int i = 0; i < 8; ++i) {
            // The headers are where it hurts.
            const std::size_t slot = mpt_open_header_bytes + (random() % 3) * slot_bytes;
            const std::size_t at = random() % 4 == 0 ? random() % 16 : slot + random() % 64;
            slots[at] = static_cast<char>(random());
        }
        write_file(open, slots.substr(0, random() % 4 ? slots.size() : random() % slots.size()));
        try {
            const trace::finish_result result = trace::finish(raw, open, out, {});
            EXPECT_EQ(read_all(out).size(), result.events);
        } catch (const trace::trace_error& refused) {
            EXPECT_STRNE(refused.what(), "");
        }
    }
}

TEST_F(killed, before_its_first_write_leaves_a_trace_of_open_blocks) {
    recording short_lived(slot_bytes);
    const std::vector<event> few = random_events(seed(), 2, 1).record(short_lived, 20);
    write_file(open, short_lived.open());
    EXPECT_EQ(trace::finish(folder.path("absent"), open, out, {}).events, 20u);
    EXPECT_EQ(to_text(read_all(out)), to_text(in_order(few)));
}

TEST_F(killed, the_open_block_of_contexts_is_taken_to_its_last_whole_node) {
    const std::vector<trace::context_node> more = random_contexts(seed(), context_count + 9);
    trace::field_writer nodes;
    for (std::uint32_t id = context_count; id < context_count + 10; ++id) trace::put_context(id, more[id - 1], nodes);
    std::string slot(slot_bytes, '\0');
    mpt_block_header header = trace::make_header(mpt_contexts, 0, 1, context_count);
    header.magic = mpt_magic;
    header.version = mpt_version;
    header.stored_bytes = static_cast<std::uint32_t>(nodes.bytes().size() - 1);  // killed inside the tenth
    std::memcpy(slot.data(), &header, sizeof header);
    std::memcpy(slot.data() + sizeof header, nodes.bytes().data(), nodes.bytes().size());
    std::string slots = made.open() + slot;
    mpt_open_header open_header;
    std::memcpy(&open_header, slots.data(), sizeof open_header);
    ++open_header.slots;
    std::memcpy(slots.data(), &open_header, sizeof open_header);
    write_file(open, slots);
    EXPECT_EQ(trace::finish(raw, open, out, {}).damages.size(), 1u);
    reader opened(out);
    ASSERT_EQ(opened.contexts().size(), context_count + 9u);
    EXPECT_EQ(opened.contexts().back().offset, more[context_count + 7].offset);
    EXPECT_EQ(to_text(read_all(opened)), expected());
}

TEST_F(killed, finishing_a_finished_trace_again_keeps_its_events) {
    trace::finish(raw, open, out, {});
    const std::string again = folder.path("again.mpt");
    EXPECT_EQ(trace::finish(out, "", again, {.exit_status = 4}).events, events.size());
    reader opened(again);
    EXPECT_EQ(to_text(read_all(opened)), expected());
    EXPECT_EQ(opened.process().exit_status, 4);
}

TEST_F(killed, a_program_without_heap_events_leaves_a_trace_without_events) {
    recording quiet;
    quiet.put_process({.pid = 5});
    quiet.save(raw);
    EXPECT_EQ(trace::finish(raw, "", out, {.clean = true}).events, 0u);
    reader opened(out);
    EXPECT_TRUE(read_all(opened).empty());
    EXPECT_TRUE(opened.process().clean);
    EXPECT_TRUE(opened.damages().empty());
}

TEST_F(killed, nothing_at_all_is_an_error_and_leaves_no_file) {
    write_file(raw, "");
    EXPECT_THROW(trace::finish(raw, "", out, {}), trace::trace_error);
    EXPECT_THROW(trace::finish(folder.path("absent"), folder.path("absent too"), out, {}), trace::trace_error);
    write_file(raw, "this is no trace at all, however long it may be");
    EXPECT_THROW(trace::finish(raw, "", out, {}), trace::trace_error);
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"open", "raw"}));
}

TEST_F(killed, a_full_disk_leaves_the_old_trace_and_nothing_half_written) {
    write_file(out, "the old one");
    struct rlimit before;
    ::getrlimit(RLIMIT_FSIZE, &before);
    const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit small{2000, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    EXPECT_THROW(trace::finish(raw, open, out, {}), std::system_error);
    EXPECT_THROW(trace::rebuild_index(raw), std::system_error);
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, old_handler);
    EXPECT_EQ(read_file(out), "the old one");
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"open", "raw", "t.mpt"}));
    EXPECT_THROW(trace::finish(raw, open, folder.path("no/such/folder"), {}), std::system_error);
}

TEST_F(killed, damaged_raw_blocks_are_left_out_and_the_index_is_whole) {
    std::string bytes = made.closed();
    reader all(raw);
    const trace::block_record victim = all.blocks()[all.blocks().size() / 2];
    bytes[victim.offset + 80] ^= 1;
    write_file(raw, bytes);
    const trace::finish_result result = trace::finish(raw, open, out, {});
    ASSERT_EQ(result.damages.size(), 1u);
    EXPECT_EQ(result.damages[0].offset, victim.offset);
    EXPECT_EQ(result.events, events.size() - victim.header.count);
    reader opened(out);
    EXPECT_EQ(read_all(opened).size(), result.events);
    ASSERT_EQ(opened.damages().size(), 1u);  // the stream's gap is seen
    EXPECT_NE(opened.damages()[0].what.find("misses blocks"), std::string::npos);
}

// A fixed name alone proves nothing: a user's file may have it.
TEST_F(killed, files_named_as_the_partial_trace_stay) {
    const std::vector<std::string> names = {"t.mpt.partial-write", "t.mpt.partial-write-1"};
    for (const std::string& name : names) write_file(folder.path(name), "precious");
    trace::finish(raw, open, out, {});
    EXPECT_EQ(to_text(read_all(out)), expected());
    EXPECT_THROW(trace::finish(folder.path("none"), folder.path("none"), folder.path("t.mpt"), {}), trace::trace_error);
    for (const std::string& name : names) EXPECT_EQ(std::filesystem::file_size(folder.path(name)), 8u) << name;
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path("")), {}), 5);
}

TEST_F(killed, takes_over_partial_traces_of_dead_writers_only) {
    const std::string partial = out + ".partial-write";
    write_file(partial, made.closed());
    trace::finish(raw, open, out, {});
    EXPECT_FALSE(std::filesystem::exists(partial));
    std::filesystem::create_hard_link(raw, partial);  // two names: not ours to empty, lock or not
    trace::finish(raw, open, out, {});
    EXPECT_EQ(to_text(read_all(out)), expected());
    std::filesystem::remove(partial);
    write_file(partial, made.closed());
    const int living = ::open(partial.c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(::flock(living, LOCK_EX | LOCK_NB), 0);
    trace::finish(raw, open, out, {});
    EXPECT_EQ(std::filesystem::file_size(partial), made.closed().size());
    ::close(living);
}

TEST(trace_set, is_the_file_and_its_numbered_siblings_in_order) {
    scratch_folder folder;
    for (const char* name : {"t.mpt", "t.mpt.20", "t.mpt.3", "t.mpt.3.1", "t.mpt.x", "t.mpt.3.", "t.mpt.3.1.2",
                             "t.mpt.", "t.mpt.partial-write", "other.mpt"})
        write_file(folder.path(name), "x");
    std::filesystem::create_directory(folder.path("t.mpt.4"));
    std::vector<std::string> names;
    for (const trace::trace_file& file : trace::find_trace_set(folder.path("t.mpt")))
        names.push_back(std::filesystem::path(file.path).filename());
    EXPECT_EQ(names, (std::vector<std::string>{"t.mpt", "t.mpt.3", "t.mpt.3.1", "t.mpt.20"}));
    EXPECT_TRUE(trace::find_trace_set(folder.path("absent")).empty());
    EXPECT_THROW(trace::find_trace_set(folder.path("no/such")), std::system_error);
}

}  // namespace
}  // namespace millpond::test
