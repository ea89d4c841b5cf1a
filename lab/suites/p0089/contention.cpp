// SPDX-License-Identifier: BSL-1.0
// contention: Benchmark IV of P0089R0, section 10: threads that allocate a block and free it at once, again and again.
//
//   private    thread 1: own allocator: allocate, write, free, …   thread 2: own allocator: …
//              the paper; new_delete is one for all
//   shared     the same with one allocator for all
//   handover   thread 1: allocate, write ─▶ queue ─▶ thread 2: read, free; thread 2: allocate ─▶ queue ─▶ … ─▶ thread 1
//
// The first byte of each block is incremented; in handover it is written, and read by the thread that frees. The figure
// is wall time, from when all threads are ready until the last one has freed its allocator. It includes making and
// destroying private pools.
#include <atomic>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "blocks.hpp"
#include "lab/suites/common/batch_queue.hpp"
#include "lab/suites/common/team.hpp"
#include "lab/suites/frame/window.hpp"
#include "pools.hpp"
#include "workload.hpp"

namespace millpond::p0089 {
namespace {

enum sharing { private_pools, shared_pool, handover };
constexpr std::string_view sharings[] = {"private", "shared", "handover"};

constexpr parameter parameters[] = {
    {"log2_n", 15, 0, 36, "pairs of allocation and free for each thread, N"},
    {"log2_s", 6, 0, 30, "bytes of a block, S"},
    {"threads", 1, 1, 256, "W"},
    {"sharing", private_pools, 0, 2, "an allocator for each thread, one for all, or frees by the next thread",
     sharings},
    frame::seed_parameter,
};

template <class C>
[[gnu::noinline]] std::uint64_t allocate_and_free(typename C::pool& pool, std::uint64_t pairs, std::size_t bytes) {
    const auto from = C::handle(pool);
    std::uint64_t done = 0;
    for (; done < pairs; ++done) {
        void* const block = take_block<C>(from, suites::hidden(bytes));
        C::give(from, block, bytes, block_alignment);
        suites::clobber();
    }
    return done;
}

// One thread of handover: in turns, passes a batch to the next thread and takes one from the thread before, so that no
// queue is ever full. A thread without memory passes no blocks on, and reports that at the end: the others must not
// wait for it.
template <class C>
class hand {
  public:
    hand(typename C::pool& pool, suites::batch_queue& to, suites::batch_queue& from)
        : pool_(pool), to_(to), from_(from) {}

    // Returns: a sum of the values that were read. Throws: std::bad_alloc.
    std::uint64_t pass_on(std::uint64_t blocks, std::size_t bytes) {
        std::uint64_t sum = 0;
        constexpr std::uint64_t most = suites::batch_queue::batch_blocks;
        for (std::uint64_t done = 0; done < blocks; done += most) {
            const auto count = static_cast<std::size_t>(std::min(most, blocks - done));
            to_.push(allocate(count, bytes));
            sum += free(count, bytes);
        }
        if (is_out_of_memory_) throw std::bad_alloc();
        return sum;
    }

  private:
    suites::batch_queue::batch allocate(std::size_t count, std::size_t bytes) noexcept {
        suites::batch_queue::batch blocks{};
        for (std::size_t i = 0; i < count && !is_out_of_memory_; ++i) {
            try {
                blocks[i] = C::take(C::handle(pool_), bytes, block_alignment);
                *static_cast<unsigned char*>(blocks[i]) = static_cast<unsigned char>(i + 1);
            } catch (const std::bad_alloc&) {
                is_out_of_memory_ = true;
            }
        }
        return blocks;
    }
    std::uint64_t free(std::size_t count, std::size_t bytes) noexcept {
        std::uint64_t sum = 0;
        suites::batch_queue::batch blocks;
        from_.pop(blocks);
        for (std::size_t i = 0; i < count; ++i) {
            if (blocks[i] == nullptr) continue;
            sum += *static_cast<unsigned char*>(blocks[i]);
            C::give(C::handle(pool_), blocks[i], bytes, block_alignment);
        }
        return sum;
    }

    typename C::pool& pool_;
    suites::batch_queue& to_;
    suites::batch_queue& from_;
    bool is_out_of_memory_ = false;
};

template <class C>
struct contention_runner {
    static outcome run(const point& asked) {
        outcome result;
        const auto threads = static_cast<std::uint64_t>(asked["threads"]);
        const auto how = static_cast<sharing>(asked["sharing"]);
        const std::uint64_t pairs = asked.power("log2_n");
        const auto bytes = static_cast<std::size_t>(asked.power("log2_s"));
        std::vector<std::unique_ptr<suites::batch_queue>> queues;
        queues.reserve(threads);
        for (std::uint64_t i = 0; i < threads; ++i) queues.push_back(std::make_unique<suites::batch_queue>());
        std::atomic<std::uint64_t> sum = 0;

        frame::window measured;
        // ends after the window, so that the memory it keeps is there at its end
        std::optional<typename C::pool> shared;
        const auto work = [&](std::uint64_t index) {
            if (how == handover) {
                hand<C> mine(*shared, *queues[(index + 1) % threads], *queues[index]);
                sum += mine.pass_on(pairs, bytes);
            } else if (how == shared_pool) {
                sum += allocate_and_free<C>(*shared, pairs, bytes);
            } else {
                typename C::pool own;
                sum += allocate_and_free<C>(own, pairs, bytes);
            }
        };
        suites::team::times times{};
        measured.run(result, [&] {
            shared.emplace();
            times = suites::team().run(threads, [&](std::uint64_t index, auto arrive) {
                arrive();
                frame::measured_part([&] { work(index); });
                arrive();
            });
        });
        result.set("wall_seconds", times.wall_ns * 1e-9);
        result.set("cpu_seconds", times.cpu_ns * 1e-9);
        result.checksum = sum * bytes;
        result.set_count("units", threads * pairs);
        return result;
    }
};

outcome run(const point& asked) { return chosen<contention_runner>(by(asked))(asked); }

std::string misfit(const point& asked) {
    if (asked["sharing"] == private_pools || by(asked).is_shared()) return {};
    std::string known;
    for (const strategy each : all_strategies()) {
        if (each.is_shared() && !each.winks) known.append(known.empty() ? "" : ", ").append(name_of(each));
    }
    return name_of(by(asked)) + " belongs to one thread; with --sharing " + std::string(sharings[asked["sharing"]]) +
           " there are: " + known;
}

std::uint64_t least_bytes(const point& asked) {
    const bool needs_all = is_never_reused(by(asked).pool, asked.power("log2_s"));
    const std::uint64_t each = needs_all ? asked.power("log2_n") * asked.power("log2_s") : asked.power("log2_s");
    return static_cast<std::uint64_t>(asked["threads"]) * each;
}

}  // namespace

const workload contention{.name = "contention",
                          .unit = "pair",
                          .parameters = parameters,
                          .takes = takes_what_destroys,
                          .run = run,
                          .misfit = misfit,
                          .least_bytes = least_bytes};

}  // namespace millpond::p0089
