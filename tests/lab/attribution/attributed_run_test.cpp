// SPDX-License-Identifier: BSL-1.0
// attributed_run on generated streams: random ones against literal_run, and small ones with known counts.
#include "lab/attribution/attributed_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "lab/program/program.hpp"
#include "literal_run.hpp"

namespace millpond::attribution {
namespace {

constexpr std::uint32_t subjects = 3;
constexpr std::uint32_t elsewhere = subjects + static_cast<std::uint32_t>(place::unknown);

cache_shape small_cache() {
    cache_shape shape;
    shape.sets = 4;
    shape.ways = 2;
    return shape;
}

// A stream of references in which contexts are subjects.
class stream {
  public:
    explicit stream(const cache_shape& shape = small_cache(), layout::region_map regions = {})
        : run(
              subjects, [](std::uint64_t context) { return static_cast<std::uint32_t>(context % subjects); }, shape,
              std::move(regions), 1000) {}

    void event(millpond_record record, std::vector<std::uint64_t> operands = {}, std::uint64_t thread = 1) {
        references::step step;
        step.thread = thread;
        step.event.record = record;
        for (std::size_t i = 0; i < operands.size(); ++i) step.event.operands[i] = operands[i];
        run.take(step);
    }
    void execute(std::vector<millpond_reference> references, std::uint64_t instructions = 1, bool in_allocator = false,
                 std::uint64_t thread = 1) {
        references::step step;
        step.thread = thread;
        step.instructions = instructions;
        step.in_allocator = in_allocator;
        step.references = references;
        run.take(step);
    }
    void load(std::uint64_t address, std::uint16_t bytes = 8, std::uint64_t thread = 1) {
        execute({{address, 0, bytes, millpond_load, millpond_of_program}}, 1, false, thread);
    }
    void allocate(std::uint64_t address, std::uint64_t bytes, std::uint64_t context, std::uint64_t thread = 1) {
        event(millpond_record_allocate, {address, bytes, context, 0}, thread);
    }

    attributed_run run;
};

// Compares random streams with the model: objects of many sizes in little memory, some with holes between them, some
// larger than a page.
void compare_with_model(std::uint64_t seed, std::uint64_t room, std::uint64_t bytes_max, unsigned steps) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t limit) { return random() % limit; };
    stream ours;
    test::literal_run model(4, 2);
    std::vector<std::uint64_t> live;
    for (unsigned i = 0; i < steps; ++i) {
        const std::uint64_t base = std::uint64_t{0x10000}, what = below(10);
        if (what == 0) {
            const std::uint64_t address = base + below(room / 16) * 16, bytes = below(bytes_max);
            const auto subject = static_cast<std::uint32_t>(below(subjects));
            ours.allocate(address, bytes, subject);
            model.allocate(address, bytes, subject);
            live.push_back(address);
        } else if (what == 1 && !live.empty()) {
            const std::uint64_t address = live[below(live.size())];
            ours.event(millpond_record_free, {address, 0});
            model.free(address);
        } else {
            const std::uint64_t address = base + below(room + 200);
            const auto bytes = static_cast<std::uint16_t>(below(8) == 0 ? below(65) : 1 + below(8));
            const auto thread = static_cast<std::uint32_t>(1 + below(3));
            ours.load(address, bytes, thread);
            model.take(thread, address, bytes, elsewhere);
        }
    }
    ours.run.finish();
    model.finish();
    std::uint64_t misses = 0;
    for (std::uint32_t subject = 0; subject < subjects; ++subject) {
        const miss_counts counts = ours.run.of_subject(subject);
        const footprint print = ours.run.footprint_of(subject);
        const test::literal_counts& wanted = model.of(subject);
        EXPECT_EQ(counts.references, wanted.references);
        EXPECT_EQ(counts.misses(), wanted.misses);
        EXPECT_EQ(counts.bytes.fetched, wanted.fetched);
        EXPECT_EQ(counts.bytes.useful, wanted.useful);
        EXPECT_EQ(ours.run.transitions(subject), wanted.transitions);
        EXPECT_EQ(print.lines, wanted.lines);
        EXPECT_EQ(print.packed_bytes, wanted.packed_bytes);
        EXPECT_EQ(print.lines_touched, wanted.lines_touched.size());
        misses += counts.misses();
    }
    EXPECT_EQ(ours.run.of_place(place::heap).misses(), misses);
    EXPECT_EQ(ours.run.of_place(place::unknown).references, model.of(elsewhere).references);
    EXPECT_EQ(ours.run.of_place(place::unknown).misses(), model.of(elsewhere).misses);
}

