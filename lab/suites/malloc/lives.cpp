// SPDX-License-Identifier: BSL-1.0
// random_sizes, churn_sizes: show how memory develops when blocks of many sizes come and go in one thread.
//
//   random_sizes   replaces one of the live blocks by one of another size, again and again
//   churn_sizes    phases: in each, every block is replaced by one of the phase's own size, in random order
//
// A malloc that keeps freed memory for its own size holds every phase's memory at the end.
#include <algorithm>
#include <numeric>

#include "lab/suites/frame/window.hpp"
#include "workload.hpp"

namespace millpond::malloc_suite {
namespace {

outcome run_random_sizes(const point& asked) {
    const drawn_sizes sizes(asked.count("most"));
    const std::uint64_t units = asked.count("units");
    outcome result;
    frame::window measured;
    measured.run(result, [&] {
        live_blocks blocks(asked.count("live"));
        random_numbers random(asked.seed());
        for (std::uint64_t i = 0; i < units; ++i) {
            const std::size_t bytes = sizes.next(random);
            blocks.replace(random.below(blocks.count()), bytes);
            result.checksum += bytes;
        }
    });
    result.set_count("units", units);
    return result;
}

outcome run_churn_sizes(const point& asked) {
    const drawn_sizes sizes(asked.count("most"));
    const std::uint64_t live = asked.count("live"), phases = asked.count("phases");
    outcome result;
    frame::window measured;
    measured.run(result, [&] {
        live_blocks blocks(live);
        random_numbers random(asked.seed());
        std::vector<std::uint32_t> order(live);
        std::iota(order.begin(), order.end(), 0u);
        for (std::uint64_t phase = 0; phase < phases; ++phase) {
            const std::size_t bytes = sizes.next(random);
            for (std::uint32_t i = static_cast<std::uint32_t>(live); i > 1; --i)
                std::swap(order[i - 1], order[random.below(i)]);
            for (const std::uint32_t each : order) blocks.replace(each, bytes);
            result.checksum += bytes * live;
        }
    });
    result.set_count("units", live * phases);
    return result;
}

constexpr std::int64_t most_count = std::int64_t{1} << 31;
constexpr parameter random_parameters[] = {
    {"most", 65536, 32, std::int64_t{1} << 30, "bytes of a block, in whole octaves from 16 on"},
    {"live", 10'000, 1, most_count, "blocks at any time"},
    {"units", 5'000'000, 1, most_count, "blocks in all"},
    frame::seed_parameter};
constexpr parameter churn_parameters[] = {
    {"most", 1024, 32, std::int64_t{1} << 30, "bytes of a block, in whole octaves from 16 on"},
    {"live", 100'000, 1, most_count, "blocks at any time"},
    {"phases", 40, 1, 1'000'000, "each of one size"},
    frame::seed_parameter};

}  // namespace

const workload random_sizes{
    .name = "random_sizes", .unit = "block", .parameters = random_parameters, .run = run_random_sizes};
const workload churn_sizes{
    .name = "churn_sizes", .unit = "block", .parameters = churn_parameters, .run = run_churn_sizes};

}  // namespace millpond::malloc_suite
