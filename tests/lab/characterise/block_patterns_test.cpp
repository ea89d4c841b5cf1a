// SPDX-License-Identifier: BSL-1.0
// Blocks left alive, temporaries and growth: on written examples, and on random events against a model that keeps all
// events and searches them.
#include "lab/characterise/block_patterns.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <vector>

#include "tests/lab/trace/seed.hpp"

namespace millpond::test {
namespace {

using characterise::block_patterns;
using characterise::context_patterns;
using trace::event;
using trace::operation;

constexpr std::uint32_t contexts = 4;

// Events with the addresses that an allocator would give.
class event_script {
  public:
    std::uint64_t allocate(std::uint64_t bytes, std::uint32_t context, std::uint32_t thread = 1,
                           operation how = operation::allocate, std::uint64_t at = 0) {
        const std::uint64_t address = at != 0 ? at : next_ += 0x1000;
        add({0, address, bytes, context, thread, 0, how, 0, false});
        return address;
    }
    void free(std::uint64_t address, std::uint32_t thread = 1, operation how = operation::free) {
        add({0, address, 0, 0, thread, 0, how, 0, false});
    }
    std::uint64_t resize(std::uint64_t address, std::uint64_t bytes, std::uint32_t context, bool in_place = false,
                         std::uint32_t thread = 1) {
        free(address, thread, operation::realloc_free);
        return allocate(bytes, context, thread, operation::realloc_allocate, in_place ? address : 0);
    }
    void add(event e) {
        e.time_ticks = (events.size() + 1) << 20;  // no two threads are near enough for a mended hand-off
        events.push_back(e);
    }
    void note(std::uint32_t thread) { add({0, 7, mpt_note_cpu, 0, thread, 0, operation::note, 0, false}); }

    std::vector<event> events;

  private:
    std::uint64_t next_ = 0x10000;
};

std::map<std::uint32_t, context_patterns> patterns_of(const std::vector<event>& events, std::size_t batch = 1000) {
    block_patterns patterns(contexts, events.size());
    for (std::size_t at = 0; at < events.size(); at += batch)
        patterns.consume(events.data() + at, std::min(batch, events.size() - at));
    patterns.finish();
    std::map<std::uint32_t, context_patterns> found;
    for (const context_patterns& one : patterns.contexts()) found[one.context] = one;
    return found;
}

TEST(block_patterns, vector_without_reserve_is_one_chain) {
    event_script script;
    std::uint64_t old = script.allocate(8, 1);
    for (std::uint64_t bytes = 16; bytes <= 64; bytes *= 2) {
        const std::uint64_t larger = script.allocate(bytes, 1);
        script.free(script.allocate(3, 2));  // of an element that is copied
        script.free(old);
        old = larger;
    }
    script.free(old);
    const auto found = patterns_of(script.events);
    const characterise::growth_counts& growth = found.at(1).growth;
    EXPECT_EQ(growth.chains, 1u);
    EXPECT_EQ(growth.steps, 3u);
    EXPECT_EQ(growth.resizes, 0u);
    EXPECT_EQ(growth.replaced_bytes, 8u + 16 + 32);
    EXPECT_EQ(growth.copied_bytes, 8u + 16 + 32);
    EXPECT_EQ(growth.first_bytes_min, 8u);
    EXPECT_EQ(growth.final_bytes_min, 64u);
    EXPECT_EQ(growth.final_bytes_max, 64u);
    EXPECT_EQ(found.at(2).growth.chains, 0u);
    EXPECT_EQ(found.at(2).temporaries.objects[0], 3u) << "freed by the next event";
}

TEST(block_patterns, realloc_in_place_copies_nothing) {
    event_script script;
    std::uint64_t block = script.allocate(100, 1);
    block = script.resize(block, 200, 2, true);
    block = script.resize(block, 400, 2, false);
    script.free(script.resize(block, 300, 3, true));  // to the size that is needed
    const auto found = patterns_of(script.events);
    EXPECT_EQ(found.at(2).growth.chains, 1u);
    EXPECT_EQ(found.at(2).growth.resizes, 2u);
    EXPECT_EQ(found.at(2).growth.replaced_bytes, 300u);
    EXPECT_EQ(found.at(2).growth.copied_bytes, 200u);
    EXPECT_EQ(found.at(2).growth.final_bytes, 400u);
    for (const auto& [context, one] : found) EXPECT_EQ(one.temporaries.objects.back(), 0u);
}

TEST(block_patterns, queue_of_changing_sizes_is_no_growth) {
    event_script script;
    std::uint64_t old = script.allocate(50, 1);
    for (const std::uint64_t bytes : {40, 60, 60, 20}) {
        const std::uint64_t newer = script.allocate(bytes, 1);
        script.free(old);
        old = newer;
    }
    const auto found = patterns_of(script.events);
    EXPECT_EQ(found.at(1).growth.steps, 1u);
    EXPECT_EQ(found.at(1).growth.not_larger, 3u);
}

TEST(block_patterns, interval_is_of_the_threads_own_events) {
    event_script script;
    const std::uint64_t mine = script.allocate(24, 1, 1), handed_over = script.allocate(24, 2, 1);
    for (int i = 0; i < 100; ++i) script.free(script.allocate(8, 3, 2), 2);
    script.note(1);
    script.free(handed_over, 2);
    script.free(mine, 1);
    const auto found = patterns_of(script.events);
    EXPECT_EQ(found.at(1).temporaries.objects[0], 0u);
    EXPECT_EQ(found.at(1).temporaries.objects[1], 1u) << "one allocation in between";
    EXPECT_EQ(found.at(2).temporaries.objects.back(), 0u) << "another thread frees it";
    EXPECT_EQ(found.at(3).temporaries.objects[0], 100u);
}

TEST(block_patterns, left_blocks_tell_their_quarter) {
    event_script script;
    for (int i = 0; i < 40; ++i) (void)script.allocate(1, i < 20 ? 1 : 2);
    const auto found = patterns_of(script.events);
    EXPECT_EQ(found.at(1).left, (std::array<std::uint64_t, 4>{10, 10, 0, 0}));
    EXPECT_EQ(found.at(2).left, (std::array<std::uint64_t, 4>{0, 0, 10, 10}));
}

// The model: a list of all blocks, and searches from an event backwards.
class literal_patterns {
  public:
    explicit literal_patterns(const std::vector<event>& events) : events_(events), touched_(events.size()) {
        for (std::size_t i = 0; i < events.size(); ++i) take(i);
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            const block& one = blocks_[b];
            if (!one.ended) ++found[one.born.context].left[std::min<std::size_t>(3, one.at * 4 / events.size())];
            if (!one.previous && one.next) add_chain(b);
        }
    }

