// SPDX-License-Identifier: BSL-1.0
// Dependency order: every thread keeps its own order, every slot keeps the total order, and no thread waits
// permanently. The threads are the replay's own (system_thread, over pthread_create).
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "lab/replay/counted_source.hpp"
#include "lab/replay/dependency_order.hpp"
#include "lab/replay/script_writer.hpp"
#include "lab/replay/slot_stock.hpp"
#include "millpond/local/monotonic.hpp"
#include "millpond/local/multipool.hpp"
#include "tests/lab/trace/seed.hpp"

namespace millpond::test {
namespace {

using replay::operation;
using replay::record;

// A random script: objects of three pools that any thread may free or resize, and threads that end and begin again.
class random_script {
  public:
    random_script(std::uint64_t seed, std::uint16_t threads, std::size_t count) : random_(seed) {
        path_ = ::testing::TempDir() + "millpond-dependency-" + std::to_string(::getpid());
        replay::script_header header{};
        replay::script_writer writer(path_);
        while (records_.size() < count) step(static_cast<std::uint16_t>(random_() % threads), header);
        for (; !live_.empty(); live_.pop_back()) {
            const record& last = live_.back();
            add(record(operation::free, last.slot(), last.bytes(), last.alignment_log2(), last.pool(), 0), header);
        }
        for (const record& r : records_) writer.add(r, 0);
        header.slots = slots_.count();
        header.threads = threads;
        header.end_live_bytes = bytes_;
        writer.finish(header, std::vector<replay::script_pool>(4, {1, 0, 0}));
    }
    ~random_script() { ::unlink(path_.c_str()); }

    const std::string& path() const { return path_; }
    const std::vector<record>& records() const { return records_; }

  private:
    void add(const record& r, replay::script_header& header) {
        records_.push_back(r);
        const bool begins = r.op() == operation::allocate || r.op() == operation::resize_to;
        if (r.op() == operation::thread_end || r.op() == operation::drop) return;
        bytes_ += begins ? r.bytes() : 0 - r.bytes();
        header.peak_live_bytes = std::max(header.peak_live_bytes, bytes_);
    }

    void step(std::uint16_t thread, replay::script_header& header) {
        const std::uint64_t choice = random_() % 100;
        const auto pool = static_cast<std::uint16_t>(random_() % 4);
        const std::uint64_t bytes = random_() % 300;
        if (choice == 0) return add(record(operation::thread_end, 0, 0, 0, 0, thread), header);
        if (choice < 52 || live_.empty()) {
            live_.emplace_back(operation::allocate, slots_.take(thread), bytes, random_() % 8 == 0 ? 6 : 0, pool,
                               thread);
            return add(live_.back(), header);
        }
        std::swap(live_[random_() % live_.size()], live_.back());
        const record old = live_.back();
        live_.pop_back();
        const auto again = [&](operation op, const record& of, std::uint64_t size) {
            return record(op, of.slot(), size, of.alignment_log2(), of.pool(), thread);
        };
        if (choice < 92) {
            add(again(operation::free, old, old.bytes()), header);
            return slots_.give(old.slot(), thread);
        }
        add(again(operation::resize_from, old, old.bytes()), header);
        if (choice > 97) {
            add(again(operation::drop, old, old.bytes()), header);
            return slots_.give(old.slot(), thread);
        }
        live_.push_back(record(operation::resize_to, old.slot(), bytes, 0, old.pool(), thread));
        add(live_.back(), header);
    }

    std::mt19937_64 random_;
    std::string path_;
    replay::slot_stock slots_;
    std::vector<record> records_, live_;
    std::uint64_t bytes_ = 0;
};

template <replay::touch Touch, class Heap>
replay::play_result play(Heap& heap, const random_script& script) {
    replay::script_source source(script.path().c_str());
    replay::play_result result;
    replay::dependency_round<Heap, Touch>(heap, source).play(result);
    return result;
}

// A heap that notes each operation with its thread and time.
struct noting_heap {
    static constexpr bool is_null = true;
    struct note {
        operation op;
        std::uint32_t slot;
        std::uint16_t thread;
        std::uint64_t bytes;
        bool operator==(const note&) const = default;
    };
    std::mutex mutex;
    std::vector<note> notes;

