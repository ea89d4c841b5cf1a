// SPDX-License-Identifier: BSL-1.0
// The JSON of a characterisation: figures computed by hand, the golden trace, and the program's exit statuses.
#include "lab/characterise/characterisation.hpp"
#include "lab/characterise/characterisation_json.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "lab/characterise/candidate_plans.hpp"
#include "lab/program/program.hpp"
#include "lab/trace/finish.hpp"
#include "small_program.hpp"
#include "tests/lab/trace/recording.hpp"

namespace millpond::test {
namespace {

using characterise::characterisation;
using characterise::json;
using trace::event;

// Writes the trace of a program in which one tick is one nanosecond.
std::string write_trace(const scratch_folder& folder, const small_program& program, const std::vector<event>& events,
                        bool clean = true, std::uint64_t stopped_early = 0) {
    recording made;
    trace::process_record process;
    process.pid = 42;
    process.executable = "/usr/bin/shop";
    process.build_id = "0123456789abcdef0123";
    process.arguments = {"shop", "--open"};
    process.start_ticks = process.start_ns = 1;
    made.put_process(process);
    made.put_contexts(1, std::span(program.nodes()).subspan(1));
    for (const event& e : events) made.add(e, true);
    made.close_all();
    const std::string partial = folder.path("partial"), path = folder.path("trace.mpt");
    write_file(partial, made.slot_file());
    trace::end_record end;
    end.clean = clean;
    end.stopped_early = stopped_early;
    end.end_ticks = end.end_ns = 1'000'000'001;
    finish(partial, path, end);
    return path;
}

struct characterised : ::testing::Test {
    scratch_folder folder;
    small_program program;
    std::uint64_t stopped_early = 0;

    json of(const std::vector<event>& events, bool clean = true, const std::string& window = {}) {
        const std::string path = write_trace(folder, program, events, clean, stopped_early);
        const symbols::context_functions functions = program.functions();
        std::optional<characterise::window_request> wanted;
        if (!window.empty()) wanted = characterise::window_request::parse(window);
        const characterisation found(path, trace::reader(path), functions, {}, wanted,
                                     {.phases = true, .patterns = true});
        plans = characterise::candidate_plans(found);
        return to_json(found);
    }
    static json subsystem(const json& all, const std::string& name) {
        for (const json& one : all.at("subsystems")) {
            if (one.at("name") == name) return one;
        }
        return nullptr;
    }
    static json scope(const json& one, const std::string& name) {
        for (const json& s : one.at("legality")) {
            if (s.at("name") == name) return s;
        }
        return nullptr;
    }

