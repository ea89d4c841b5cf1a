// SPDX-License-Identifier: BSL-1.0
// own, handover, larson: allocate in several threads.
//
//   own        thread: replaces one of its own blocks, again and again
//   handover   producer: allocates ─▶ queue of batches ─▶ consumer: frees                 threads / 2 such pairs
//   larson     thread 1: replaces some, ends ─▶ thread 2: replaces some of the same, ends ─▶ …    threads such lines
//
// larson has the shape of a server after Larson and Krishnan (1998): a thread frees blocks that earlier threads left.
#include <memory>
#include <thread>

#include "lab/suites/common/batch_queue.hpp"
#include "lab/suites/common/team.hpp"
#include "lab/suites/frame/window.hpp"
#include "workload.hpp"

namespace millpond::malloc_suite {
namespace {

using suites::batch_queue;

std::uint64_t replace_some(live_blocks& blocks, const drawn_sizes& sizes, random_numbers& random, std::uint64_t times) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < times; ++i) {
        const std::size_t bytes = sizes.next(random);
        blocks.replace(random.below(blocks.count()), bytes);
        sum += bytes;
    }
    return sum;
}

// Effects: runs work(index) in each of so many threads, as the measured part. Returns: the sum of their results.
template <class Work>
std::uint64_t run_team(std::uint64_t threads, Work work) {
    std::vector<std::uint64_t> sums(threads);
    suites::team().run(threads,
                       [&](std::uint64_t index, auto) { frame::measured_part([&] { sums[index] = work(index); }); });
    std::uint64_t sum = 0;
    for (const std::uint64_t each : sums) sum += each;
    return sum;
}

template <class Work>
outcome run_window(std::uint64_t units, Work work) {
    outcome result;
    frame::window measured;
    measured.run(result, [&] { result.checksum = work(); });
    result.set_count("units", units);
    return result;
}

outcome run_own(const point& asked) {
    const std::uint64_t threads = asked.count("threads"), units = asked.count("units");
    const drawn_sizes sizes(asked.count("most"));
    return run_window(threads * units, [&] {
        return run_team(threads, [&](std::uint64_t index) {
            live_blocks blocks(asked.count("live"));
            random_numbers random(asked.seed() + index);
            return replace_some(blocks, sizes, random, units);
        });
    });
}

outcome run_handover(const point& asked) {
    const std::uint64_t lines = (asked.count("threads") + 1) / 2;
    const std::uint64_t batches = asked.count("units") / batch_queue::batch_blocks + 1;
    const drawn_sizes sizes(asked.count("most"));
    std::vector<std::unique_ptr<batch_queue>> queues;
    queues.reserve(lines);
    for (std::uint64_t i = 0; i < lines; ++i) queues.push_back(std::make_unique<batch_queue>());
    return run_window(lines * batches * batch_queue::batch_blocks, [&] {
        return run_team(2 * lines, [&](std::uint64_t index) {
            batch_queue& queue = *queues[index / 2];
            random_numbers random(asked.seed() + index);
            std::uint64_t sum = 0;
            for (std::uint64_t i = 0; i < batches; ++i) {
                batch_queue::batch blocks;
                if (index % 2 == 0) {
                    for (void*& each : blocks) {
                        const std::size_t bytes = sizes.next(random);
                        each = take(bytes);
                        sum += bytes;
                    }
                    queue.push(blocks);
                } else {
                    queue.pop(blocks);
                    for (void* each : blocks) std::free(each);
                }
            }
            return sum;
        });
    });
}

outcome run_larson(const point& asked) {
    const std::uint64_t lines = asked.count("threads"), lives = asked.count("lives"), units = asked.count("units");
    const drawn_sizes sizes(asked.count("most"));
    return run_window(lines * units, [&] {
        return run_team(lines, [&](std::uint64_t index) {
            live_blocks blocks(asked.count("live"));
            std::uint64_t sum = 0;
            for (std::uint64_t life = 0; life < lives; ++life) {
                std::thread successor([&] {
                    random_numbers random(asked.seed() + index * lives + life);
                    frame::measured_part([&] { sum += replace_some(blocks, sizes, random, units / lives + 1); });
                });
                successor.join();
            }
            return sum;
        });
    });
}

constexpr std::int64_t most_count = std::int64_t{1} << 31;
constexpr parameter threads{"threads", 2, 1, 1024, "that run at once"};
constexpr parameter most{"most", 1024, 32, std::int64_t{1} << 30, "bytes of a block, in whole octaves from 16 on"};
constexpr parameter live{"live", 1000, 1, most_count, "blocks of a thread at any time"};

constexpr parameter own_parameters[] = {
    threads, most, live, {"units", 5'000'000, 1, most_count, "blocks of a thread"}, frame::seed_parameter};
constexpr parameter handover_parameters[] = {
    threads, most, {"units", 5'000'000, 1, most_count, "blocks of a producer"}, frame::seed_parameter};
constexpr parameter larson_parameters[] = {threads,
                                           most,
                                           live,
                                           {"units", 5'000'000, 1, most_count, "blocks of a line of threads"},
                                           {"lives", 50, 1, 100'000, "threads of a line, one after the other"},
                                           frame::seed_parameter};

}  // namespace

const workload own{.name = "own", .unit = "block", .parameters = own_parameters, .run = run_own};
const workload handover{.name = "handover", .unit = "block", .parameters = handover_parameters, .run = run_handover};
const workload larson{.name = "larson", .unit = "block", .parameters = larson_parameters, .run = run_larson};

}  // namespace millpond::malloc_suite
