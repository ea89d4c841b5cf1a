// SPDX-License-Identifier: BSL-1.0
// push_back, push_back_huge, push_back_pauses, commit_steps: append numbers to an array that does not know its final
// size.
//
//   push_back          pages of 4 KB, whatever the system's setting. cold_ns: construct, append, destroy
//   push_back_huge     huge pages allowed: arrays that can ask for them do; mallocs are set by their
//                      environment
//   push_back_pauses   pages of 4 KB. pause_ns: the longest wall time for 64 elements
//   commit_steps       only dyn_array, once for each step size for committing and populating
//
// One pass a process: the program grows an array for the first time. Bytes are those of that pass.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "contenders.hpp"
#include "lab/measure/clocks.hpp"
#include "lab/suites/common/arrays.hpp"
#include "lab/suites/frame/passes.hpp"
#include "workload.hpp"

namespace millpond::library {
namespace {

constexpr std::uint64_t part = 64;

template <class Array>
[[gnu::noinline]] void append(Array& to, std::uint64_t elements) {
    for (std::uint64_t i = 0; i < elements; ++i) to.push_back(static_cast<int>(i * 7));
}

// Returns: the longest time of a part, in nanoseconds of wall time.
template <class Array>
[[gnu::noinline]] double append_watched(Array& to, std::uint64_t elements) {
    double longest = 0;
    double before = measure::wall_seconds();
    while (to.size() < elements) {
        const std::uint64_t last = std::min<std::uint64_t>(elements, to.size() + part);
        for (std::uint64_t i = to.size(); i < last; ++i) to.push_back(static_cast<int>(i * 7));
        const double now = measure::wall_seconds();
        longest = std::max(longest, now - before);
        before = now;
    }
    return longest * 1e9;
}

// Only a few elements are read: reading is not measured.
template <class Array>
std::uint64_t sampled(Array& from, std::uint64_t elements) {
    std::uint64_t sum = from.size();
    for (std::uint64_t i = 0; i < elements; i += elements / 1000 + 1) sum += static_cast<std::uint32_t>(from[i]);
    return sum + static_cast<std::uint32_t>(from[elements - 1]);
}

template <bool Huge>
struct push_back_runner {
    template <class Array>
    struct of {
        static outcome run(const point& asked) {
            const std::uint64_t size = asked.count("size");
            if constexpr (!Huge) forbid_huge_pages();
            constexpr bool is_control = std::is_same_v<Array, control_array<int>>;
            outcome result;
            result.set_count("units", size);
            const resident_meter resident;
            std::unique_ptr<Array> array;
            if constexpr (is_control) array = std::make_unique<Array>(size, Huge);
            const stopwatch clock;
            if constexpr (!is_control) array = std::make_unique<Array>(size, Huge);
            append(*array, size);
            result.checksum = sampled(*array, size);
            array.reset();
            result.set("cold_ns", clock.elapsed_ns() / static_cast<double>(size));
            set_resident(result, resident);
            return result;
        }
    };
};

template <class Array>
struct pause_runner {
    static outcome run(const point& asked) {
        const std::uint64_t size = asked.count("size");
        forbid_huge_pages();
        outcome result;
        result.set_count("units", size);
        const resident_meter resident;
        Array array(size, false);
        result.set("pause_ns", append_watched(array, size));
        result.checksum = sampled(array, size);
        set_resident(result, resident);
        return result;
    }
};

template <class Array>
struct step_runner {
    static outcome run(const point& asked) {
        const std::uint64_t size = asked.count("size");
        forbid_huge_pages();
        outcome result;
        std::uint64_t units = 0;
        const resident_meter resident;
        for (std::size_t step = 4096; step <= std::size_t{16} << 20; step *= 2) {
            const stopwatch clock;
            dyn_array<int> array(size * 16, commit_steps{step, step, std::max(step, commit_steps{}.ahead)});
            append(array, size);
            result.checksum = sampled(array, size);
            array = {};
            result.set("step_ns:" + std::to_string(step), clock.elapsed_ns() / static_cast<double>(size));
            units += size;
        }
        result.set_count("units", units);
        set_resident(result, resident);
        return result;
    }
};

using arrays = contender_list<millpond_array<int>, vector_array<int>, deque_array<int>, realloc_array<int>,
                              mremap_array<int>, control_array<int>>;

template <template <class> class Runner>
std::vector<entry> all() {
    return entries<Runner>(arrays{});
}
std::vector<entry> ours() { return entries<step_runner>(contender_list<millpond_array<int>>{}); }

constexpr parameter parameters[] = {size_parameter(100'000'000, "elements"), seed_parameter};
constexpr parameter step_parameters[] = {size_parameter(1 << 24, "elements"), seed_parameter};
constexpr metric pass_metrics[] = {"cold_ns"};
constexpr metric pause_metrics[] = {"pause_ns"};
constexpr metric step_metrics[] = {{"step_ns", "ns", "step"}};

}  // namespace

const workload push_back =
    workload_of<all<push_back_runner<false>::of>>("push_back", "element", parameters, pass_metrics);
const workload push_back_huge =
    workload_of<all<push_back_runner<true>::of>>("push_back_huge", "element", parameters, pass_metrics);
const workload push_back_pauses =
    workload_of<all<pause_runner>>("push_back_pauses", "element", parameters, pause_metrics);
const workload commit_steps_sweep = workload_of<ours>("commit_steps", "element", step_parameters, step_metrics);

}  // namespace millpond::library