    std::vector<characterise::candidate_plan> plans;
};

TEST_F(characterised, a_subsystem_has_the_dimensions_that_hands_compute) {
    const std::uint32_t main = program.frame(0, "main");
    const std::uint32_t add = program.frame(main, "book::add");
    // Two sizes, 16 and 64 bytes, equally often in eight objects. All operations take 10 ticks, and one object is live
    // at a time.
    std::vector<event> events;
    for (std::uint64_t i = 0; i < 8; ++i) {
        events.push_back(allocation(100'000 * (2 * i + 1), 1, 0x1000, i % 2 ? 64 : 16, add, 10));
        events.push_back(deallocation(100'000 * (2 * i + 2), 1, 0x1000, 10));
    }
    const json book = subsystem(of(events), "book");
    EXPECT_EQ(book["events"], 16);
    EXPECT_EQ(book["bytes"], 320);
    EXPECT_EQ(book["peak_live_bytes"], 64);
    EXPECT_EQ(book["end_live_objects"], 0);
    EXPECT_NEAR(book["effective_sizes"].get<double>(), 2, 1e-9);
    EXPECT_NEAR(book["dvluc"]["V"]["value"].get<double>(), 0.5, 1e-9);
    EXPECT_NEAR(book["dvluc"]["U"]["value"].get<double>(), 0.2, 1e-9);
    EXPECT_EQ(book["dvluc"]["C"]["value"], 0);
    EXPECT_TRUE(book["dvluc"]["L"]["value"].is_null());
    EXPECT_EQ(book["dvluc"]["L"]["why_null"], "no references captured");
    // The recording says 1000 ns of CPU for its only block; 16 operations of 10 ns within it.
    EXPECT_NEAR(book["operation_seconds"].get<double>(), 160e-9, 1e-15);
    EXPECT_NEAR(book["N"]["cpu_seconds"].get<double>(), 1000e-9, 1e-15);
    EXPECT_TRUE(book["dvluc"]["D"]["value"].is_null()) << "CPU time does not say how fast the rest of it runs";
    EXPECT_EQ(book["dvluc"]["D"]["method"], "CPU time");
    EXPECT_EQ(book["W"], 1);
    EXPECT_NEAR(book["lifetimes"]["max"].get<double>(), 1e-4, 1e-12);
}

TEST_F(characterised, cpu_time_tells_density_where_hardly_anything_else_runs) {
    const std::uint32_t add = program.frame(program.frame(0, "main"), "book::add");
    // 20 operations of 50 ns in 1000 ns of CPU: 40 each are certain, and the 200 left may have run four times as fast.
    std::vector<event> events;
    for (std::uint64_t i = 0; i < 10; ++i) {
        events.push_back(allocation(100'000 * (2 * i + 1), 1, 0x1000, 16, add, 50));
        events.push_back(deallocation(100'000 * (2 * i + 2), 1, 0x1000, 50));
    }
    const json density = subsystem(of(events), "book")["dvluc"]["D"];
    EXPECT_NEAR(density["absolute"]["at_least"].get<double>(), 0.5, 1e-9);
    EXPECT_NEAR(density["value"].get<double>(), std::sqrt(0.5), 1e-9);
    EXPECT_EQ(density["method"], "CPU time");
    EXPECT_FALSE(density.contains("why_null"));
}

TEST_F(characterised, cpu_time_counts_to_the_end_while_an_object_is_alive) {
    const std::uint32_t add = program.frame(program.frame(0, "main"), "book::add");
    const std::uint32_t later = program.frame(0, "page::print");
    std::vector<event> events{allocation(100'000, 1, 0x1000, 16, add, 10), allocation(200'000, 1, 0x2000, 16, add, 10),
                              allocation(400'000, 1, 0x3000, 16, later, 10), deallocation(500'000, 1, 0x3000, 10)};
    EXPECT_NEAR(subsystem(of(events), "book")["N"]["cpu_seconds"].get<double>(), 1000e-9, 1e-15);
    const std::vector<event> frees{deallocation(300'000, 1, 0x1000, 10), deallocation(300'000, 1, 0x2000, 10)};
    events.insert(events.end() - 2, frees.begin(), frees.end());
    EXPECT_NEAR(subsystem(of(events), "book")["N"]["cpu_seconds"].get<double>(), 500e-9, 1e-15);
}

TEST_F(characterised, a_window_has_its_own_operations_sizes_and_cpu_time) {
    const std::uint32_t add = program.frame(program.frame(0, "main"), "book::add");
    std::vector<event> events;
    for (std::uint64_t i = 0; i < 10; ++i)
        events.push_back(allocation(100'000 * (i + 1), 1, 0x1000 + 64 * i, i < 5 ? 16 : 32, add, 10));
    events.push_back(deallocation(1'100'000, 1, 0x1000, 10));
    const json book = subsystem(of(events, true, "events=6:11"), "book");
    EXPECT_EQ(book["dvluc"]["D"]["absolute"]["operations"], 6);
    EXPECT_EQ(book["dvluc"]["V"]["value"], 0) << "one size in the window";
    EXPECT_EQ(book["dvluc"]["U"]["absolute"]["bytes"], 5 * 16 + 5 * 32) << "what is alive counts as asked for";
    EXPECT_EQ(book["dvluc"]["U"]["absolute"]["peak_live_bytes"], 240);
    EXPECT_EQ(book["bytes"], 240) << "all else is of the whole trace";
    EXPECT_NEAR(book["N"]["cpu_seconds"].get<double>(), 500e-9, 1e-15);
    const json seconds = subsystem(of(events, true, "seconds=0.0004:0.0008"), "book");
    EXPECT_EQ(seconds["dvluc"]["D"]["absolute"]["operations"], 5) << "of 0.5, 0.6, … 0.9 ms";
    EXPECT_NEAR(seconds["N"]["cpu_seconds"].get<double>(), 400e-9, 1e-15);
    const json early = subsystem(of(events, true, "events=1:3"), "book");
    EXPECT_EQ(early["dvluc"]["U"]["value"], 1);
    const json freed = subsystem(of(events, true, "events=11:11"), "book");
    EXPECT_TRUE(freed["dvluc"]["V"]["value"].is_null()) << "nothing is allocated there";
}

TEST_F(characterised, windows_that_do_not_fit_are_refused) {
    const std::uint32_t add = program.frame(program.frame(0, "main"), "book::add");
    const std::vector<event> events{allocation(100'000, 1, 0x1000, 16, add, 10), deallocation(200'000, 1, 0x1000, 10)};
    for (const auto& [window, why] : std::vector<std::pair<std::string, std::string>>{
             {"events=1:3", "the trace has 2 events"},
             {"events=2:1", "it ends before it begins"},
             {"events=0:1", "events are counted from 1"},
             {"events=1.5:", "whole numbers"},
             {"seconds=7:9", "no event lies in it"},
             {"seconds=x:9", "is no number"},
             {"scope=run", "observed no call of any function"},
             {"run", "a window is events=FROM:TO, seconds=FROM:TO or scope=FUNCTION"}}) {
        try {
            of(events, true, window);
            ADD_FAILURE() << window;
        } catch (const program::failure& refused) {
            EXPECT_EQ(refused.status, program::usage);
            EXPECT_NE(std::string(refused.what()).find(why), std::string::npos) << refused.what();
        }
    }
}

TEST_F(characterised, a_window_of_a_scope_lies_between_its_first_call_and_its_last) {
    const std::uint32_t add = program.frame(program.frame(0, "main"), "book::add");
    const std::uint32_t run = program.frame(0, "run"), other = program.frame(0, "other");
    std::vector<event> events;
    const auto note = [](std::uint64_t tick, std::uint64_t subject, std::uint32_t node) {
        event made{};
        made.op = trace::operation::note;
        made.thread = 1;
        made.time_ticks = tick;
        made.bytes = subject;
        made.address = node;
        return made;
    };
    for (std::uint64_t i = 0; i < 10; ++i) {
        if (i == 3 || i == 6) events.push_back(note(100'000 * (i + 1), mpt_note_entered, run));
        if (i == 5 || i == 8) events.push_back(note(100'000 * (i + 1), mpt_note_left, run));
        if (i == 9) events.push_back(note(100'000 * (i + 1), mpt_note_entered, other));
        events.push_back(allocation(100'000 * (i + 1), 1, 0x1000 + 64 * i, 16, add, 10));
    }
    const json all = of(events, true, "scope=run");
    EXPECT_EQ(all["window"]["first_event"], 4);
    EXPECT_EQ(all["window"]["last_event"], 8);
    EXPECT_EQ(subsystem(all, "book")["dvluc"]["D"]["absolute"]["operations"], 5);
    EXPECT_THROW(of(events, true, "scope=absent"), program::failure);
}

TEST_F(characterised, two_threads_contend_for_their_shares_of_the_time) {
    const std::uint32_t add = program.frame(program.frame(0, "main"), "book::add");
    // Over 300 000 ns each thread performs 30 operations of 1000 ns: a tenth of the time each.
    std::vector<event> events;
    for (std::uint64_t i = 0; i < 60; ++i)
        events.push_back(allocation(1000 + i * 300'000 / 59, i % 2 + 1, 0x1000 + 64 * i, 32, add, 1000));
    const json book = subsystem(of(events), "book");
    EXPECT_EQ(book["W"], 2);
    EXPECT_NEAR(book["dvluc"]["C"]["absolute"]["threads_inside"].get<double>(), 2 * 0.1 * 0.1, 1e-4);
    EXPECT_NEAR(book["dvluc"]["C"]["value"].get<double>(), 0.01, 1e-4);
    EXPECT_EQ(plans.at(0).plan["routes"][0]["strategy"], "synchronized(multipool)");
}

TEST_F(characterised, an_object_that_outlives_a_scope_is_shown_as_witness) {
    const std::uint32_t main = program.frame(0, "main");
    const std::uint32_t add = program.frame(program.frame(main, "run"), "book::add");
    const std::uint32_t later = program.frame(main, "page::print");
    const std::vector<event> events{allocation(1'000'000, 1, 0x1000, 40, add),
                                    allocation(2'000'000, 1, 0x2000, 16, later), deallocation(3'000'000, 2, 0x1000)};
    const json all = of(events);
    const json book = subsystem(all, "book"), page = subsystem(all, "page");
    EXPECT_EQ(scope(book, "run")["legal"], false);
    EXPECT_EQ(scope(book, "run")["outliving"], 1);
    EXPECT_EQ(scope(book, "run")["legality"], "illegal");
    EXPECT_EQ(scope(book, "main")["legal"], false) << "nothing is legal that was not observed";
    EXPECT_EQ(scope(book, "main")["legality"], "not disproved");
    EXPECT_EQ(scope(book, "main")["activations"], nullptr);
    EXPECT_EQ(scope(book, "of the allocation")["legal"], true);
    EXPECT_EQ(book["freed_by_other_threads"], 1);
    const json seen = scope(book, "run")["witnesses"][0];
    EXPECT_EQ(seen["stack"], json::array({"book::add", "run", "main"}));
    EXPECT_EQ(seen["bytes"], 40);
    EXPECT_EQ(seen["ended"], "freed after the scope ended, by thread 2");
    for (const json& s : page["legality"]) {
        EXPECT_EQ(s["legal"], false) << s;
        EXPECT_EQ(s["outliving"], 0) << "the trace ends within its scopes";
    }
    EXPECT_EQ(scope(page, "main")["running_at_end"], 1);
    EXPECT_EQ(scope(page, "of the allocation")["legality"], "alive at the end");
}

TEST_F(characterised, an_object_never_freed_is_alive_at_the_end) {
    const std::uint32_t main = program.frame(0, "main");
    const std::uint32_t add = program.frame(program.frame(main, "load"), "book::add");
    const std::uint32_t later = program.frame(main, "page::print");
    const std::vector<event> events{allocation(1'000'000, 1, 0x1000, 40, add),
                                    allocation(2'000'000, 1, 0x2000, 16, later), deallocation(3'000'000, 1, 0x2000)};
    const json book = subsystem(of(events), "book");
    EXPECT_EQ(scope(book, "load")["legality"], "alive at the end");
    EXPECT_EQ(scope(book, "load")["alive_at_end"], 1);
    EXPECT_EQ(scope(book, "load")["outliving"], 0);
    EXPECT_EQ(scope(book, "load")["witnesses"][0]["ended"], "still live at exit");
    EXPECT_EQ(scope(book, "main")["legality"], "not disproved") << "main had not ended";
    for (const auto& one : plans)
        EXPECT_EQ(program::json_text(one.plan["routes"]).find("arena of load"), std::string::npos);
}

TEST_F(characterised, a_trace_that_was_cut_decides_only_what_a_witness_proves) {
    const std::uint32_t main = program.frame(0, "main");
    const std::uint32_t add = program.frame(program.frame(main, "load"), "book::add");
    const std::uint32_t later = program.frame(main, "page::print");
    const std::vector<event> events{allocation(1'000'000, 1, 0x1000, 40, add),
                                    allocation(2'000'000, 1, 0x2000, 16, later), deallocation(3'000'000, 1, 0x1000)};
    stopped_early = 1;
    const json all = of(events);
    EXPECT_NE(all["trace"]["partial"].get<std::string>().find("--max-trace"), std::string::npos);
    EXPECT_EQ(scope(subsystem(all, "book"), "load")["legality"], "illegal");
    const json page = subsystem(all, "page");
    for (const json& s : page["legality"]) {
        EXPECT_EQ(s["legality"], "not decided") << s;
        EXPECT_EQ(s["legal"], false);
        EXPECT_EQ(s["why_not_observed"], all["trace"]["partial"]);
    }
}

TEST_F(characterised, the_order_of_scopes_is_from_the_innermost_outward) {
    std::uint32_t at = program.frame(0, "main");
    for (int i = 0; i < 20; ++i) at = program.frame(at, "level" + std::to_string(i));
    const json one = subsystem(of({allocation(1'000'000, 1, 0x1000, 8, at)}), "level19");
    EXPECT_EQ(one["legality"].size(), 7u);
    EXPECT_EQ(one["legality"][0]["name"], "level19");
    EXPECT_EQ(one["legality"][5]["name"], "main");
    EXPECT_EQ(one["legality"][6]["scope"], "thread");
}

TEST_F(characterised, large_subsystems_get_plans_and_small_ones_none) {
    const std::uint32_t main = program.frame(0, "main");
    const std::uint32_t large = program.frame(main, "book::add"), small = program.frame(main, "page::print");
    const std::uint32_t nobody = program.frame(0, "std::f");
    std::vector<event> events;
    for (std::uint64_t i = 0; i < 400; ++i)
        events.push_back(allocation(1000 * (i + 1), 1, 0x1000 + 64 * i, 48, i == 0 ? small : i % 4 ? large : nobody));
    of(events);
    ASSERT_EQ(plans.size(), 2u);
    EXPECT_EQ(plans[0].file_name, "01-book.plan.json");
    EXPECT_EQ(plans[0].plan["program"]["build_id"], "0123456789abcdef0123");
    EXPECT_EQ(plans[0].plan["routes"],
              program::parse_json(
                  R"([{"subsystems": ["book"], "pool": "book", "strategy": "multipool", "huge_pages": false}])"));
    EXPECT_EQ(plans[1].file_name, "all.plan.json");
}

TEST_F(characterised, only_legal_scopes_get_an_arena_that_subsystems_share) {
    const std::uint32_t main = program.frame(0, "main"), request = program.frame(main, "server::handle");
    const std::uint32_t node = program.frame(request, "tree::add"), name = program.frame(request, "names::intern");
    const std::uint32_t kept = program.frame(main, "cache::add");
    std::vector<event> events;
    for (std::uint64_t i = 0; i < 50; ++i) {
        const std::uint64_t at = 10'000 * (i + 1);
        events.push_back(allocation(at, 1, 0x1000, 48, node));
        events.push_back(allocation(at + 1000, 1, 0x2000, 16, name));
        events.push_back(deallocation(at + 2000, 1, 0x1000));
        events.push_back(deallocation(at + 3000, 1, 0x2000));
        events.push_back(allocation(at + 4000, 1, 0x10000 + 64 * i, 64, kept));
    }
    of(events);
    std::vector<json> arenas;
    for (const auto& one : plans) {
        if (one.file_name.starts_with("arena-")) arenas.push_back(one.plan["routes"]);
    }
    // Without observations, the plan takes the outermost scope that no object is known to have left, except main.
    ASSERT_EQ(arenas.size(), 1u) << "what the cache keeps outlives every scope";
    EXPECT_EQ(arenas[0], program::parse_json(R"([{"subsystems": ["tree", "names"],
                                                  "pool": "arena of server::handle",
                                                  "strategy": "monotonic",
                                                  "huge_pages": false,
                                                  "scope": {"phase": true}}])"));
}

TEST_F(characterised, a_program_without_heap_events_has_no_subsystems) {
    const json all = of({});
    EXPECT_EQ(all["trace"]["events"], 0);
    EXPECT_TRUE(all["trace"]["named_share"].is_null());
    EXPECT_TRUE(all["subsystems"].empty());
    EXPECT_TRUE(plans.empty());
}

TEST_F(characterised, diffusion_has_at_most_64_points_and_follows_the_pages) {
    const std::uint32_t add = program.frame(program.frame(0, "main"), "book::add");
    std::vector<event> events;
    for (std::uint64_t i = 0; i < 1000; ++i)
        events.push_back(allocation(1000 * (i + 1), 1, 0x100000 + 4096 * i, 64, add));
    const json book = subsystem(of(events), "book");
    EXPECT_LE(book["diffusion"].size(), 64u);
    EXPECT_GE(book["diffusion"].size(), 32u);
    for (const json& point : book["diffusion"]) EXPECT_DOUBLE_EQ(point["ratio"].get<double>(), 64);
}

TEST_F(characterised, a_thread_that_hardly_allocates_is_not_counted_in_w) {
    const std::uint32_t add = program.frame(program.frame(0, "main"), "book::add");
    std::vector<event> events{allocation(500, 2, 0x900000, 64, add)};
    for (std::uint64_t i = 0; i < 1000; ++i)
        events.push_back(allocation(1000 * (i + 1), 1, 0x100000 + 4096 * i, 64, add));
    const json book = subsystem(of(events), "book");
    EXPECT_EQ(book["W"], 1);
    EXPECT_EQ(book["threads"], 2);
    EXPECT_EQ(book["dvluc"]["C"]["value"], 0);
}

// Expects equal values, except for the last digits of numbers that come from a mathematics library.
void expect_close(const json& found, const json& expected, const std::string& where) {
    if (found.is_number() && expected.is_number()) {
        const double a = found.get<double>(), b = expected.get<double>();
        EXPECT_NEAR(a, b, 1e-9 * std::max(std::abs(a), std::abs(b))) << where;
    } else if (found.is_object() && expected.is_object()) {
        EXPECT_EQ(found.size(), expected.size()) << where;
        for (const auto& [key, value] : expected.items()) {
            ASSERT_TRUE(found.contains(key)) << where << "." << key;
            expect_close(found.at(key), value, where + "." + key);
        }
    } else if (found.is_array() && expected.is_array() && found.size() == expected.size()) {
        for (std::size_t i = 0; i < expected.size(); ++i)
            expect_close(found[i], expected[i], where + "[" + std::to_string(i) + "]");
    } else {
        EXPECT_EQ(found, expected) << where;
    }
}

TEST(golden_characterisation, output_is_unchanged) {
    json found = to_json(characterisation(MILLPOND_GOLDEN_TRACE, {}, std::nullopt, {.phases = true, .patterns = true}));
    found["trace"]["path"] = "three_threads.mpt";
    const std::string expected = MILLPOND_SOURCE_DIR "/three_threads.json";
    if (std::getenv("MILLPOND_REGENERATE") != nullptr) write_file(expected, program::json_text(found, 1) + "\n");
    expect_close(found, program::parse_json(read_file(expected)), "characterisation");
}

struct program_run : ::testing::Test {
    scratch_folder folder;
    std::string said;

    int run(const std::string& arguments) {
        const std::string out = folder.path("said");
        const int status = std::system((MILLPOND_CHARACTERISE " " + arguments + " > " + out + " 2>&1").c_str());
        said = read_file(out);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    std::string file(const std::string& name, const std::string& bytes) const {
        write_file(folder.path(name), bytes);
        return folder.path(name);
    }
};

TEST_F(program_run, writes_the_tree_of_contexts_with_all_that_was_allocated) {
    ASSERT_EQ(run("--contexts " + folder.path("contexts") + " " MILLPOND_GOLDEN_TRACE), 0);
    const json facts = program::parse_json(said)["trace"];
    const json contexts = program::parse_json(read_file(folder.path("contexts")));
    std::uint64_t objects = 0, bytes = 0, live_objects = 0, live_bytes = 0, number = 0;
    for (const json& node : contexts["nodes"]) {
        EXPECT_LE(node[0].get<std::uint64_t>(), number++);
        EXPECT_LT(node[1].get<std::size_t>(), contexts["functions"].size());
        EXPECT_EQ(node[2].get<int>() < 0, node[3] == 0);
        objects += node[3].get<std::uint64_t>();
        bytes += node[4].get<std::uint64_t>();
        live_objects += node[5].get<std::uint64_t>();
        live_bytes += node[6].get<std::uint64_t>();
    }
    EXPECT_EQ(objects, facts["allocations"].get<std::uint64_t>() + facts["reallocations"].get<std::uint64_t>());
    EXPECT_EQ(bytes, facts["bytes"]);
    EXPECT_EQ(live_objects, facts["end_live_objects"]);
    EXPECT_EQ(live_bytes, facts["end_live_bytes"]);
    std::uint64_t peak_bytes = 0;
    ASSERT_EQ(contexts["peak_bytes"].size(), contexts["nodes"].size());
    for (std::size_t i = 0; i < contexts["nodes"].size(); ++i) {
        const auto live = contexts["peak_bytes"][i].get<std::uint64_t>();
        EXPECT_LE(live, contexts["nodes"][i][4].get<std::uint64_t>());
        peak_bytes += live;
    }
    EXPECT_EQ(peak_bytes, facts["peak_live_bytes"]);
}

TEST_F(program_run, refuses_what_is_no_trace_with_status_3) {
    for (const std::string& path : {folder.path("missing"), file("empty", ""), file("text", "not a trace at all"),
                                    file("cut", read_file(MILLPOND_GOLDEN_TRACE).substr(0, 40))}) {
        EXPECT_EQ(run(path), 3) << path;
        EXPECT_TRUE(said.starts_with("millpond: ")) << said;
        EXPECT_NE(said.find(path), std::string::npos) << said;
        EXPECT_EQ(run("--summary " + path), 3) << path;
    }
}

TEST_F(program_run, refuses_a_wrong_command_line_with_status_2) {
    EXPECT_EQ(run(""), 2);
    EXPECT_EQ(run("--no-such-option x"), 2);
    EXPECT_EQ(run("--group nonsense " MILLPOND_GOLDEN_TRACE), 2);
    EXPECT_EQ(run(MILLPOND_GOLDEN_TRACE " " MILLPOND_GOLDEN_TRACE), 2);
    EXPECT_TRUE(said.starts_with("millpond: ")) << said;
    EXPECT_EQ(run("--help"), 0);
}

TEST_F(program_run, says_with_status_4_where_it_cannot_write) {
    EXPECT_EQ(run("--json /proc/nowhere/x.json " MILLPOND_GOLDEN_TRACE), 4);
    EXPECT_TRUE(said.starts_with("millpond: ")) << said;
    EXPECT_EQ(run("--plan-out /proc/nowhere " MILLPOND_GOLDEN_TRACE), 4);
    EXPECT_EQ(run("--json /dev/full " MILLPOND_GOLDEN_TRACE), 4);
    EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST_F(program_run, writes_whole_files_and_nothing_else) {
    const std::string out = folder.path("out.json"), plans = folder.path("plans");
    EXPECT_EQ(run("--json " + out + " --plan-out " + plans + " " MILLPOND_GOLDEN_TRACE), 0) << said;
    EXPECT_EQ(program::parse_json(read_file(out))["schema"], "millpond.characterisation/1");
    EXPECT_TRUE(std::filesystem::is_directory(plans));
    EXPECT_EQ(said, "");
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path(".")))
        EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos);
}

TEST_F(program_run, summarises_traces_as_an_array) {
    ASSERT_EQ(run("--summary " MILLPOND_GOLDEN_TRACE " " MILLPOND_GOLDEN_TRACE), 0);
    const json two = program::parse_json(said);
    ASSERT_EQ(two.size(), 2u);
    ASSERT_EQ(run("--summary " MILLPOND_GOLDEN_TRACE), 0);
    const json only = program::parse_json(said);
    ASSERT_EQ(only.size(), 1u);
    const json& one = only[0];
    const json whole =
        to_json(characterisation(MILLPOND_GOLDEN_TRACE, {}, std::nullopt, {.phases = true, .patterns = true}));
    EXPECT_EQ(one, two[0]);
    for (const char* key : {"events", "allocations", "frees", "reallocations", "bytes", "threads", "damages", "clean"})
        EXPECT_EQ(one["trace"][key], whole["trace"][key]) << key;
    EXPECT_EQ(one["process"], whole["process"]);
}

TEST_F(program_run, sizes_take_no_options_of_subsystems) {
    EXPECT_EQ(run("--sizes " MILLPOND_GOLDEN_TRACE), 0);
    for (const char* wrong : {"--summary", "--contexts x", "--granule 12", "--granule 16 --largest 100", "--moments 0"})
        EXPECT_EQ(run(std::string("--sizes ") + wrong + " " MILLPOND_GOLDEN_TRACE), 2) << wrong;
}

}  // namespace
}  // namespace millpond::test
