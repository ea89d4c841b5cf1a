// SPDX-License-Identifier: BSL-1.0
// preparing: a script has the trace's content: every object once, the same bytes by the same threads in the same order.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <random>

#include "lab/characterise/characterisation.hpp"
#include "lab/program/json.hpp"
#include "lab/program/program.hpp"
#include "lab/replay/prepare.hpp"
#include "lab/replay/script_source.hpp"
#include "lab/replay/slot_stock.hpp"
#include "random_program.hpp"
#include "tests/lab/trace/hostile.hpp"
#include "tests/lab/trace/random_events.hpp"
#include "tests/lab/trace/seed.hpp"

namespace millpond::test {
namespace {

using program::json, program::json_object;
using replay::operation;
using replay::record;
using trace::event;

struct preparing : ::testing::Test {
    scratch_folder folder;
    std::string trace = folder.path("t.mpt"), script = folder.path("t.script");

    // Takes damaged traces: what is left of them is what these tests look at.
    json prepare(bool per_subsystem = false, const std::string& plan = "") const {
        return program::parse_json(replay::prepare({trace, plan, per_subsystem, script, true}));
    }
    std::vector<record> records() const {
        replay::script_source source(script.c_str());
        std::vector<record> all;
        for (auto some = source.next(); !some.empty(); some = source.next())
            all.insert(all.end(), some.begin(), some.end());
        return all;
    }
    std::string write_plan(const std::string& subsystem, const std::string& build_id,
                           const std::string& strategy = "multipool", const json& scope = nullptr) const {
        json route = json_object({{"subsystems", json::array({subsystem})}, {"pool", "one"}, {"strategy", strategy}});
        if (!scope.is_null()) route["scope"] = scope;
        const json plan =
            json_object({{"schema", "millpond.plan/1"},
                         {"program", json_object({{"path", random_program::executable}, {"build_id", build_id}})},
                         {"routes", json::array({route})}});
        write_file(folder.path("p.plan.json"), program::json_text(plan, -1));
        return folder.path("p.plan.json");
    }
};

// The history of one object, independent of slots and addresses.
struct life {
    std::uint64_t bytes;
    unsigned alignment_log2;
    bool zeroed, by_realloc;
    bool operator==(const life&) const = default;
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for this name
void PrintTo(const life& l, std::ostream* to) {
    *to << l.bytes << " bytes, 2^" << l.alignment_log2 << (l.zeroed ? ", zeroed" : "")
        << (l.by_realloc ? ", by realloc" : "");
}

// Returns the relevant events by definition: (object's life, begins or ends) in the total order.
std::vector<std::pair<life, bool>> lives_of(const std::vector<event>& events) {
    std::map<std::uint64_t, life> live;
    std::map<std::uint32_t, bool> resizing;
    std::vector<std::pair<life, bool>> told;
    for (const event& e : events) {
        const bool resized = std::exchange(resizing[e.thread], false);
        if (e.op == trace::operation::note) continue;
        if (e.op == trace::operation::free || e.op == trace::operation::realloc_free) {
            const auto found = live.find(e.address);
            if (found == live.end()) continue;
            told.emplace_back(found->second, false);
            live.erase(found);
            resizing[e.thread] = e.op == trace::operation::realloc_free;
        } else {
            const life born{e.bytes, e.alignment_log2, e.zeroed, e.op == trace::operation::realloc_allocate && resized};
            told.emplace_back(born, true);
            live.emplace(e.address, born);
        }
    }
    return told;
}

std::vector<std::pair<life, bool>> lives_of(const std::vector<record>& records) {
    std::map<std::uint32_t, life> live;
    std::vector<std::pair<life, bool>> told;
    for (const record& r : records) {
        if (r.op() == operation::drop || r.op() == operation::thread_end) continue;
        if (r.op() == operation::free || r.op() == operation::resize_from) {
            EXPECT_EQ(live.at(r.slot()).bytes, r.bytes());
            EXPECT_EQ(live.at(r.slot()).alignment_log2, r.alignment_log2());
            told.emplace_back(live.at(r.slot()), false);
            live.erase(r.slot());
        } else {
            const life born{r.bytes(), r.alignment_log2(), r.zeroed(), r.op() == operation::resize_to};
            told.emplace_back(born, true);
            EXPECT_TRUE(live.emplace(r.slot(), born).second);
        }
    }
    return told;
}

TEST_F(preparing, a_script_tells_every_objects_life_in_the_order_of_the_trace) {
    SCOPED_TRACE("--seed=" + std::to_string(seed()));
    for (const std::uint32_t threads : {1u, 2u, 7u}) {
        random_program program(seed() + threads, threads);
        const std::vector<event>& events = program.run(12'000);
        program.save(trace);
        prepare(threads == 2);
        EXPECT_EQ(lives_of(records()), lives_of(events)) << threads << " threads";
    }
}

TEST_F(preparing, live_bytes_are_exactly_those_of_the_characterisation) {
    SCOPED_TRACE("--seed=" + std::to_string(seed()));
    const auto compare = [&] {
        const json summary = prepare();
        const characterise::characterisation found(trace, {});
        const characterise::trace_totals& totals = found.counts().totals();
        EXPECT_EQ(summary["events"], totals.events);
        EXPECT_EQ(summary["peak_live_bytes"], totals.peak_bytes);
        EXPECT_EQ(summary["peak_live_objects"], totals.peak_objects);
        EXPECT_EQ(summary["end_live_bytes"], totals.live_bytes);
        EXPECT_EQ(summary["unmatched"], totals.unmatched_frees);
        EXPECT_EQ(summary["lost_frees"], totals.lost_frees);
        EXPECT_EQ(summary["mended"], totals.mended);
        records();  // checks itself against the header
    };
    for (const std::uint32_t threads : {1u, 5u}) {
        random_program program(seed() + threads, threads);
        program.run(8000);
        program.save(trace);
        compare();
        // Events of every kind, most of which no program could cause.
        recording unused, made;
        random_events wild(seed() + threads, threads, 4);
        for (event e : wild.record(unused, 8000)) {
            if (e.op != trace::operation::note) e.address &= (std::uint64_t{1} << 47) - 1;  // one that a machine has
            made.add(e, true);
        }
        made.close_all();
        made.save(trace);
        compare();
    }
}

TEST_F(preparing, slots_are_as_many_as_objects_at_the_peak) {
    random_program program(seed(), 1);
    program.run(10'000);
    program.save(trace);
    const json summary = prepare();
    // An object that realloc resizes keeps its slot while it counts as none.
    EXPECT_LE(summary["slots"].get<std::uint64_t>(), summary["peak_live_objects"].get<std::uint64_t>() + 1);
    EXPECT_GE(summary["slots"].get<std::uint64_t>(), summary["peak_live_objects"].get<std::uint64_t>());
}

TEST(slot_stock, gives_every_slot_to_one_object_and_a_thread_its_own_back) {
    SCOPED_TRACE("--seed=" + std::to_string(seed()));
    std::mt19937_64 random(seed());
    replay::slot_stock stock;
    std::vector<char> taken;
    std::vector<std::uint32_t> live;
    std::size_t peak = 0;
    for (int i = 0; i < 50'000; ++i) {
        const auto thread = static_cast<std::uint32_t>(random() % 5);
        if (live.empty() || random() % 100 < (i / 5000 % 2 == 0 ? 60u : 40u)) {
            const std::uint32_t slot = stock.take(thread);
            if (slot >= taken.size()) taken.resize(slot + 1);
            ASSERT_FALSE(std::exchange(taken[slot], 1));
            live.push_back(slot);
            peak = std::max(peak, live.size());
        } else {
            std::swap(live[random() % live.size()], live.back());
            const std::uint32_t slot = live.back();
            live.pop_back();
            taken[slot] = 0;
            stock.give(slot, thread);
            if (random() % 4 == 0) {
                ASSERT_EQ(stock.take(thread), slot);
                stock.give(slot, thread);
            }
        }
    }
    EXPECT_EQ(stock.count(), peak);
}

TEST_F(preparing, every_subsystem_has_a_pool_of_its_own) {
    random_program program(seed(), 3);
    program.run(5000);
    program.save(trace);
    const json summary = prepare(true);
    std::vector<std::string> names;
    std::uint64_t objects = 0;
    for (const json& pool : summary["pools"]) {
        names.push_back(pool["name"].text());
        objects += pool["objects"].get<std::uint64_t>();
        EXPECT_TRUE(pool["shared"].get<bool>());
    }
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{"[unknown]", "libx.so", "liby.so", "libz.so"}));
    const auto all = records();
    const auto begins = std::count_if(all.begin(), all.end(), [](const record& r) {
        return r.op() == operation::allocate || r.op() == operation::resize_to;
    });
    EXPECT_EQ(objects, static_cast<std::uint64_t>(begins));
}

TEST_F(preparing, a_plan_routes_what_it_names_and_leaves_the_rest_with_malloc) {
    random_program program(seed(), 2);
    program.run(6000);
    program.save(trace);
    const json summary = prepare(false, write_plan("liby.so", random_program::build_id, "synchronized(multipool)"));
    ASSERT_EQ(summary["pools"].size(), 1u);
    EXPECT_EQ(summary["pools"][0]["name"], "one");
    std::size_t pooled = 0, small = 0;
    for (const record& r : records()) {
        if (r.op() != operation::allocate) continue;
        pooled += r.pool() == 1;
        small += r.bytes() != 0 && r.bytes() <= 32768 && r.alignment_log2() <= 6;
        if (r.pool() == 1) {
            EXPECT_TRUE(r.bytes() >= 1 && r.bytes() <= 32768 && r.alignment_log2() <= 6);
        }
    }
    EXPECT_GT(pooled, small / 8);
    EXPECT_LT(pooled, small / 2);
}

TEST_F(preparing, a_pool_without_a_lock_serves_the_thread_that_came_first) {
    random_program program(seed(), 4);
    program.run(6000);
    program.save(trace);
    const json summary = prepare(false, write_plan("libx.so", random_program::build_id));
    EXPECT_GT(summary["pools"][0]["refused_other_threads"].get<std::uint64_t>(), 0u);
    std::optional<std::uint16_t> first;
    for (const record& r : records()) {
        // Numbers of threads are used again after their end; up to the first end they are the threads.
        if (r.op() == operation::thread_end) break;
        if (r.op() != operation::allocate || r.pool() == 0) continue;
        EXPECT_EQ(first.value_or(r.thread()), r.thread());
        first = r.thread();
    }
}

TEST_F(preparing, refuses_unknown_subsystems_and_builds_as_a_trial_does) {
    random_program program(seed(), 1);
    program.run(500);
    program.save(trace);
    try {
        prepare(false, write_plan("libxx.so", random_program::build_id));
        ADD_FAILURE() << "an unknown subsystem passed";
    } catch (const program::failure& error) {
        EXPECT_EQ(error.status, 2);
        EXPECT_NE(std::string(error.what()).find("near it: \"libx.so\""), std::string::npos) << error.what();
    }
    try {
        prepare(false, write_plan("libx.so", "abcd"));
        ADD_FAILURE() << "another build passed";
    } catch (const program::failure& error) {
        EXPECT_EQ(error.status, 3);
    }
    EXPECT_THROW(prepare(false, write_plan("libx.so", random_program::build_id, "winking")), program::failure);
    try {
        prepare(false, write_plan("libx.so", random_program::build_id, "monotonic", json_object({{"phase", true}})));
        ADD_FAILURE() << "an arena passed";
    } catch (const program::failure& error) {
        EXPECT_EQ(error.status, 2);
        EXPECT_NE(std::string(error.what()).find("\"one\" is an arena"), std::string::npos) << error.what();
    }
    EXPECT_FALSE(std::filesystem::exists(script));
}

TEST_F(preparing, damage_is_told_and_what_can_be_read_is_written) {
    SCOPED_TRACE("--seed=" + std::to_string(seed()));
    random_program program(seed(), 3);
    program.run(30'000);
    program.save(trace);
    const std::string whole = read_file(trace);
    std::mt19937_64 random(seed());
    bool told = false;
    for (int i = 0; i < 30; ++i) {
        std::string bytes = whole;
        for (int flips = 0; flips < 3; ++flips) bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
        if (i % 2 == 0) reseal(bytes);  // lies instead of damage
        write_file(trace, bytes);
        try {
            const json summary = prepare(true);
            told = told || !summary["damages"].empty();
            records();
        } catch (const trace::trace_error&) {
            // Reads a file of which no part could be read.
        }
    }
    EXPECT_TRUE(told);
}

}  // namespace
}  // namespace millpond::test
