// SPDX-License-Identifier: BSL-1.0
// The pass over events against a model that keeps all events and searches them, on random and on exhaustive cases.
#include "lab/characterise/event_counts.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "literal_model.hpp"
#include "small_program.hpp"
#include "tests/lab/trace/seed.hpp"

namespace millpond::test {
namespace {

using characterise::subsystem_counts;
using trace::event;
using trace::operation;

struct expected_counts {
    std::uint64_t live = 0, peak = 0, live_objects = 0, peak_objects = 0, objects = 0, bytes = 0, frees = 0,
                  reallocs = 0;
    std::uint64_t by_others = 0, first_empty = 0, last_empty = 0, outlived_thread = 0, left_by_thread = 0;
    characterise::histogram lifetimes;
    std::vector<std::uint64_t> sizes = std::vector<std::uint64_t>(characterise::size_class_count);
};

void expect_same_counts(const pass& found, const std::vector<event>& events) {
    std::map<std::uint32_t, expected_counts> expected;
    std::map<std::uint64_t, event> live;
    std::set<std::uint32_t> ended;
    std::uint64_t unmatched = 0;
    for (const event& e : events) {
        if (e.op == operation::note && e.bytes == mpt_note_thread_end) ended.insert(e.thread);
        if (begins(e)) {
            live[e.address] = e;
            expected_counts& s = expected[found.subsystems.subsystem_of(e.context)];
            ++s.objects;
            s.reallocs += e.op == operation::realloc_allocate;
            s.bytes += e.bytes;
            s.peak = std::max(s.peak, s.live += e.bytes);
            s.peak_objects = std::max(s.peak_objects, ++s.live_objects);
            ++s.sizes[characterise::size_class_of(e.bytes)];
        } else if (ends(e)) {
            const auto object = live.find(e.address);
            if (object == live.end()) {
                ++unmatched;
                continue;
            }
            const event& born = object->second;
            expected_counts& s = expected[found.subsystems.subsystem_of(born.context)];
            s.frees += e.op == operation::free;
            s.by_others += e.thread != born.thread;
            s.outlived_thread += ended.contains(born.thread);
            s.live -= born.bytes;
            s.lifetimes.add(e.time_ticks - born.time_ticks);
            if (--s.live_objects == 0) {
                if (s.first_empty == 0) s.first_empty = e.time_ticks;
                s.last_empty = e.time_ticks;
            }
            live.erase(object);
        }
    }
    for (const auto& [address, born] : live)
        expected[found.subsystems.subsystem_of(born.context)].left_by_thread += ended.contains(born.thread);
    EXPECT_EQ(found.counted.totals().unmatched_frees, unmatched);
    for (const auto& [subsystem, e] : expected) {
        const subsystem_counts& s = found.counted.subsystems()[subsystem];
        SCOPED_TRACE(found.subsystems.subsystems()[subsystem].name);
        EXPECT_EQ(s.live_bytes, e.live);
        EXPECT_EQ(s.peak_bytes, e.peak);
        EXPECT_EQ(s.live_objects, e.live_objects);
        EXPECT_EQ(s.peak_objects, e.peak_objects);
        EXPECT_EQ(s.objects, e.objects);
        EXPECT_EQ(s.reallocations, e.reallocs);
        EXPECT_EQ(s.bytes, e.bytes);
        EXPECT_EQ(s.frees, e.frees);
        EXPECT_EQ(s.freed_by_others, e.by_others);
        EXPECT_EQ(s.outlived_thread, e.outlived_thread);
        EXPECT_EQ(s.left_by_thread, e.left_by_thread);
        EXPECT_EQ(s.first_empty_tick, e.first_empty);
        EXPECT_EQ(s.last_empty_tick, e.last_empty);
        EXPECT_EQ(s.sizes, e.sizes);
        EXPECT_EQ(s.lifetimes_ns.octaves(), e.lifetimes.octaves());
        for (const double share : {0.1, 0.5, 0.9, 1.0})
            EXPECT_EQ(s.lifetimes_ns.percentile(share), e.lifetimes.percentile(share));
    }
}

void expect_same_legality(const small_program& program, const pass& found, const std::vector<event>& events) {
    const literal_model literal(program, events);
    const std::vector<literal_model::life> lives = literal.lives();
    for (std::uint32_t s = 0; s < found.subsystems.subsystems().size(); ++s) {
        for (const std::uint32_t function : found.scopes.candidates(s)) {
            SCOPED_TRACE(found.subsystems.subsystems()[s].name + " within " + program.name(function));
            std::uint64_t outlived = 0, left = 0, enclosed = 0;
            for (const literal_model::life& object : lives) {
                if (found.subsystems.subsystem_of(events[object.born].context) != s) continue;
                if (!literal.enclosed(object, function)) continue;
                ++enclosed;
                (literal.is_left(object) ? left : outlived) += literal.outlived(object, function);
            }
            EXPECT_EQ(found.outlived(s, function), std::pair(outlived, enclosed));
            EXPECT_EQ(found.left(s, function), left);
            const std::multiset<std::uint64_t> instances = literal.instances(found, s, function);
            for (const characterise::candidate_record& record : found.counted.legality().candidates(s)) {
                if (record.function != function) continue;
                EXPECT_EQ(record.instance_bytes.count(), instances.size());
                if (!instances.empty()) {
                    EXPECT_EQ(record.instance_bytes.max(), *instances.rbegin());
                }
                EXPECT_EQ(record.witnesses.empty(), outlived + left == 0);
            }
        }
    }
}

// A tree of frames in which functions call one another, themselves, and the library.
small_program random_program(std::mt19937_64& random, std::vector<std::uint32_t>& contexts) {
    const std::string names[] = {"main",   "a::f", "a::g", "b::f", "b::g", "run", "std::vector<int>::push_back",
                                 "xmalloc"};
    small_program program;
    std::vector<std::uint32_t> nodes{0};
    const std::size_t count = 3 + random() % 14;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t caller = nodes[random() % nodes.size()];
        const std::string& name = caller == 0 ? names[0] : names[random() % std::size(names)];
        nodes.push_back(program.frame(caller, name, i));
        contexts.push_back(nodes.back());
    }
    return program;
}

std::vector<event> random_events(std::mt19937_64& random, const std::vector<std::uint32_t>& contexts,
                                 std::size_t count) {
    const auto threads = static_cast<std::uint32_t>(1 + random() % 3);
    std::vector<event> events;
    std::vector<std::uint64_t> live;
    std::set<std::uint32_t> ended;
    // Far enough apart that no event seems to be a hand-off stamped in the wrong order.
    constexpr std::uint64_t step = 1 << 20;
    std::uint64_t time = step, next = 0x1000;
    for (std::size_t i = 0; i < count; ++i) {
        time += random() % 4 ? step + random() % step : step;
        const auto thread = static_cast<std::uint32_t>(1 + random() % threads);
        if (ended.contains(thread)) continue;
        const auto context = contexts[random() % contexts.size()];
        const std::uint64_t what = random() % 16;
        if (what < 7 || live.empty()) {
            events.push_back(allocation(time, thread, next, random() % 300, context));
            live.push_back(next);
            next += 512;
        } else if (what < 13) {
            const std::size_t at = random() % live.size();
            events.push_back(deallocation(time, thread, live[at]));
            live.erase(live.begin() + static_cast<long>(at));
        } else if (what == 13) {
            const std::size_t at = random() % live.size();
            events.push_back(deallocation(time, thread, live[at]));
            events.back().op = operation::realloc_free;
            events.push_back(allocation(time, thread, live[at], random() % 300, context));
            events.back().op = operation::realloc_allocate;
        } else if (what == 14) {
            events.push_back(note(time, thread, mpt_note_returned, random() % 4));
        } else if (random() % 8 == 0 && threads > 1) {
            events.push_back(note(time, thread, mpt_note_thread_end, 0));
            ended.insert(thread);
        } else {
            events.push_back(deallocation(time, thread, 0xdead0000 + i * 64));  // from before the trace
        }
    }
    return events;
}

TEST(event_counts, agrees_with_a_model) {
    std::mt19937_64 random(seed());
    for (int round = 0; round < 150; ++round) {
        std::vector<std::uint32_t> contexts;
        const small_program program = random_program(random, contexts);
        const std::vector<event> events = random_events(random, contexts, 1 + random() % 400);
        const pass found(program, events);
        expect_same_counts(found, events);
        if (HasFailure()) FAIL() << "in round " << round;
    }
}

TEST(legality, agrees_with_a_search_of_all_events) {
    std::mt19937_64 random(seed());
    for (int round = 0; round < 150; ++round) {
        std::vector<std::uint32_t> contexts;
        const small_program program = random_program(random, contexts);
        const std::vector<event> events = random_events(random, contexts, 1 + random() % 80);
        const pass found(program, events);
        expect_same_legality(program, found, events);
        if (HasFailure()) FAIL() << "in round " << round;
    }
}

// Every sequence of up to six events over two objects and three contexts, one of them in another call of the same
// invocation and one in another invocation.
TEST(legality, holds_in_every_small_case) {
    small_program program;
    const std::uint32_t main = program.frame(0, "main");
    const std::uint32_t run_one = program.frame(main, "run", 1), run_two = program.frame(main, "run", 2);
    const std::uint32_t contexts[] = {program.frame(run_one, "a::add"), program.frame(run_two, "a::add"), main};
    constexpr int kinds = 8;  // allocate object 0 in one of three contexts, object 1 in one of three, free 0, free 1
    for (int length = 1; length <= 5; ++length) {
        int sequences = 1;
        for (int i = 0; i < length; ++i) sequences *= kinds;
        for (int code = 0; code < sequences; ++code) {
            std::vector<event> events;
            bool live[2] = {false, false}, possible = true;
            for (int i = 0, rest = code; i < length && possible; ++i, rest /= kinds) {
                const int kind = rest % kinds;
                const int object = kind < 6 ? kind / 3 : kind - 6;
                const bool begin = kind < 6;
                possible = live[object] != begin;
                live[object] = begin;
                const std::uint64_t time = static_cast<std::uint64_t>(i + 1) << 20, address = 0x1000 * (object + 1u);
                events.push_back(begin ? allocation(time, 1, address, 8, contexts[kind % 3])
                                       : deallocation(time, 1, address));
            }
            if (!possible) continue;
            const pass found(program, events);
            expect_same_legality(program, found, events);
            if (HasFailure()) FAIL() << "sequence " << code << " of length " << length;
        }
    }
}

TEST(legality, a_call_that_has_moved_on_counts_as_one_invocation) {
    small_program program;
    const std::uint32_t main = program.frame(0, "main");
    const std::uint32_t first = program.frame(program.frame(main, "run", 1), "a::add"),
                        second = program.frame(2, "b::add");
    const std::vector<event> events{allocation(1 << 20, 1, 0x1000, 8, first), allocation(2 << 20, 1, 0x2000, 8, second),
                                    deallocation(3 << 20, 1, 0x1000)};
    const pass found(program, events);
    EXPECT_EQ(found.outlived(found.subsystem("a"), program.function_id("run")),
              (std::pair<std::uint64_t, std::uint64_t>(0, 1)));
    EXPECT_EQ(found.outlived(found.subsystem("a"), program.function_id("a::add")),
              (std::pair<std::uint64_t, std::uint64_t>(1, 1)));
}

TEST(legality, lets_a_note_tell_invocations_apart) {
    small_program program;
    const std::uint32_t add = program.frame(program.frame(0, "main"), "a::add");
    const std::vector<event> told{allocation(1 << 20, 1, 0x1000, 8, add), note(2 << 20, 1, mpt_note_returned, 1),
                                  deallocation(3 << 20, 1, 0x1000)};
    const std::vector<event> untold{told[0], told[2]};
    const auto outlived = [&](const std::vector<event>& events) {
        const pass found(program, events);
        return found.outlived(found.subsystem("a"), program.function_id("a::add")).first;
    };
    EXPECT_EQ(outlived(untold), 0u);
    EXPECT_EQ(outlived(told), 1u);
}

// The pairs that a pass counted, as "context subsystem frees resizes", sorted.
std::vector<std::string> freeings_of(const pass& found) {
    std::vector<std::string> pairs;
    found.counted.freeings().for_each(
        [&](std::uint32_t context, std::uint32_t subsystem, const characterise::freeing_count& count) {
            pairs.push_back(std::to_string(context) + " " + found.subsystems.subsystems()[subsystem].name + " " +
                            std::to_string(count.frees) + " " + std::to_string(count.resizes));
        });
    std::sort(pairs.begin(), pairs.end());
    return pairs;
}

event resize(std::uint64_t time, std::uint32_t thread, std::uint64_t address, bool ends, std::uint32_t context = 0) {
    event e = ends ? deallocation(time, thread, address) : allocation(time, thread, address, 16, context);
    e.op = ends ? operation::realloc_free : operation::realloc_allocate;
    return e;
}

TEST(freeings, have_the_subsystem_of_the_block_and_their_own_context) {
    small_program program;
    const std::uint32_t main = program.frame(0, "main");
    const std::uint32_t a = program.frame(main, "a::add"), b = program.frame(main, "b::add"),
                        drop = program.frame(main, "drop"), grow = program.frame(main, "grow");
    const std::vector<event> events{
        allocation(10, 1, 0x1000, 8, a),
        allocation(20, 1, 0x2000, 8, b),
        allocation(30, 1, 0x3000, 8, a),
        allocation(40, 1, 0x4000, 8, a),
        note(50, 1, mpt_note_freed_at, program.frees(drop)),
        deallocation(51, 1, 0x1000),
        deallocation(60, 1, 0x2000),
        resize(70, 1, 0x3000, true),
        resize(71, 1, 0x5000, false, grow),
        note(80, 2, mpt_note_freed_at, program.frees(main)),
        deallocation(81, 2, 0x4000),
        note(90, 1, mpt_note_freed_at, 999'999),
        deallocation(91, 1, 0x5000),
    };
    const pass found(program, events);
    EXPECT_EQ(freeings_of(found),
              (std::vector<std::string>{"0 a 1 0", std::to_string(main) + " a 1 0", std::to_string(drop) + " a 1 0",
                                        std::to_string(drop) + " b 1 0", std::to_string(grow) + " a 0 1"}));
    EXPECT_TRUE(found.counted.totals().frees_are_placed);
}

TEST(freeings, choose_no_scopes_of_what_allocates) {
    small_program program;
    const std::uint32_t main = program.frame(0, "main"), add = program.frame(program.frame(main, "run"), "a::add");
    const std::vector<event> events{allocation(10, 1, 0x1000, 8, add), deallocation(20, 1, 0x1000)};
    const auto candidates = [&] {
        const pass found(program, events);
        return found.scopes.candidates(found.subsystem("a"));
    };
    const std::vector<std::uint32_t> before = candidates();
    for (std::uint64_t i = 0; i < 20; ++i) program.frees(program.frame(program.frame(main, "close", i), "a::drop", i));
    EXPECT_EQ(candidates(), before);
}

TEST(freeings, are_only_resizes_in_a_recording_without_places) {
    small_program program;
    const std::uint32_t a = program.frame(program.frame(0, "main"), "a::add");
    const pass found(program, {allocation(10, 1, 0x1000, 8, a), resize(20, 1, 0x1000, true),
                               resize(21, 1, 0x2000, false, a), deallocation(30, 1, 0x2000)});
    EXPECT_EQ(freeings_of(found), (std::vector<std::string>{std::to_string(a) + " a 0 1"}));
    EXPECT_FALSE(found.counted.totals().frees_are_placed);
}

}  // namespace
}  // namespace millpond::test
