// SPDX-License-Identifier: BSL-1.0
// ordered_numbers, small_ordered_numbers, ranked_numbers: sets of random 64-bit numbers, in order, and with ranks.
//
//   ordered_numbers   cold_ns an insertion   warm_ns a find   after_ns a number of a traversal   before_ns an erasure
//   ranked_numbers    cold_ns an insertion   warm_ns a rank   after_ns an nth                    before_ns an erasure
//
// small_ordered_numbers is ordered_numbers with few numbers: a small set is made again and again until a million
// numbers were inserted. Resident bytes are those of the full set.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "contenders.hpp"
#include "lab/suites/common/number_set.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "lab/suites/common/ranked_sets.hpp"
#include "lab/suites/frame/passes.hpp"
#include "workload.hpp"

namespace millpond::library {
namespace {

using suites::random_numbers;

// Total nanoseconds, of one set after the other.
struct set_times {
    double insert = 0;
    double find = 0;
    double walk = 0;
    double erase = 0;
};

template <class Set>
[[gnu::noinline]] std::uint64_t rank_all(const Set& in, const std::vector<std::uint64_t>& numbers) {
    std::uint64_t sum = 0;
    for (const std::uint64_t number : numbers) sum += in.rank_of(number);
    return sum;
}
template <class Set>
[[gnu::noinline]] std::uint64_t nth_all(const Set& in, std::uint64_t size, random_numbers& random) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < size; ++i) sum += in.number_at(random.below(static_cast<std::uint32_t>(size)));
    return sum;
}
template <class Set, bool HasRanks>
outcome run_set(const point& asked) {
    const std::uint64_t size = asked.count("size");
    outcome result;
    random_numbers random(asked.seed());
    std::vector<std::uint64_t> numbers(size);
    for (std::uint64_t& number : numbers) number = suites::next_number(random);
    const std::uint64_t sets = std::max<std::uint64_t>((std::uint64_t{1} << 20) / size, 1);
    set_times times;
    const resident_meter resident;
    stopwatch clock;
    for (std::uint64_t i = 0; i < sets; ++i) {
        Set set;
        clock.start();
        suites::insert_all(set, numbers);
        times.insert += clock.elapsed_ns();
        if (i + 1 == sets) set_resident(result, resident);
        suites::shuffle(numbers, random);
        clock.start();
        if constexpr (HasRanks) {
            result.checksum = rank_all(set, numbers);
            times.find += clock.elapsed_ns();
            clock.start();
            result.checksum += nth_all(set, size, random);
        } else {
            result.checksum = suites::find_all(set, numbers);
            times.find += clock.elapsed_ns();
            clock.start();
            result.checksum += suites::sum_of(set);
        }
        times.walk += clock.elapsed_ns();
        suites::shuffle(numbers, random);
        clock.start();
        suites::erase_all(set, numbers);
        times.erase += clock.elapsed_ns();
    }
    const auto count = static_cast<double>(size * sets);
    result.set("cold_ns", times.insert / count);
    result.set("warm_ns", times.find / count);
    result.set("after_ns", times.walk / count);
    result.set("before_ns", times.erase / count);
    result.set_count("units", size * sets);
    return result;
}

template <class Set>
struct ordered_runner {
    static outcome run(const point& asked) { return run_set<Set, false>(asked); }
};
template <class Set>
struct ranked_runner {
    static outcome run(const point& asked) { return run_set<Set, true>(asked); }
};

using our_sets = contender_list<suites::ordered_numbers, suites::pooled_ordered_numbers, suites::counted_numbers,
                                suites::pooled_counted_numbers>;
#if defined(MILLPOND_SUITE_ABSL)
using absl_sets = contender_list<suites::absl_numbers>;
#else
using absl_sets = contender_list<>;
#endif
#if defined(MILLPOND_SUITE_BOOST)
using boost_sets = contender_list<suites::boost_numbers, suites::flat_numbers>;
#else
using boost_sets = contender_list<>;
#endif

std::vector<entry> all() {
    return entries<ordered_runner>(our_sets{}, contender_list<suites::std_numbers>{}, absl_sets{}, boost_sets{});
}
std::vector<entry> ranked() { return entries<ranked_runner>(our_sets{}, contender_list<suites::pb_ds_numbers>{}); }

constexpr parameter parameters[] = {size_parameter(1'000'000, "numbers"), seed_parameter};
constexpr parameter small_parameters[] = {size_parameter(1000, "numbers"), seed_parameter};
constexpr metric metrics[] = {"cold_ns", "warm_ns", "after_ns", "before_ns"};

}  // namespace

const workload ordered_numbers = workload_of<all>("ordered_numbers", "number", parameters, metrics);
const workload small_ordered_numbers = workload_of<all>("small_ordered_numbers", "number", small_parameters, metrics);
const workload ranked_numbers = workload_of<ranked>("ranked_numbers", "number", parameters, metrics);

}  // namespace millpond::library
