// SPDX-License-Identifier: BSL-1.0
// stack_follower: contexts told by steps are those of the stacks; each is made once, and every block is read by itself.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "lab/trace/block_file.hpp"
#include "lab/trace/block_output.hpp"
#include "lab/trace/column_splitter.hpp"
#include "lab/trace/records.hpp"
#include "lab/trace/writer.h"
#include "seed.hpp"

namespace millpond::test {
namespace {

using trace::context_node;
using trace::event;
using trace::stack_follower;

constexpr std::uint32_t frames = 60;  // nodes 1 to 60 are these frames, without a caller

// The frames of a stack, from the outside inward.
using stack = std::vector<std::uint32_t>;

std::vector<context_node> frame_nodes() {
    std::vector<context_node> nodes;
    for (std::uint32_t i = 1; i <= frames; ++i) nodes.push_back({0, 1 + i % 3, 1000 + i});
    return nodes;
}

// A thread that writes random events in rows and knows the stack of each.
class stepping_thread {
  public:
    explicit stepping_thread(std::uint64_t seed) : random_(seed) {}

    // The rows of one block.
    std::vector<std::uint8_t> write(int events) {
        std::vector<std::uint8_t> block(1u << 18);
        mpt_writer writer;
        mpt_open_block(&writer, block.data(), static_cast<std::uint32_t>(block.size()), 1, 0, 1);
        told_ = 0;
        unchanged_ = 0;
        for (int i = 0; i < events; ++i) {
            if (random_() % 3 == 0) {
                mpt_write_free(&writer, mpt_free, 16 * (random_() % 1000), 0, 0);
                continue;
            }
            change();
            write_allocation(writer);
            stacks.push_back(now_);
        }
        count = writer.count;
        return {block.begin() + mpt_header_bytes, block.begin() + (writer.cursor - writer.block)};
    }

    std::vector<stack> stacks;  // of all allocations
    std::uint32_t count = 0;    // of events in the last block

  private:
    void change() {
        const std::size_t kept = now_.size() - std::min<std::size_t>(now_.size(), random_() % 6);
        now_.resize(kept);
        unchanged_ = std::min(unchanged_, kept);
        for (std::uint64_t more = random_() % (random_() % 50 == 0 ? 40 : 5); more > 0; --more)
            now_.push_back(1 + static_cast<std::uint32_t>(random_() % (random_() % 4 == 0 ? frames : 3)));
    }
    void write_allocation(mpt_writer& w) {
        while (true) {
            const std::size_t left = now_.size() - unchanged_;
            const bool fits = left <= mpt_entered_with_event_max;
            const unsigned alignment = fits && random_() % 8 == 0 ? 6 : 0;
            std::uint8_t* to = w.cursor;
            if (fits)
                to = mpt_put_stepped_allocate(&w, mpt_allocate, 0, 16 * (random_() % 1000), random_() % 300, alignment,
                                              random_() % 2, random_() % 16 == 0 ? 7 : 0);
            else
                *to++ = mpt_steps;
            const std::size_t entered = fits ? left : std::min<std::size_t>(left, mpt_entered_max);
            to = mpt_put_steps(to, told_ - unchanged_, entered);
            for (std::size_t i = 0; i < entered; ++i) to = mpt_put(to, now_[unchanged_ + i]);
            if (alignment != 0) *to++ = static_cast<std::uint8_t>(alignment);
            mpt_commit(&w, to);
            w.count -= !fits;
            told_ = unchanged_ += entered;
            if (fits) return;
        }
    }

    std::mt19937_64 random_;
    stack now_;
    std::size_t told_ = 0, unchanged_ = 0;
};

// A small finishing pass.
class followed {
  public:
    followed() {
        trace::field_writer known;
        for (const context_node& node : frame_nodes()) put(node, known);
        follower.learn(trace::make_header(mpt_contexts, frames, 0, 1), known.bytes());
    }

    // The contexts of the allocations of a block of rows.
    std::vector<std::uint32_t> take(const std::vector<std::uint8_t>& rows, std::uint32_t count) {
        trace::payload_buffer payload;
        std::copy(rows.begin(), rows.end(), payload.resize(rows.size()));
        const auto columns = splitter.split(payload.bytes(), &follower);
        EXPECT_EQ(columns.events, count);
        EXPECT_EQ(columns.rows_bytes, rows.size());
        take_new();
        trace::payload_buffer finished;
        std::copy(columns.payload.begin(), columns.payload.end(), finished.resize(columns.payload.size()));
        mpt_block_header header = trace::make_header(mpt_events, columns.events);
        header.layout = mpt_columns;
        trace::event_decoder decoder;
        decoder.open(header, finished.bytes(), nodes.size());
        std::vector<event> events(count);
        EXPECT_EQ(decoder.decode(events.data(), count), count);
        EXPECT_EQ(decoder.flaw(), nullptr);
        EXPECT_EQ(decoder.unknown_contexts(), 0u);
        std::vector<std::uint32_t> contexts;
        for (const event& e : events)
            if (e.op == trace::operation::allocate) contexts.push_back(e.context);
        return contexts;
    }