    std::map<std::uint32_t, context_patterns> found;

  private:
    struct block {
        event born;
        std::size_t at;
        std::optional<std::size_t> ended, previous, next;
        bool is_step_by_realloc = false, is_in_place = false;  // how it replaced the previous one
    };

    void take(std::size_t i) {
        const event& e = events_[i];
        if (e.op == operation::note) return;
        if (e.op == operation::allocate || e.op == operation::realloc_allocate) {
            touched_[i] = blocks_.size();
            blocks_.push_back({e, i, {}, {}, {}});
            found[e.context];
            const auto before = last_of_thread(i);
            if (e.op == operation::realloc_allocate && before && events_[*before].op == operation::realloc_free)
                link(*touched_[*before], blocks_.size() - 1, true);
            return;
        }
        for (std::size_t b = 0; b < blocks_.size(); ++b)
            if (!blocks_[b].ended && blocks_[b].born.address == e.address) touched_[i] = b;
        if (!touched_[i]) return;
        const std::size_t old = *touched_[i];
        if (e.op == operation::free && blocks_[old].born.thread == e.thread) {
            if (const auto newer = newer_in_context(i, old)) {
                if (link(old, *newer, false)) {
                    blocks_[old].ended = i;
                    return;
                }
                ++found[blocks_[old].born.context].growth.not_larger;
            }
            if (blocks_[old].born.op == operation::allocate) add_temporary(old, i);
        }
        blocks_[old].ended = i;
    }

    std::optional<std::size_t> last_of_thread(std::size_t i) const {
        for (std::size_t k = i; k-- > 0;)
            if (events_[k].thread == events_[i].thread && events_[k].op != operation::note) return k;
        return {};
    }

    // The block that the thread's last event in the context of `old` allocated, if it is live and another one.
    std::optional<std::size_t> newer_in_context(std::size_t i, std::size_t old) const {
        for (std::size_t k = i; k-- > 0;) {
            if (events_[k].thread != events_[i].thread || !touched_[k]) continue;
            const std::size_t b = *touched_[k];
            if (blocks_[b].born.context != blocks_[old].born.context) continue;
            const bool is_usable = events_[k].op == operation::allocate && b != old && !blocks_[b].ended;
            return is_usable ? std::optional(b) : std::nullopt;
        }
        return {};
    }

    bool link(std::size_t old, std::size_t newer, bool is_resize) {
        if (blocks_[newer].born.bytes <= blocks_[old].born.bytes) return false;
        blocks_[old].next = newer;
        blocks_[newer].previous = old;
        blocks_[newer].is_step_by_realloc = is_resize;
        blocks_[newer].is_in_place = is_resize && blocks_[newer].born.address == blocks_[old].born.address;
        return true;
    }

    void add_temporary(std::size_t b, std::size_t end) {
        std::uint64_t between = 0;
        for (std::size_t k = blocks_[b].at + 1; k < end; ++k)
            between += events_[k].thread == events_[end].thread && events_[k].op != operation::note;
        characterise::temporary_counts& counts = found[blocks_[b].born.context].temporaries;
        for (std::size_t i = 0; i < counts.objects.size(); ++i) counts.objects[i] += between < std::uint64_t{1} << i;
        if (between >= block_patterns::temporary_events) return;
        counts.bytes += blocks_[b].born.bytes;
        counts.largest_bytes = std::max(counts.largest_bytes, blocks_[b].born.bytes);
    }