TEST(attributed_run, counts_small_objects_as_the_model_does) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) compare_with_model(seed, 2000, 120, 2000);
}

TEST(attributed_run, counts_objects_of_pages_as_the_model_does) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) compare_with_model(seed, 40000, 20000, 1500);
}

TEST(attributed_run, counts_large_objects_as_the_model_does) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) compare_with_model(seed, 600000, 300000, 1500);
}

TEST(attributed_run, tells_places_apart) {
    layout::region_map regions;
    regions.add({0x7000, 0x7FFF, layout::memory_kind::stack});
    regions.add({0x3000, 0x37FF, layout::memory_kind::global});
    regions.finish();
    stream one(small_cache(), std::move(regions));
    one.allocate(0x10000, 64, 1);
    one.load(0x10000);
    one.load(0x7008);
    one.load(0x7FF8);
    one.load(0x3000);
    one.load(0x3800);
    one.execute({{0x10008, 0, 8, millpond_store, millpond_of_system}});
    one.execute({{0x10010, 0, 8, millpond_store, millpond_of_allocator}}, 5, true);
    one.run.finish();
    EXPECT_EQ(one.run.of_place(place::heap).references, 1);
    EXPECT_EQ(one.run.of_place(place::stack).references, 2);
    EXPECT_EQ(one.run.of_place(place::global).references, 1);
    EXPECT_EQ(one.run.of_place(place::unknown).references, 1);
    EXPECT_EQ(one.run.of_place(place::system).references, 1);
    EXPECT_EQ(one.run.of_place(place::allocator).references, 1);
    EXPECT_EQ(one.run.totals().references, 7);
    EXPECT_EQ(one.run.totals().allocator_instructions, 5);
}

TEST(attributed_run, gives_the_allocators_work_to_the_owner_of_the_call) {
    stream one;
    const auto work = [&](std::uint64_t instructions) { one.execute({}, instructions, true); };
    one.event(millpond_record_enter, {1});
    work(10);
    one.event(millpond_record_leave);
    one.allocate(0x10000, 32, 1);
    one.event(millpond_record_enter, {1});  // gives nothing
    work(100);
    one.event(millpond_record_leave);
    one.load(0x10000);
    one.event(millpond_record_enter, {1});  // realloc: of what it gives
    work(7);
    one.event(millpond_record_leave);
    one.event(millpond_record_free, {0x10000, 1});
    one.allocate(0x20000, 64, 2);
    one.event(millpond_record_enter, {2});
    one.event(millpond_record_signal, {10});
    one.event(millpond_record_enter, {1});  // in a handler
    work(1000);
    one.event(millpond_record_leave);
    one.allocate(0x30000, 16, 0);
    one.event(millpond_record_resume, {1});
    one.event(millpond_record_free, {0x20000, 0});
    work(3);
    one.event(millpond_record_leave);
    one.run.finish();
    EXPECT_EQ(one.run.work_for(1).instructions, 10);
    EXPECT_EQ(one.run.work_for(1).calls, 1);
    EXPECT_EQ(one.run.work_for(2).instructions, 10);
    EXPECT_EQ(one.run.work_for(2).calls, 2);
    EXPECT_EQ(one.run.work_for(0).instructions, 1000);
    EXPECT_EQ(one.run.work_for_unknown().instructions, 100);
}

