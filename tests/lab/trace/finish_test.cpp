// SPDX-License-Identifier: BSL-1.0
// finish: keeps every event that can be kept, however the recorder died, and leaves OUT either complete or unchanged.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>

#include "lab/trace/block_output.hpp"
#include "lab/trace/finish.hpp"
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
    std::string partial = folder.path("t.mpt.partial"), out = folder.path("t.mpt");
    recording made{slot_bytes};
    std::vector<event> events;

    void SetUp() override {
        made.put_process({.pid = 1});
        made.put_contexts(1, random_contexts(seed(), context_count - 1));
        events = random_events(seed(), 3, context_count).record(made, 5000);
        write_file(partial, made.slot_file());
    }
    std::vector<std::string> expected() const { return to_text(in_order(events)); }
};

TEST_F(killed, open_blocks_are_salvaged_to_the_last_event) {
    EXPECT_TRUE(finish(partial, out).damages.empty());
    EXPECT_EQ(to_text(read_all(out)), expected());
}

TEST_F(killed, a_block_that_lies_in_two_slots_counts_once) {
    const std::vector<std::string> open = made.open_blocks();
    made.close_all();
    write_file(partial, made.slot_file(made.closed_blocks(), open));
    EXPECT_EQ(finish(partial, out).events, events.size());
    EXPECT_EQ(to_text(read_all(out)), expected());
}

TEST_F(killed, blocks_of_a_thread_are_in_order_wherever_they_lie) {
    std::vector<std::string> sealed = made.closed_blocks();
    std::shuffle(sealed.begin() + 2, sealed.end(), std::mt19937_64(seed()));
    write_file(partial, made.slot_file(sealed, made.open_blocks()));
    EXPECT_TRUE(finish(partial, out).damages.empty());
    EXPECT_EQ(to_text(read_all(out)), expected());
    EXPECT_TRUE(reader(out).damages().empty());
}

TEST_F(killed, a_slot_is_taken_up_to_its_first_undecodable_byte) {
    std::string file = made.slot_file();
    mpt_block_header header;
    const std::uint64_t offset = made.first_open_slot() + sizeof(mpt_slot);
    char* block = file.data() + offset;
    std::memcpy(&header, block, sizeof header);
    ASSERT_GT(header.stored_bytes, 0u);
    block[sizeof header + header.stored_bytes] = static_cast<char>(mpt_steps + int{mpt_byte_address});  // no tag
    header.stored_bytes += 1;
    std::memcpy(block, &header, sizeof header);
    write_file(partial, file);
    const trace::finish_result result = finish(partial, out);
    ASSERT_EQ(result.damages.size(), 1u);
    EXPECT_EQ(result.damages[0].offset, offset);
    EXPECT_EQ(to_text(read_all(out)), expected());
}

TEST_F(killed, damaged_slot_files_are_reported_and_never_followed) {
    std::mt19937_64 random(seed());
    const std::string whole = made.slot_file();
    for (int round = 0; round < 300; ++round) {
        std::string file = whole;
        const std::size_t slots = file.size() / made.file_slot_bytes();
        for (int i = 0; i < 8; ++i) {
            // The heads are where it hurts.
            const std::size_t slot = (random() % slots) * made.file_slot_bytes();
            file[slot + random() % (sizeof(mpt_slot) + sizeof(mpt_block_header))] = static_cast<char>(random());
        }
        write_file(partial, file.substr(0, random() % 4 ? file.size() : random() % file.size()));
        try {
            const trace::finish_result result = finish(partial, out);
            EXPECT_EQ(read_all(out).size(), result.events);
        } catch (const trace::trace_error& refused) {
            EXPECT_STRNE(refused.what(), "");
        }
    }
}

TEST_F(killed, before_its_first_sealed_block_leaves_a_trace_of_open_blocks) {
    recording short_lived(slot_bytes);
    const std::vector<event> few = random_events(seed(), 2, 1).record(short_lived, 20);
    write_file(partial, short_lived.slot_file());
    EXPECT_EQ(finish(partial, out).events, 20u);
    EXPECT_EQ(to_text(read_all(out)), to_text(in_order(few)));
}

