// SPDX-License-Identifier: BSL-1.0
// Written traces are read back unchanged: every kind of event, raw and finished, in rows and in columns, whole and
// merged.
#include <gtest/gtest.h>

#include "lab/trace/block_output.hpp"
#include "lab/trace/finish.hpp"
#include "random_events.hpp"
#include "seed.hpp"

namespace millpond::test {
namespace {

using trace::event;
using trace::reader;

constexpr std::uint32_t context_count = 5000;

struct made_trace {
    scratch_folder folder;
    std::string raw = folder.path("raw"), partial = folder.path("t.mpt.partial"), out = folder.path("t.mpt");
    std::vector<event> events;

    made_trace(std::uint64_t seed, std::uint32_t threads, std::size_t count, std::uint32_t slot_bytes) {
        recording made(slot_bytes);
        made.put_process(
            {.pid = 7, .executable = "/bin/x", .arguments = {"x", "y z"}, .start_ticks = 1000, .start_ns = 500});
        made.put_contexts(1, random_contexts(seed, context_count - 1));
        events = random_events(seed, threads, context_count).record(made, count);
        made.save(raw);
        write_file(partial, made.slot_file());
    }
};

struct shape {
    std::uint32_t threads;
    std::size_t events;
    std::uint32_t slot_bytes;
};

class round_trip : public ::testing::TestWithParam<shape> {};

TEST_P(round_trip, a_finished_trace_has_every_event_in_merged_order) {
    const auto [threads, count, slot_bytes] = GetParam();
    for (std::uint64_t round = 0; round < 3; ++round) {
        SCOPED_TRACE("--seed=" + std::to_string(seed() + round));
        const made_trace made(seed() + round, threads, count, slot_bytes);
        const trace::finish_result result = finish(made.partial, made.out);
        EXPECT_EQ(result.events, count);
        EXPECT_TRUE(result.damages.empty());
        EXPECT_EQ(result.stored_bytes, std::filesystem::file_size(made.out));
        reader opened(made.out);
        EXPECT_EQ(opened.event_count(), count);
        EXPECT_EQ(opened.blocks().size(), result.blocks);
        EXPECT_EQ(to_text(read_all(opened)), to_text(in_order(made.events)));
        EXPECT_TRUE(opened.damages().empty());
    }
}

TEST_P(round_trip, a_raw_file_is_a_trace_of_its_closed_blocks) {
    const auto [threads, count, slot_bytes] = GetParam();
    SCOPED_TRACE("--seed=" + std::to_string(seed()));
    scratch_folder folder;
    recording made(slot_bytes);
    made.put_process({});
    made.put_contexts(1, random_contexts(seed(), context_count - 1));
    const std::vector<event> events = random_events(seed(), threads, context_count).record(made, count);
    made.close_all();
    made.save(folder.path("raw"));
    reader opened(folder.path("raw"));
    EXPECT_EQ(to_text(read_all(opened)), to_text(in_order(events)));
    ASSERT_EQ(opened.damages().size(), 1u);
    EXPECT_NE(opened.damages()[0].what.find("index"), std::string::npos);
    EXPECT_FALSE(opened.process().ended);
}

INSTANTIATE_TEST_SUITE_P(shapes, round_trip,
                         ::testing::Values(shape{1, 1, 65536}, shape{1, 20000, 65536}, shape{2, 20000, 65536},
                                           shape{3, 5000, 256}, shape{40, 20000, 4096}, shape{300, 3000, 65536}));

TEST(reading, is_the_same_a_second_time_and_without_an_index) {
    const made_trace made(seed(), 4, 10000, 8192);
    finish(made.partial, made.out);
    reader opened(made.out);
    const std::vector<std::string> first = to_text(read_all(opened));
    EXPECT_EQ(first, to_text(read_all(opened)));
    const std::string whole = read_file(made.out);
    const std::string bare = made.folder.path("bare.mpt");
    write_file(bare, whole.substr(0, whole.size() - 16));
    EXPECT_EQ(first, to_text(read_all(bare)));
    EXPECT_TRUE(trace::rebuild_index(bare).empty());
    EXPECT_EQ(read_file(bare), whole);
}

TEST(reading, keeps_each_streams_order_despite_its_clock) {
    scratch_folder folder;
    recording made(256);
    std::mt19937_64 random(seed());
    // Every block starts at an arbitrary time: between blocks a stream's clock may go back.
    std::map<std::uint32_t, std::vector<std::string>> expected, got;
    for (std::uint64_t i = 1; i <= 3000; ++i) {
        const auto thread = static_cast<std::uint32_t>(1 + random() % 5);
        const event e{1 + random() % 1000, 16 * i, 0, 0, thread, 0, trace::operation::free, 0, false};
        made.add(e, true);
        expected[thread].push_back(std::to_string(e.address));
    }
    made.close_all();
    made.save(folder.path("raw"));
    for (const event& e : read_all(folder.path("raw"))) got[e.thread].push_back(std::to_string(e.address));
    EXPECT_EQ(got, expected);
}

TEST(records, come_back_as_they_were_written) {
    scratch_folder folder;
    recording made;
    made.put_process({.pid = 300,
                      .parent_pid = 299,
                      .image = 2,
                      .first_tick = 99,
                      .executable = "/usr/bin/prog",
                      .build_id = "00ff7a",
                      .malloc_provider = "/lib/libother.so",
                      .arguments = {"prog", "", "--x"},
                      .start_ticks = 1000,
                      .start_ns = 2000});
    made.put_module({2, 0x1000, 0x2000, 0x3000, "/lib/a.so", "0aff", 5, 0});
    made.put_module({2, 0x1000, 0x2000, 0x3000, "/lib/a.so", "0aff", 5, 77});
    const std::vector<trace::context_node> nodes = random_contexts(seed(), 1000);
    made.put_contexts(501, std::span(nodes).subspan(500));  // blocks of several threads may come in any order
    made.put_contexts(1, std::span(nodes).first(500));
    write_file(folder.path("partial"), made.slot_file());
    trace::end_record end{
        .exit_status = 3, .signal = 11, .end_ticks = 7000, .end_ns = 5000, .events_lost = 12, .clean = true};
    end.stopped_early = 28;
    end.aliasing_sampled = 100;
    end.aliasing_differed = 1;
    end.aliasing_differed_deep = 2;
    end.allocations_failed = 4;
    const trace::slot_reader from(folder.path("partial"));
    trace::finish(from, from.processes().at(0), folder.path("t.mpt"), {.image = 2}, end);
    const reader opened(folder.path("t.mpt"));
    const trace::process_record& p = opened.process();
    EXPECT_EQ(p.pid, 300u);
    EXPECT_EQ(p.parent_pid, 299u);
    EXPECT_EQ(p.image, 2u);
    EXPECT_EQ(p.first_tick, 99u);
    EXPECT_EQ(p.executable, "/usr/bin/prog");
    EXPECT_EQ(p.build_id, "00ff7a");
    EXPECT_EQ(p.malloc_provider, "/lib/libother.so");
    EXPECT_EQ(p.arguments, (std::vector<std::string>{"prog", "", "--x"}));
    EXPECT_TRUE(p.ended);
    EXPECT_TRUE(p.clean);
    EXPECT_EQ(p.exit_status, 3);
    EXPECT_EQ(p.signal, 11);
    EXPECT_EQ(p.events_lost, 12u);
    EXPECT_EQ(p.stopped_early, 28u);
    EXPECT_EQ(p.aliasing_sampled, 100u);
    EXPECT_EQ(p.aliasing_differed, 1u);
    EXPECT_EQ(p.aliasing_differed_deep, 2u);
    EXPECT_EQ(p.allocations_failed, 4u);
    EXPECT_DOUBLE_EQ(opened.ticks_per_ns(), 2.0);
    ASSERT_EQ(opened.modules().size(), 2u);
    EXPECT_EQ(opened.modules()[0].id, 1u);
    EXPECT_EQ(opened.modules()[0].path, "");
    EXPECT_EQ(opened.modules()[1].path, "/lib/a.so");
    EXPECT_EQ(opened.modules()[1].build_id, "0aff");
    EXPECT_EQ(opened.modules()[1].unload_tick, 77u);
    ASSERT_EQ(opened.contexts().size(), 1001u);
    for (std::size_t id = 1; id <= 1000; ++id) {
        EXPECT_EQ(opened.contexts()[id].parent, nodes[id - 1].parent);
        EXPECT_EQ(opened.contexts()[id].module, nodes[id - 1].module);
        EXPECT_EQ(opened.contexts()[id].offset, nodes[id - 1].offset);
    }
    EXPECT_TRUE(opened.damages().empty());
}

}  // namespace
}  // namespace millpond::test
