// SPDX-License-Identifier: BSL-1.0
// drop_before against a model: after a cut, the trace has every event since, and of earlier ones what was alive.
#include "lab/trace/trace_ring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "lab/trace/row_decoder.hpp"
#include "lab/trace/seal.h"
#include "recording.hpp"
#include "seed.hpp"

namespace millpond::test {
namespace {

using trace::event;
using trace::operation;

constexpr std::uint32_t slot_bytes = 1024, threads = 4;

// A heap in random use by some threads, of which the last one seldom does anything. Blocks are freed by any thread.
class random_heap {
  public:
    random_heap(std::uint64_t seed, recording& to) : random_(seed), to_(to) {}

    void run(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            time_ += 100'000 + random_() % 1000;  // no hand-offs in the wrong order
            const std::uint32_t thread = random_() % 50 == 0 ? threads : 1 + static_cast<std::uint32_t>(random_() % 3);
            if (random_() % 100 == 0) add_phase(thread);
            if (live_.size() < 20 || (live_.size() < 50 && random_() % 2 == 0))
                allocate(thread);
            else
                free(thread);
        }
    }

    const std::vector<event>& events() const { return events_; }

  private:
    void add(const event& e) {
        to_.add(e, true);
        events_.push_back(e);
    }
    void add_phase(std::uint32_t thread) {
        add({time_, ++phases_ % 250, mpt_note_name, 0, thread, 0, operation::note, 0, false});
        add({time_, 1, mpt_note_phase, 0, thread, 0, operation::note, 0, false});
    }
    void allocate(std::uint32_t thread) {
        // Few addresses, so that they are used again at once, also by the thread that is seldom there.
        std::uint64_t address = 0;
        while (address == 0 || live_.contains(address)) address = 4096 + 16 * (random_() % 60);
        live_.insert(address);
        add({time_, address, random_() % 5000, 1 + static_cast<std::uint32_t>(random_() % 9), thread, 0,
             operation::allocate, static_cast<std::uint8_t>(random_() % 9 == 0 ? 6 : 0), random_() % 2 == 0});
    }
    void free(std::uint32_t thread) {
        auto at = live_.begin();
        std::advance(at, static_cast<std::ptrdiff_t>(random_() % live_.size()));
        add({time_, *at, 0, 0, thread, 0, operation::free, 0, false});
        live_.erase(at);
    }

    std::mt19937_64 random_;
    recording& to_;
    std::uint64_t time_ = 1, phases_ = 0;
    std::set<std::uint64_t> live_;
    std::vector<event> events_;
};

using block_facts = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t, std::uint32_t, bool, int>;

struct heap_facts {
    std::set<block_facts> live;      // at the cut
    std::vector<block_facts> since;  // every event from the cut on
    std::uint64_t phase = 0;         // in force at the cut: its name

    bool operator==(const heap_facts&) const = default;
};

heap_facts facts_at(std::uint64_t cut, const std::vector<event>& events) {
    heap_facts facts;
    std::map<std::uint64_t, block_facts> live;
    std::uint64_t name = 0;
    for (const event& e : events) {
        const block_facts one{e.time_ticks, e.address, e.bytes, e.context, e.thread, e.zeroed, e.alignment_log2};
        if (e.time_ticks >= cut) {
            facts.since.push_back(one);
        } else if (e.op == operation::note) {
            if (e.bytes == mpt_note_name) name = e.address;
            if (e.bytes == mpt_note_phase) facts.phase = name;
        } else if (e.op == operation::allocate) {
            EXPECT_TRUE(live.emplace(e.address, one).second) << "an address twice";
        } else {
            live.erase(e.address);
        }
    }
    for (const auto& [address, one] : live) facts.live.insert(one);
    std::sort(facts.since.begin(), facts.since.end());
    return facts;
}

// The time of a block's last event.
std::uint64_t last_tick(const mpt_block_header& block) {
    const auto* const rows = reinterpret_cast<const std::uint8_t*>(&block + 1);
    trace::frame_paths paths;
    std::uint64_t last = 0;
    trace::decode_rows(block, {rows, block.stored_bytes}, paths,
                       [&](const trace::row_event& row) { last = row.what.time_ticks; });
    return last;
}

// Makes the slot file that of a ring: each slot with a sealed block of events is closed behind its last event.
std::string as_ring(std::string file) {
    auto* const head = reinterpret_cast<mpt_slot_file*>(file.data());
    head->sample_bytes = 1;
    head->slots_max = 1'000'000;
    head->ring_ns = 1;
    for (std::uint64_t n = 1; n < head->slots; ++n) {
        char* const at = file.data() + n * head->slot_bytes;
        auto* const slot = reinterpret_cast<mpt_slot*>(at);
        const auto* const block = reinterpret_cast<const mpt_block_header*>(at + slot->first_block);
        const bool is_sealed = block->magic == static_cast<std::uint32_t>(mpt_magic) && block->checksum != 0;
        if (is_sealed && block->kind == mpt_events) slot->closed_tick = last_tick(*block) + 1;
    }
    return file;
}

trace::ring_cut cut(const std::string& partial, std::uint64_t tick) {
    trace::slot_reader file(partial);
    trace::slot_process process = file.processes().at(0);
    return trace::drop_before(file, process, tick);
}

struct ring : ::testing::Test {
    scratch_folder folder;
    std::string partial = folder.path("t.mpt.partial"), out = folder.path("t.mpt");
    recording made{slot_bytes};
    random_heap heap{seed(), made};