TEST_F(killed, the_open_block_of_contexts_is_taken_to_its_last_whole_node) {
    const std::vector<trace::context_node> more = random_contexts(seed(), context_count + 9);
    trace::field_writer nodes;
    for (std::uint32_t id = context_count; id < context_count + 10; ++id) trace::put_context(id, more[id - 1], nodes);
    std::string block(slot_bytes, '\0');
    mpt_block_header header = trace::make_header(mpt_contexts, 0, 1, context_count);
    header.magic = mpt_magic;
    header.version = mpt_version;
    header.stored_bytes = static_cast<std::uint32_t>(nodes.bytes().size() - 1);  // killed inside the tenth
    std::memcpy(block.data(), &header, sizeof header);
    std::memcpy(block.data() + sizeof header, nodes.bytes().data(), nodes.bytes().size());
    std::vector<std::string> open = made.open_blocks();
    open.push_back(block);
    write_file(partial, made.slot_file(made.closed_blocks(), open));
    EXPECT_EQ(finish(partial, out).damages.size(), 1u);
    reader opened(out);
    ASSERT_EQ(opened.contexts().size(), context_count + 9u);
    EXPECT_EQ(opened.contexts().back().offset, more[context_count + 7].offset);
    EXPECT_EQ(to_text(read_all(opened)), expected());
}

TEST_F(killed, finishing_again_writes_the_same_trace) {
    finish(partial, out, {.exit_status = 4});
    const std::string once = read_file(out);
    EXPECT_EQ(finish(partial, out, {.exit_status = 4}).events, events.size());
    EXPECT_EQ(read_file(out), once);
    EXPECT_EQ(reader(out).process().exit_status, 4);
}

TEST_F(killed, a_finished_process_keeps_its_number_and_loses_its_events) {
    {
        trace::slot_reader from(partial);
        from.mark_finished(from.processes().front());
    }
    const trace::slot_reader from(partial);
    ASSERT_EQ(from.processes().size(), 1u);
    EXPECT_EQ(from.processes().front().facts.finished, 1u);
    EXPECT_EQ(from.processes().front().facts.pid, 1u);
}

TEST_F(killed, image_and_recording_are_in_the_trace) {
    const trace::slot_reader from(partial);
    trace::finish(from, from.processes().front(), out, {.image = 3, .recording = 0x123456789abcdefu}, {});
    EXPECT_EQ(reader(out).process().image, 3u);
    EXPECT_EQ(reader(out).process().recording, 0x123456789abcdefu);
    EXPECT_EQ(trace::read_origin(out).recording, 0x123456789abcdefu);
}

TEST_F(killed, a_program_without_heap_events_leaves_a_trace_without_events) {
    recording quiet;
    quiet.put_process({.pid = 5});
    write_file(partial, quiet.slot_file());
    EXPECT_EQ(finish(partial, out, {.clean = true}).events, 0u);
    reader opened(out);
    EXPECT_TRUE(read_all(opened).empty());
    EXPECT_TRUE(opened.process().clean);
    EXPECT_TRUE(opened.damages().empty());
}

TEST_F(killed, empty_input_is_an_error_and_leaves_no_file) {
    write_file(partial, recording(slot_bytes).slot_file());
    EXPECT_THROW(finish(partial, out), trace::trace_error);
    for (const char* content : {"", "this is no trace at all, however long it may be"}) {
        write_file(partial, content);
        EXPECT_THROW(finish(partial, out), trace::trace_error);
        EXPECT_FALSE(trace::slot_reader::is_slot_file(partial));
    }
    EXPECT_THROW(finish(folder.path("absent"), out), std::system_error);
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"t.mpt.partial"}));
}

