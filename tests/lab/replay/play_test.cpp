// SPDX-License-Identifier: BSL-1.0
// playing: every strategy gives every object aligned memory of its own until the object ends; a damaged script is
// refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "lab/replay/player.hpp"
#include "lab/replay/prepare.hpp"
#include "lab/replay/script_source.hpp"
#include "lab/replay/script_writer.hpp"
#include "random_program.hpp"
#include "replay_run.hpp"
#include "tests/lab/trace/seed.hpp"

namespace millpond::test {
namespace {

using program::json_object;
using replay::operation;
using replay::record;

const std::vector<std::string> strategies = {"recorded", "null", "multipool", "monotonic", "multipool(monotonic)"};

struct playing : ::testing::Test, replay_run {
    std::string script = in("t.script");

    json prepare(std::uint64_t random_seed, std::uint32_t threads, std::size_t events) const {
        random_program program(random_seed, threads);
        program.run(events);
        program.save(in("t.mpt"));
        return program::parse_json(replay::prepare({in("t.mpt"), "", true, script}));
    }

    // A script of one thread by hand. `records` must be in order.
    void write(const std::vector<record>& records, std::uint32_t slots, std::uint32_t pools) const {
        replay::script_header header{};
        header.slots = slots;
        header.threads = 1;
        std::uint64_t live = 0;
        replay::script_writer writer(script);
        for (const record& r : records) {
            writer.add(r, 0);
            live += r.op() == operation::allocate ? r.bytes() : 0 - r.bytes();
            header.peak_live_bytes = std::max(header.peak_live_bytes, live);
        }
        header.end_live_bytes = live;
        writer.finish(header, std::vector<replay::script_pool>(pools));
    }
};

// `check` fills every block with a pattern of its own and looks at it again when the block ends.
TEST_F(playing, blocks_are_aligned_and_disjoint_in_every_strategy_and_order) {
    SCOPED_TRACE("--seed=" + std::to_string(seed()));
    for (const std::uint32_t threads : {1u, 4u}) {
        const json summary = prepare(seed() + threads, threads, 20'000);
        for (const std::string order : {"total", "dependency"}) {
            for (const std::string& strategy : strategies) {
                const json round = play(script, {"--strategy", strategy, "--order", order, "--touch", "check"});
                ASSERT_EQ(last.status, 0) << strategy << ": " << last.message;
                EXPECT_EQ(round["status"], "ok") << strategy << " " << order << ": " << round["why"];
                EXPECT_EQ(round["records"], summary["records"]) << strategy << " " << order;
                EXPECT_EQ(round["peak_live_bytes"], summary["peak_live_bytes"]);
                EXPECT_EQ(round["end_live_bytes"], summary["end_live_bytes"]);
            }
        }
    }
}

TEST_F(playing, a_plans_script_plays_by_its_plan_and_no_other_does) {
    random_program program(seed(), 3);
    program.run(20'000);
    program.save(in("t.mpt"));
    const auto route = [](const char* subsystem, const char* pool, const char* strategy) {
        return json_object({{"subsystems", json::array({subsystem})}, {"pool", pool}, {"strategy", strategy}});
    };
    const json plan = json_object(
        {{"schema", "millpond.plan/1"},
         {"program", json_object({{"path", random_program::executable}, {"build_id", random_program::build_id}})},
         {"routes", json::array({route("libx.so", "a", "synchronized(multipool)"), route("*", "b", "multipool")})}});
    write_file(in("p.plan.json"), program::json_text(plan, -1));
    ASSERT_EQ(run({"--prepare", in("t.mpt"), "--plan", in("p.plan.json"), "-o", script, "--json", in("s.json")}).status,
              0);
    for (const std::string order : {"total", "dependency"}) {
        const json round = play(script, {"--strategy", "plan", "--order", order, "--touch", "check"});
        ASSERT_EQ(last.status, 0) << last.message;
        EXPECT_EQ(round["status"], "ok") << round["why"];
        EXPECT_GT(round["held_bytes"].get<std::uint64_t>(), 0u);
    }
    prepare(seed(), 1, 100);
    play(script, {"--strategy", "plan"});
    EXPECT_EQ(last.status, 2) << last.message;
}

TEST_F(playing, a_monotonic_is_reset_when_its_last_object_is_freed) {
    std::vector<record> records;
    constexpr std::uint32_t objects = 5000;
    for (int wave = 0; wave < 20; ++wave) {
        for (std::uint32_t i = 0; i < objects; ++i) records.emplace_back(operation::allocate, i, 64, 0, 1, 0);
        for (std::uint32_t i = objects; i-- > 0;) records.emplace_back(operation::free, i, 64, 0, 1, 0);
    }
    write(records, objects, 2);
    const std::uint64_t wave_bytes = objects * 64;
#if defined(__SANITIZE_ADDRESS__)
    constexpr std::uint64_t held_most = 4;  // there are gaps between blocks there
#else
    constexpr std::uint64_t held_most = 3;
#endif
    for (const std::string strategy : {"monotonic", "multipool(monotonic)"}) {
        const json round = play(script, {"--strategy", strategy});
        ASSERT_EQ(last.status, 0) << last.message;
        EXPECT_EQ(round["held_end_bytes"], 0u) << strategy;
        EXPECT_GE(round["held_bytes"].get<std::uint64_t>(), wave_bytes) << strategy;
        EXPECT_LT(round["held_bytes"].get<std::uint64_t>(), held_most * wave_bytes) << strategy;
    }
    EXPECT_GE(play(script, {"--strategy", "multipool"})["held_end_bytes"].get<std::uint64_t>(), wave_bytes);
    // An object alive at the end keeps the memory of all.
    records.emplace_back(operation::allocate, 0, 64, 0, 1, 0);
    write(records, objects, 2);
    EXPECT_GT(play(script, {"--strategy", "monotonic"})["held_end_bytes"].get<std::uint64_t>(), 0u);
}

TEST_F(playing, resident_bytes_are_those_of_the_blocks_and_go_when_they_do) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's shadow is resident, too";
#endif
    constexpr std::uint64_t bytes = std::uint64_t{64} << 20;
    write({record(operation::allocate, 0, bytes, 0, 0, 0), record(operation::free, 0, bytes, 0, 0, 0)}, 1, 1);
    const json null = play(script, {"--strategy", "null"});
    const json real = play(script, {"--strategy", "recorded"});
    const auto of = [](const json& round, const char* what) { return round[what].get<double>(); };
    // The kernel's counters lag by some tens of pages.
    EXPECT_NEAR(of(real, "peak_bytes") - of(null, "peak_bytes"), double{bytes}, 2e6);
    EXPECT_NEAR(of(real, "end_bytes"), of(null, "end_bytes"), 2e6);
    EXPECT_NEAR(of(real, "page_faults") - of(null, "page_faults"), double{bytes} / 4096, 200.0);
    EXPECT_LT(of(play(script, {"--touch", "none"}), "peak_bytes") - of(null, "peak_bytes"), 2e6);
    EXPECT_EQ(real["peak_live_bytes"], bytes);
}

TEST_F(playing, diffusion_is_pages_over_bytes) {
    std::vector<record> records;
    for (std::uint32_t i = 0; i < 4096; ++i) records.emplace_back(operation::allocate, i, 4096, 12, 0, 0);
    for (std::uint32_t i = 0; i < 4096; ++i)
        if (i % 2 != 0) records.emplace_back(operation::free, i, 4096, 12, 0, 0);
    write(records, 4096, 1);
    const json round = play(script, {"--diffusion", "2"});
    ASSERT_EQ(last.status, 0) << last.message;
    EXPECT_TRUE(round["cpu_seconds"].is_null());
    ASSERT_EQ(round["diffusion"].size(), 2u);
    EXPECT_EQ(round["diffusion"][0]["live_bytes"], 4096u * 4096);
    EXPECT_EQ(round["diffusion"][0]["page_bytes"], 4096u * 4096);
    EXPECT_EQ(round["diffusion"][1]["page_bytes"], 4096u * 2048);
    EXPECT_EQ(round["diffusion"][1]["event_share"], 1.0);
}

TEST_F(playing, an_unplayable_script_is_refused_with_its_status) {
    prepare(seed(), 1, 200);
    play(script, {"--strategy", "best"});
    EXPECT_EQ(last.status, 2);
    EXPECT_NE(last.message.find("multipool(monotonic)"), std::string::npos) << last.message;
    EXPECT_EQ(play(script, {"--pace"})["paced"], true);
    play(script, {"--pace", "--order", "dependency"});
    EXPECT_EQ(last.status, 2);
    play(in("none"), {});
    EXPECT_EQ(last.status, 3);
    play(in("t.mpt"), {});
    EXPECT_EQ(last.status, 3) << "a trace is no script";
    play(script, {"--malloc", in("none.so")});
    EXPECT_EQ(last.status, 3);
    EXPECT_NE(last.message.find("none.so"), std::string::npos) << last.message;
    play(script, {"--malloc", script});
    EXPECT_EQ(last.status, 3);
    EXPECT_NE(last.message.find("is not a malloc library"), std::string::npos) << last.message;
    EXPECT_EQ(run({"--play", script, "--result", in("no/place")}).status, 4);
    EXPECT_EQ(run({"--prepare", in("none.mpt"), "-o", in("x")}).status, 3);
    EXPECT_EQ(run({"--prepare", in("t.mpt"), "-o", in("no/place")}).status, 4);
    EXPECT_EQ(run({"--prepare", in("t.mpt")}).status, 2);
}

TEST_F(playing, memory_that_is_not_there_ends_the_round_and_says_so) {
    constexpr std::uint64_t too_much = std::uint64_t{1} << 43;
    write({record(operation::allocate, 0, too_much, 0, 1, 0)}, 1, 2);
    const json round = play(script, {"--strategy", "monotonic", "--touch", "none"});
    ASSERT_EQ(last.status, 0) << last.message;
    EXPECT_EQ(round["status"], "bad_alloc");
    EXPECT_EQ(round["records"], 0u);
    play(script, {"--strategy", "monotonic"});
    EXPECT_EQ(last.status, 4);
}

void read_all_of(const std::string& path) {
    replay::script_source source(path.c_str());
    while (!source.next().empty()) {
    }
}

int status_of_reading(const std::string& path) {
    try {
        read_all_of(path);
        return 0;
    } catch (const program::failure& error) {
        return error.status;
    }
}

TEST_F(playing, a_script_with_any_byte_changed_or_cut_anywhere_is_refused) {
    SCOPED_TRACE("--seed=" + std::to_string(seed()));
    prepare(seed(), 2, 9000);
    const std::string whole = read_file(script);
    EXPECT_EQ(status_of_reading(script), 0);
    std::mt19937_64 random(seed());
    for (int i = 0; i < 300; ++i) {
        std::string bytes = whole;
        const std::size_t at = i < 150 ? random() % 160 : random() % bytes.size();
        bytes[at] ^= static_cast<char>(1 << random() % 8);
        write_file(script, bytes);
        EXPECT_EQ(status_of_reading(script), 3) << "byte " << at;
    }
    for (int i = 0; i < 100; ++i) {
        const std::size_t kept = random() % whole.size();
        write_file(script, whole.substr(0, kept));
        EXPECT_EQ(status_of_reading(script), 3) << kept << " bytes";
    }
    write_file(script, whole + "x");
    EXPECT_EQ(status_of_reading(script), 3);
}

TEST_F(playing, records_that_contradict_one_another_are_refused) {
    const record born(operation::allocate, 0, 8, 0, 0, 0), freed(operation::free, 0, 8, 0, 0, 0);
    const record from(operation::resize_from, 0, 8, 0, 0, 0), to(operation::resize_to, 0, 9, 0, 0, 0);
    for (const std::vector<record>& wrong : {std::vector{freed},
                                             {born, born},
                                             {born, freed, freed},
                                             {born, to},
                                             {to},
                                             {born, from, born},
                                             {born, from, from},
                                             {record(operation::drop, 0, 8, 0, 0, 0)},
                                             {record(operation::allocate, 7, 8, 0, 0, 0)},
                                             {record(operation::allocate, 0, 8, 0, 9, 0)},
                                             {record(operation::allocate, 0, 8, 0, 0, 9)},
                                             {record(operation::allocate, 0, 8, 40, 0, 0)},
                                             {record(static_cast<operation>(7), 0, 8, 0, 0, 0)}}) {
        write(wrong, 1, 1);
        EXPECT_EQ(status_of_reading(script), 3);
    }
}

// A heap that gives every thread the same block.
struct sharing_heap {
    static constexpr bool is_null = false;
    std::array<char, 256> block{};
    void* allocate(const record&) noexcept { return block.data(); }
    void deallocate(const record&, void*) noexcept {}
    void* resize(const record&, const record&, void*) noexcept { return block.data(); }
};

TEST(player, the_check_finds_overlapping_and_misaligned_blocks) {
    sharing_heap heap;
    std::array<void*, 2> slots{};
    std::array<record, 1> pending{};
    replay::player<sharing_heap, replay::touch::check> overlapping(heap, slots.data(), pending.data());
    const std::array records{record(operation::allocate, 0, 100, 0, 0, 0), record(operation::allocate, 1, 8, 0, 0, 0),
                             record(operation::free, 0, 100, 0, 0, 0)};
    EXPECT_EQ(overlapping.play(records), 2u);
    EXPECT_EQ(overlapping.state(), replay::play_state::overwritten);
    replay::player<sharing_heap, replay::touch::check> crooked(heap, slots.data(), pending.data());
    const std::array asked{record(operation::allocate, 0, 1 << 20, 20, 0, 0)};
    EXPECT_EQ(crooked.play(asked), 0u);
    EXPECT_EQ(crooked.state(), replay::play_state::misaligned);
}

TEST_F(playing, a_script_that_is_damaged_far_in_ends_all_threads) {
    prepare(seed(), 4, 30'000);
    std::string bytes = read_file(script);
    bytes[bytes.size() - 200] ^= 1;
    write_file(script, bytes);
    play(script, {"--order", "dependency"});
    EXPECT_EQ(last.status, 3) << last.message;
}

}  // namespace
}  // namespace millpond::test