    void record(std::size_t count) {
        made.put_process({.pid = 1, .sample_bytes = 1});
        made.put_contexts(1, std::vector<trace::context_node>(9, {0, 1, 5}));
        heap.run(count);
    }
    heap_facts finished(std::uint64_t tick) const {
        const trace::finish_result result = finish(partial, out);
        EXPECT_TRUE(result.damages.empty());
        trace::reader reader(out, trace::sampled_traces::accepted);
        const std::vector<event> events = read_all(reader);
        EXPECT_TRUE(reader.damages().empty());
        return facts_at(tick, events);
    }
};

TEST_F(ring, cut_at_every_event_keeps_live_blocks_and_all_since) {
    record(700);  // some blocks of each thread
    const std::string whole = as_ring(made.slot_file());
    std::uint64_t dropped = 0;
    for (const event& at : heap.events()) {
        write_file(partial, whole);
        dropped += cut(partial, at.time_ticks).dropped_events;
        ASSERT_EQ(finished(at.time_ticks), facts_at(at.time_ticks, heap.events())) << "seed " << seed();
    }
    EXPECT_GT(dropped, 0u);
}

TEST_F(ring, many_cuts_leave_what_one_would_and_a_bounded_file) {
    record(5000);
    write_file(partial, as_ring(made.slot_file()));
    std::mt19937_64 random(seed());
    std::uint64_t carried = 0;
    for (std::size_t i = 0; i < heap.events().size(); i += 1 + random() % 300) {
        const std::uint64_t tick = heap.events()[i].time_ticks;
        const trace::ring_cut one = cut(partial, tick);
        if (one.dropped_slots > 0) carried = one.carried_events;
        ASSERT_EQ(finished(tick), facts_at(tick, heap.events())) << "seed " << seed();
    }
    EXPECT_LT(carried, 400u);  // of thousands
    const trace::reader reader(out, trace::sampled_traces::accepted);
    EXPECT_LT(reader.event_count(), heap.events().size() / 2);
    EXPECT_GT(reader.process().cut_tick, 0u);
}

// The states between two of its writes: some of the carried slots, all of them, the commit, some of the holes.
TEST_F(ring, killed_between_two_writes_is_before_or_after_the_cut) {
    record(3000);
    write_file(partial, as_ring(made.slot_file()));
    cut(partial, heap.events()[1000].time_ticks);
    const std::string before = read_file(partial);
    const std::uint64_t tick = heap.events()[2200].time_ticks;
    ASSERT_GT(cut(partial, tick).dropped_slots, 1u);
    const std::string after = read_file(partial);
    const auto* const head = reinterpret_cast<const mpt_slot_file*>(after.data());
    const std::size_t taken = reinterpret_cast<const mpt_slot_file*>(before.data())->slots * head->slot_bytes;
    std::mt19937_64 random(seed());
    for (int round = 0; round < 40; ++round) {
        const std::size_t written = taken + random() % (after.size() - taken + 1);
        std::string early = before;
        std::memcpy(early.data(), after.data(), sizeof *head);
        early.resize(taken);
        early += after.substr(taken, written - taken);
        write_file(partial, early);
        ASSERT_EQ(finished(tick), facts_at(tick, heap.events())) << "seed " << seed();
        ASSERT_LT(trace::reader(out, trace::sampled_traces::accepted).process().cut_tick, tick);
        std::string late = after;
        for (std::size_t slot = 2; slot < taken / head->slot_bytes; ++slot)
            if (random() % 2 == 0)
                std::memcpy(late.data() + slot * head->slot_bytes, before.data() + slot * head->slot_bytes,
                            head->slot_bytes);
        write_file(partial, late);
        ASSERT_EQ(finished(tick), facts_at(tick, heap.events())) << "seed " << seed();
        ASSERT_EQ(trace::reader(out, trace::sampled_traces::accepted).process().cut_tick, tick);
        cut(partial, heap.events()[2800].time_ticks);  // and it goes on from there
        const std::uint64_t later = heap.events()[2800].time_ticks;
        ASSERT_EQ(finished(later), facts_at(later, heap.events())) << "seed " << seed();
    }
}

// A recorder may tell a context by steps: frames are named by nodes without a caller, and a block begins without any.
TEST_F(ring, stacks_that_steps_tell_are_carried_over) {
    made.put_process({.pid = 1, .sample_bytes = 1});
    std::vector<trace::context_node> nodes;
    for (std::uint64_t n = 1; n <= 9; ++n) nodes.push_back({0, 1, n});
    made.put_contexts(1, nodes);
    std::mt19937_64 random(seed());
    std::map<std::uint64_t, std::vector<std::uint64_t>> stacks;  // by address
    std::string block(slot_bytes, '\0');
    std::vector<std::string> sealed = made.closed_blocks();
    std::uint64_t time = 1, address = 4096;
    std::vector<std::uint64_t> stack;
    for (std::uint32_t sequence = 0; sequence < 60; ++sequence) {
        mpt_writer writer{};
        auto* const bytes = reinterpret_cast<std::uint8_t*>(block.data());
        mpt_open_block(&writer, bytes, slot_bytes, 1, sequence, time);
        std::size_t told = 0;
        while (!mpt_full(&writer)) {
            const std::size_t left = std::min<std::size_t>(stack.size(), random() % 4);
            const std::size_t same = std::min(told, stack.size() - left);
            stack.resize(stack.size() - left);
            std::size_t returned = told - same;
            for (std::size_t n = random() % 5; n > 0 && stack.size() < 40; --n) stack.push_back(1 + random() % 9);
            std::size_t at = same;
            for (; stack.size() - at > mpt_entered_with_event_max; returned = 0) {
                const std::size_t now = std::min<std::size_t>(stack.size() - at, mpt_entered_max);
                *writer.cursor = mpt_steps;
                std::uint8_t* to = mpt_put_steps(writer.cursor + 1, returned, now);
                for (std::size_t i = at; i < at + now; ++i) to = mpt_put(to, stack[i]);
                mpt_commit(&writer, to);
                --writer.count;
                at += now;
            }
            if (mpt_full(&writer)) break;  // the next block tells the whole stack
            std::uint8_t* to = mpt_put_stepped_allocate(&writer, mpt_allocate, 0, address += 32, 24, 0, time += 10, 0);
            to = mpt_put_steps(to, returned, stack.size() - at);
            for (std::size_t i = at; i < stack.size(); ++i) to = mpt_put(to, stack[i]);
            mpt_commit(&writer, to);
            told = stack.size();
            stacks[address] = stack;
        }
        const std::uint32_t length = mpt_seal_block(reinterpret_cast<mpt_block_header*>(bytes), writer.count);
        sealed.push_back(block.substr(0, length));
    }
    write_file(partial, as_ring(made.slot_file(sealed, {})));
    for (const std::uint64_t tick : {time / 3, time / 2, time - 50}) {
        ASSERT_GT(cut(partial, tick).carried_events, 0u);
        EXPECT_TRUE(finish(partial, out).damages.empty());
        trace::reader reader(out, trace::sampled_traces::accepted);
        std::map<std::uint64_t, std::vector<std::uint64_t>> found;
        for (const event& e : read_all(reader)) {
            std::vector<std::uint64_t> frames;
            for (std::uint32_t at = e.context; at != 0; at = reader.contexts()[at].parent)
                frames.push_back(reader.contexts()[at].offset);
            std::reverse(frames.begin(), frames.end());
            found[e.address] = frames;
        }
        EXPECT_TRUE(found == stacks) << "seed " << seed();
        EXPECT_TRUE(reader.damages().empty());
    }
}

TEST_F(ring, damaged_files_are_never_followed) {
    record(2000);
    write_file(partial, as_ring(made.slot_file()));
    cut(partial, heap.events()[900].time_ticks);
    const std::string whole = read_file(partial);
    const std::uint32_t bytes = reinterpret_cast<const mpt_slot_file*>(whole.data())->slot_bytes;
    std::mt19937_64 random(seed());
    for (int round = 0; round < 200; ++round) {
        std::string file = whole;
        for (int i = 0; i < 8; ++i)
            file[(random() % (file.size() / bytes)) * bytes +
                 random() % (sizeof(mpt_slot) + sizeof(mpt_block_header))] = static_cast<char>(random());
        write_file(partial, file);
        try {
            cut(partial, heap.events()[1500].time_ticks);
            const trace::finish_result result = finish(partial, out);
            trace::reader reader(out, trace::sampled_traces::accepted);
            EXPECT_EQ(read_all(reader).size(), result.events);
        } catch (const std::exception& refused) {
            EXPECT_STRNE(refused.what(), "");
        }
    }
}

}  // namespace
}  // namespace millpond::test