    void add(const record& r) {
        const std::lock_guard locked(mutex);
        notes.push_back({r.op(), r.slot(), r.thread(), r.bytes()});
    }
    void* allocate(const record& r) noexcept {
        add(r);
        return this;
    }
    void deallocate(const record& r, void*) noexcept { add(r); }
    void* resize(const record&, const record& to, void* block) noexcept {
        add(to);
        return block;
    }
};

TEST(dependency_order, threads_keep_their_own_order_and_every_slot_the_total_one) {
    SCOPED_TRACE("--seed=" + std::to_string(seed()));
    for (const std::uint16_t threads : {std::uint16_t{2}, std::uint16_t{3}, std::uint16_t{16}}) {
        const random_script script(seed() + threads, threads, 20'000);
        std::map<std::uint16_t, std::vector<noting_heap::note>> of_thread, of_thread_played;
        std::map<std::uint32_t, std::vector<noting_heap::note>> of_slot, of_slot_played;
        for (const record& r : script.records()) {
            if (r.op() == operation::thread_end || r.op() == operation::resize_from) continue;
            const noting_heap::note n{r.op(), r.slot(), r.thread(), r.bytes()};
            of_thread[n.thread].push_back(n);
            of_slot[n.slot].push_back(n);
        }
        noting_heap heap;
        const replay::play_result result = play<replay::touch::none>(heap, script);
        EXPECT_EQ(result.why, nullptr);
        EXPECT_EQ(result.records, script.records().size());
        for (const noting_heap::note& n : heap.notes) {
            of_thread_played[n.thread].push_back(n);
            of_slot_played[n.slot].push_back(n);
        }
        EXPECT_TRUE(of_thread_played == of_thread) << threads << " threads";
        EXPECT_TRUE(of_slot_played == of_slot) << threads << " threads";
    }
}

template <class Allocator, bool ReleaseWhenEmpty>
void expect_own_memory(const random_script& script) {
    const std::vector<replay::script_pool> pools(4, {1, 0, 0});
    replay::pooled_heap<Allocator, ReleaseWhenEmpty, std::mutex> heap(pools, false);
    const replay::play_result result = play<replay::touch::check>(heap, script);
    EXPECT_EQ(result.why, nullptr) << result.why;
    EXPECT_EQ(result.records, script.records().size());
    heap.release();
}

TEST(dependency_order, pools_of_several_threads_give_disjoint_blocks) {
    SCOPED_TRACE("--seed=" + std::to_string(seed()));
    const random_script script(seed(), 4, 20'000);
    expect_own_memory<multipool<replay::counted_source>, false>(script);
    expect_own_memory<monotonic<replay::counted_source>, true>(script);
    expect_own_memory<multipool<monotonic<replay::counted_source>>, true>(script);
    replay::malloc_heap heap;
    EXPECT_EQ(play<replay::touch::check>(heap, script).why, nullptr);
}

// A heap that runs out of memory.
struct small_heap {
    static constexpr bool is_null = true;
    std::atomic<int> left{1000};
    void* allocate(const record&) noexcept { return left-- > 0 ? this : nullptr; }
    void deallocate(const record&, void*) noexcept {}
    void* resize(const record&, const record&, void* block) noexcept { return block; }
};

TEST(dependency_order, a_round_without_memory_ends_for_all_threads) {
    SCOPED_TRACE("--seed=" + std::to_string(seed()));
    const random_script script(seed(), 5, 20'000);
    small_heap heap;
    const replay::play_result result = play<replay::touch::none>(heap, script);
    ASSERT_NE(result.why, nullptr);
    EXPECT_EQ(std::string(result.why), "ran out of memory");
}

}  // namespace
}  // namespace millpond::test