TEST_F(killed, a_full_disk_leaves_the_old_trace_and_nothing_half_written) {
    const std::string raw = folder.path("raw");
    made.save(raw);
    write_file(out, "the old one");
    struct rlimit before;
    ::getrlimit(RLIMIT_FSIZE, &before);
    const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit small{2000, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    EXPECT_THROW(finish(partial, out), std::system_error);
    EXPECT_THROW(trace::rebuild_index(raw), std::system_error);
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, old_handler);
    EXPECT_EQ(read_file(out), "the old one");
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"raw", "t.mpt", "t.mpt.partial"}));
    EXPECT_THROW(finish(partial, folder.path("no/such/folder")), std::system_error);
}

TEST_F(killed, only_the_owner_may_read_a_trace_by_default) {
    finish(partial, out);
    EXPECT_EQ(std::filesystem::status(out).permissions(), std::filesystem::perms(0600));
    const trace::slot_reader from(partial);
    trace::finish(from, from.processes().front(), out, {.mode = 0640}, {});
    EXPECT_EQ(std::filesystem::status(out).permissions(), std::filesystem::perms(0640));
    trace::rebuild_index(out);
    EXPECT_EQ(std::filesystem::status(out).permissions(), std::filesystem::perms(0640));
}

TEST_F(killed, damaged_sealed_blocks_are_left_out_and_the_index_is_whole) {
    std::vector<std::string> sealed = made.closed_blocks();
    std::string& victim = sealed[sealed.size() / 2];
    mpt_block_header header;
    std::memcpy(&header, victim.data(), sizeof header);
    victim[80] = static_cast<char>(victim[80] ^ 1);
    write_file(partial, made.slot_file(sealed, made.open_blocks()));
    const trace::finish_result result = finish(partial, out);
    ASSERT_EQ(result.damages.size(), 1u);
    EXPECT_EQ(result.events, events.size() - header.count);
    reader opened(out);
    EXPECT_EQ(read_all(opened).size(), result.events);
    ASSERT_EQ(opened.damages().size(), 1u);  // the stream's gap is seen
    EXPECT_NE(opened.damages()[0].what.find("misses blocks"), std::string::npos);
}

// Writes a small trace of the given recording to `path`.
void write_trace(const std::string& path, std::uint64_t number) {
    recording made;
    made.put_process({.pid = 7, .recording = number});
    made.save(path);
}

std::vector<std::string> names_of(const std::vector<trace::trace_file>& files) {
    std::vector<std::string> names;
    for (const trace::trace_file& file : files) names.push_back(std::filesystem::path(file.path).filename());
    return names;
}

TEST(trace_set, is_the_file_and_its_numbered_siblings_in_order) {
    scratch_folder folder;
    for (const char* name : {"t.mpt", "t.mpt.20", "t.mpt.3", "t.mpt.3.1", "t.mpt.x", "t.mpt.3.", "t.mpt.3.1.2",
                             "t.mpt.", "t.mpt.partial", "other.mpt"})
        write_trace(folder.path(name), 5);
    std::filesystem::create_directory(folder.path("t.mpt.4"));
    EXPECT_EQ(names_of(trace::find_trace_set(folder.path("t.mpt"))),
              (std::vector<std::string>{"t.mpt", "t.mpt.3", "t.mpt.3.1", "t.mpt.20"}));
    EXPECT_TRUE(trace::find_trace_set(folder.path("absent")).empty());
    EXPECT_THROW(trace::find_trace_set(folder.path("no/such")), std::system_error);
}

TEST(trace_set, has_no_files_that_only_have_such_names) {
    scratch_folder folder;
    write_trace(folder.path("t.mpt"), 5);
    write_trace(folder.path("t.mpt.1"), 5);
    write_trace(folder.path("t.mpt.2"), 6);
    write_trace(folder.path("t.mpt.3"), 0);
    write_file(folder.path("t.mpt.20261123"), "rotated log");
    write_file(folder.path("t.mpt.4"), "");
    EXPECT_EQ(names_of(trace::find_trace_set(folder.path("t.mpt"))), (std::vector<std::string>{"t.mpt", "t.mpt.1"}));
    write_file(folder.path("t.mpt"), "a log");
    EXPECT_EQ(names_of(trace::find_trace_set(folder.path("t.mpt"))), (std::vector<std::string>{"t.mpt"}));
}

}  // namespace
}  // namespace millpond::test