    void add_chain(std::size_t first) {
        std::size_t last = first;
        while (blocks_[last].next) last = *blocks_[last].next;
        characterise::growth_counts& counts = found[blocks_[last].born.context].growth;
        ++counts.chains;
        counts.first_bytes_min = std::min(counts.first_bytes_min, blocks_[first].born.bytes);
        counts.final_bytes_min = std::min(counts.final_bytes_min, blocks_[last].born.bytes);
        counts.final_bytes_max = std::max(counts.final_bytes_max, blocks_[last].born.bytes);
        counts.final_bytes += blocks_[last].born.bytes;
        for (std::size_t b = first; b != last; b = *blocks_[b].next) {
            const block& next = blocks_[*blocks_[b].next];
            ++counts.steps;
            counts.resizes += next.is_step_by_realloc;
            counts.replaced_bytes += blocks_[b].born.bytes;
            counts.copied_bytes += next.is_in_place ? 0 : blocks_[b].born.bytes;
        }
    }

    const std::vector<event>& events_;
    std::vector<std::optional<std::size_t>> touched_;  // by event: the block that it allocates or ends
    std::vector<block> blocks_;
};

// Events of some threads that allocate, free and resize; few sizes and contexts, so that blocks often replace others.
std::vector<event> random_script(std::mt19937_64& random) {
    const auto below = [&](std::uint64_t limit) { return random() % limit; };
    const std::uint64_t threads = 1 + below(3), sizes = 2 + below(6), frees_in_ten = 2 + below(5);
    event_script script;
    struct live_block {
        std::uint64_t address;
        std::uint32_t thread;
    };
    std::vector<live_block> live;
    const std::uint64_t count = 1 + below(300);
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto thread = static_cast<std::uint32_t>(1 + below(threads));
        const auto context = static_cast<std::uint32_t>(below(contexts));
        const std::uint64_t bytes = 8 * below(sizes);
        if (below(20) == 0) script.note(thread);
        if (live.empty() || below(10) >= frees_in_ten) {
            live.push_back({script.allocate(bytes, context, thread), thread});
            continue;
        }
        // Mostly a recent block of the same thread.
        std::size_t at = live.size() - 1 - below(std::min<std::size_t>(live.size(), 1 + below(4)));
        if (below(8) == 0) at = below(live.size());
        const std::uint32_t by = below(6) == 0 ? thread : live[at].thread;
        const std::uint64_t address = live[at].address;
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
        if (below(4) == 0)
            live.push_back({script.resize(address, bytes, context, below(2) == 0, by), by});
        else
            script.free(address, by);
        if (below(50) == 0) script.free(0xdead0000 + 16 * i, thread);  // of a block from before the trace
    }
    return script.events;
}

TEST(block_patterns, random_events_match_the_model) {
    std::uint64_t steps = 0, temporaries = 0, left = 0;
    for (std::uint64_t turn = 0; turn < 400; ++turn) {
        const std::uint64_t own_seed = seed() + turn;
        SCOPED_TRACE("--seed=" + std::to_string(own_seed));
        std::mt19937_64 random(own_seed);
        const std::vector<event> events = random_script(random);
        const auto found = patterns_of(events, 1 + random() % 40);
        const literal_patterns expected(events);
        for (const auto& [context, wanted] : expected.found) {
            SCOPED_TRACE("context " + std::to_string(context));
            const auto known = found.find(context);
            ASSERT_NE(known, found.end());
            const context_patterns& one = known->second;
            EXPECT_EQ(one.left, wanted.left);
            EXPECT_EQ(one.temporaries.objects, wanted.temporaries.objects);
            EXPECT_EQ(one.temporaries.bytes, wanted.temporaries.bytes);
            EXPECT_EQ(one.temporaries.largest_bytes, wanted.temporaries.largest_bytes);
            EXPECT_EQ(one.growth.chains, wanted.growth.chains);
            EXPECT_EQ(one.growth.steps, wanted.growth.steps);
            EXPECT_EQ(one.growth.resizes, wanted.growth.resizes);
            EXPECT_EQ(one.growth.replaced_bytes, wanted.growth.replaced_bytes);
            EXPECT_EQ(one.growth.copied_bytes, wanted.growth.copied_bytes);
            EXPECT_EQ(one.growth.first_bytes_min, wanted.growth.first_bytes_min);
            EXPECT_EQ(one.growth.final_bytes_min, wanted.growth.final_bytes_min);
            EXPECT_EQ(one.growth.final_bytes_max, wanted.growth.final_bytes_max);
            EXPECT_EQ(one.growth.final_bytes, wanted.growth.final_bytes);
            EXPECT_EQ(one.growth.not_larger, wanted.growth.not_larger);
            steps += one.growth.steps;
            temporaries += one.temporaries.objects.back();
            for (const std::uint64_t objects : one.left) left += objects;
        }
        if (HasFailure()) return;
    }
    EXPECT_GT(steps, 100u);
    EXPECT_GT(temporaries, 100u);
    EXPECT_GT(left, 100u);
}

}  // namespace
}  // namespace millpond::test