    // Returns the frames of a stack, as the trace has them.
    static std::vector<std::pair<std::uint32_t, std::uint64_t>> places(const stack& of) {
        std::vector<std::pair<std::uint32_t, std::uint64_t>> all;
        for (const std::uint32_t frame : of) all.emplace_back(frame_nodes()[frame - 1].module, 1000 + frame);
        return all;
    }
    std::vector<std::pair<std::uint32_t, std::uint64_t>> places_of(std::uint32_t context) const {
        std::vector<std::pair<std::uint32_t, std::uint64_t>> all;
        for (; context != 0; context = nodes[context].parent)
            all.emplace(all.begin(), nodes[context].module, nodes[context].offset);
        return all;
    }

    stack_follower follower;
    trace::column_splitter splitter;
    std::vector<context_node> nodes{1};  // of the trace, by number

  private:
    void put(const context_node& node, trace::field_writer& to) {
        trace::put_context(static_cast<std::uint32_t>(nodes.size()), node, to);
        nodes.push_back(node);
    }
    void take_new() {
        while (true) {
            const stack_follower::new_nodes fresh = follower.take_new();
            if (fresh.count == 0) return;
            EXPECT_EQ(fresh.first, nodes.size());
            trace::take_contexts(fresh.payload, trace::make_header(mpt_contexts, fresh.count, 0, fresh.first), 1u << 28,
                                 nodes);
        }
    }
};

TEST(stack_follower, contexts_are_the_stacks_that_were_stepped_through) {
    stepping_thread thread(seed());
    followed reader;
    std::map<stack, std::uint32_t> known;
    for (int block = 0; block < 40; ++block) {
        thread.stacks.clear();
        const std::vector<std::uint8_t> rows = thread.write(400);
        const std::vector<std::uint32_t> contexts = reader.take(rows, thread.count);
        ASSERT_EQ(contexts.size(), thread.stacks.size());
        for (std::size_t i = 0; i < contexts.size(); ++i) {
            ASSERT_EQ(reader.places_of(contexts[i]), followed::places(thread.stacks[i])) << "allocation " << i;
            ASSERT_EQ(known.try_emplace(thread.stacks[i], contexts[i]).first->second, contexts[i]);
        }
    }
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>> unique;
    for (std::size_t id = 1; id < reader.nodes.size(); ++id)
        EXPECT_TRUE(unique.emplace(reader.nodes[id].parent, reader.nodes[id].module, reader.nodes[id].offset).second)
            << "node " << id << " twice";
}

// Models a pass that continues with the contexts written by an earlier one.
TEST(stack_follower, learned_contexts_are_found_again) {
    stepping_thread thread(seed());
    followed first;
    const std::vector<std::uint8_t> rows = thread.write(2000);
    const std::vector<std::uint32_t> contexts = first.take(rows, thread.count);
    followed second;
    trace::field_writer made;
    for (std::uint32_t id = frames + 1; id < first.nodes.size(); ++id) trace::put_context(id, first.nodes[id], made);
    const auto count = static_cast<std::uint32_t>(first.nodes.size()) - frames - 1;
    second.follower.learn(trace::make_header(mpt_contexts, count, 1, frames + 1), made.bytes());
    second.nodes = first.nodes;
    EXPECT_EQ(second.take(rows, thread.count), contexts);
    EXPECT_EQ(second.nodes.size(), first.nodes.size());
}

TEST(stack_follower, unknown_frames_are_cuts) {
    stack_follower follower;
    follower.begin_block();
    follower.enter(77);
    follower.enter(std::uint64_t{1} << 60);
    const stack_follower::new_nodes fresh = follower.take_new();
    ASSERT_EQ(fresh.count, 2u);
    std::vector<context_node> nodes;
    trace::take_contexts(fresh.payload, trace::make_header(mpt_contexts, 2, 0, fresh.first), 100, nodes);
    EXPECT_EQ(nodes[2].parent, 1u);
    EXPECT_EQ(nodes[1].module, 0u);
    EXPECT_EQ(nodes[1].offset, 1u);
}

TEST(stack_follower, rows_are_taken_up_to_their_first_undecodable_byte) {
    std::mt19937_64 random(seed());
    for (int round = 0; round < 300; ++round) {
        stepping_thread thread(random());
        followed reader;
        std::vector<std::uint8_t> rows = thread.write(30);
        for (int i = 0; i < 3; ++i) rows[random() % rows.size()] = static_cast<std::uint8_t>(random());
        rows.resize(random() % rows.size() + 1);
        trace::payload_buffer payload;
        std::copy(rows.begin(), rows.end(), payload.resize(rows.size()));
        const auto columns = reader.splitter.split(payload.bytes(), &reader.follower);
        EXPECT_LE(columns.rows_bytes, rows.size());
        EXPECT_LE(columns.events, rows.size());
    }
}

TEST(column_splitter, refuses_steps_without_a_follower) {
    stepping_thread thread(seed());
    const std::vector<std::uint8_t> rows = thread.write(50);
    trace::payload_buffer payload;
    std::copy(rows.begin(), rows.end(), payload.resize(rows.size()));
    trace::column_splitter splitter;
    EXPECT_LT(splitter.split(payload.bytes()).rows_bytes, rows.size());
}

}  // namespace
}  // namespace millpond::test