// Checks the spans of calls. `are_freed`: the calls free their objects; otherwise the objects stay alive.
void expect_spans(bool are_freed) {
    stream one;
    const auto call = [&](std::uint32_t subject, std::uint64_t address, std::uint32_t thread) {
        one.event(millpond_record_enter, {1}, thread);
        one.execute({}, 10, true, thread);
        one.event(millpond_record_leave, {}, thread);
        one.allocate(address, 16, subject, thread);
        if (are_freed) one.event(millpond_record_free, {address}, thread);
    };
    one.execute({}, 1000, false, 1);  // before its first operation
    call(1, 0x10000, 1);
    one.execute({}, 100, false, 1);
    one.execute({}, 500, false, 2);
    call(1, 0x20000, 2);
    call(1, 0x30000, 1);
    one.execute({}, 2000, false, 1);  // behind its last
    one.run.finish();
    std::vector<allocator_work> works = one.run.work_by_thread(1);
    ASSERT_EQ(works.size(), 2);
    std::sort(works.begin(), works.end(), [](const auto& a, const auto& b) { return a.calls > b.calls; });
    EXPECT_EQ(works[0].instructions, 20);
    EXPECT_EQ(works[0].own.length(), are_freed ? 120 : 2120);  // 10 + 100 + 10 of its own, and 2000 to the end
    EXPECT_EQ(works[0].all.first, 1000);
    EXPECT_EQ(works[0].all.last, are_freed ? 1630 : 3630);
    EXPECT_EQ(works[1].own.length(), 10);
    EXPECT_EQ(works[1].all.first, 1610);
    EXPECT_TRUE(one.run.work_by_thread(2).empty());
    EXPECT_EQ(one.run.work_for(1).instructions, 30);
}

TEST(attributed_run, knows_when_each_thread_worked_for_a_subject) { expect_spans(true); }

TEST(attributed_run, a_subject_lasts_while_an_object_is_alive) { expect_spans(false); }

TEST(attributed_run, transitions_are_those_of_each_thread) {
    stream one;
    one.allocate(0x10000, 64, 0);
    one.allocate(0x20000, 64, 1);
    for (int i = 0; i < 10; ++i) {
        one.load(0x10000, 8, 1);
        one.load(0x20000, 8, 2);
    }
    EXPECT_EQ(one.run.transitions(0) + one.run.transitions(1), 0);
    for (int i = 0; i < 10; ++i) {
        one.load(0x10000, 8, 1);
        one.load(0x500);  // on the way
        one.load(0x20000, 8, 1);
    }
    EXPECT_EQ(one.run.transitions(0), 10);
    EXPECT_EQ(one.run.transitions(1), 9);
}

TEST(attributed_run, takes_impossible_addresses) {
    stream one;
    for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{5000}, ~std::uint64_t{0}}) {
        for (const std::uint64_t address : {std::uint64_t{0}, ~std::uint64_t{0} - 100, ~std::uint64_t{0}}) {
            one.allocate(address, bytes, 1);
            one.load(address, 64);
            one.load(~std::uint64_t{0} - 3, 8);
            one.event(millpond_record_free, {address, 0});
            one.event(millpond_record_free, {address, 0});
        }
    }
    one.run.finish();
    EXPECT_EQ(one.run.totals().references, 18);
}

TEST(attributed_run, the_picture_has_every_reference) {
    stream one;
    std::mt19937_64 random(7);
    for (int i = 0; i < 30000; ++i) one.load(random() % (std::uint64_t{1} << (12 + i % 30)), 1);
    one.run.finish();
    const reference_map::picture drawn = one.run.map().draw();
    std::uint64_t references = 0, misses = 0;
    for (const auto& cell : drawn.cells) {
        ASSERT_LT(cell.row, drawn.rows.size());
        ASSERT_LT(cell.column, reference_map::columns);
        references += cell.references;
        misses += cell.misses;
    }
    EXPECT_EQ(references, 30000);
    EXPECT_EQ(misses, one.run.of_place(place::unknown).misses());
    EXPECT_LE(drawn.rows.size(), reference_map::rows_max);
    for (std::size_t i = 1; i < drawn.rows.size(); ++i) {
        const auto& below = drawn.rows[i - 1];
        EXPECT_EQ(drawn.rows[i].first, below.first + below.bytes + drawn.rows[i].gap_bytes);
    }
}

TEST(cache_shape, takes_one_cache) {
    const cache_shape shape = cache_shape::of("attributed:line=128,size=64K,ways=4,replacement=fifo");
    EXPECT_EQ(shape.sets, 128);
    EXPECT_EQ(shape.ways, 4);
    EXPECT_EQ(shape.line_bytes, 128);
    EXPECT_EQ(cache_shape::of(cache_shape::standard).sets, 64);
    for (const char* wrong : {"", "lru:line=64,sets=1-64,ways=8", "levels:line=64,size=32K/1M,ways=8/16",
                              "attributed:", "attributed:line=64,size=32K,ways=8,split=no"})
        EXPECT_THROW(cache_shape::of(wrong), program::failure) << wrong;
}

}  // namespace
}  // namespace millpond::attribution
