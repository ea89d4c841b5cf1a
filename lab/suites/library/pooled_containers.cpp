// SPDX-License-Identifier: BSL-1.0
// small_sets, small_lists, merged_sets, spliced_lists: standard containers against the same containers with a pool
// inside.
//
//   small_sets, small_lists   `--size` containers of ten numbers each, made and dropped     cold_ns, warm_ns a number
//   merged_sets               two sets of `--size` numbers, the odd and the even ones       warm_ns a node that moves
//   spliced_lists             two lists of `--size` numbers                                 warm_ns a splice of all
//
// The resident bytes of small containers are those of all of them, including a vector that holds them.
#include <cstdint>
#include <list>
#include <set>
#include <string_view>
#include <vector>

#include "contenders.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "lab/suites/frame/passes.hpp"
#include "millpond/container/pooled_list.hpp"
#include "millpond/container/pooled_set.hpp"
#include "workload.hpp"

namespace millpond::library {
namespace {

using number = std::uint64_t;

struct standard_containers {
    static constexpr std::string_view name = "standard";
    using set = std::set<number>;
    using list = std::list<number>;
};
struct containers_with_pools {
    static constexpr std::string_view name = "pooled";
    using set = pooled_set<number>;
    using list = pooled_list<number>;
};

constexpr std::uint64_t numbers_each = 10;
constexpr int passes = 5;

template <class Container>
void fill(Container& to, random_numbers& random) {
    for (std::uint64_t n = 0; n < numbers_each; ++n) to.insert(to.end(), random.below(1U << 31));
}

template <class Container>
[[gnu::noinline]] std::uint64_t make_small(std::vector<Container>& all, random_numbers& random) {
    std::uint64_t sum = 0;
    for (Container& each : all) {
        fill(each, random);
        sum += *each.begin();
    }
    return sum;
}

template <class Container>
outcome run_small(const point& asked) {
    const std::uint64_t size = asked.count("size");
    const auto count = static_cast<double>(size * numbers_each);
    random_numbers random(asked.seed());
    outcome result;
    const resident_meter resident;
    std::vector<double> times(passes + 1);
    for (double& time : times) {
        const stopwatch clock;
        std::vector<Container> all(size);
        result.checksum += make_small(all, random);
        all.clear();
        time = clock.elapsed_ns() / count;
    }
    result.set("cold_ns", times.front());
    result.set("warm_ns", frame::median(std::span(times).subspan(1)));
    result.set_count("units", size * numbers_each);
    frame::set_resident(result, resident);
    return result;
}

template <class C>
struct small_sets_runner {
    static outcome run(const point& asked) { return run_small<typename C::set>(asked); }
};
template <class C>
struct small_lists_runner {
    static outcome run(const point& asked) { return run_small<typename C::list>(asked); }
};

// Runs `once`, which returns a checksum and its time, and keeps the median.
template <class Once>
outcome run_joining(const point& asked, Once once) {
    outcome result;
    const resident_meter resident;
    std::vector<double> times(passes);
    for (double& time : times) result.checksum += once(time);
    result.set("warm_ns", frame::median(times));
    result.set_count("units", asked.count("size"));
    frame::set_resident(result, resident);
    return result;
}

template <class C>
struct merge_runner {
    static outcome run(const point& asked) {
        const std::uint64_t size = asked.count("size");
        return run_joining(asked, [size](double& ns) {
            typename C::set even, odd;
            for (number n = 0; n < size; ++n) even.insert(even.end(), 2 * n), odd.insert(odd.end(), 2 * n + 1);
            const stopwatch clock;
            even.merge(odd);
            ns = clock.elapsed_ns() / static_cast<double>(size);
            return even.size() + *even.rbegin();
        });
    }
};

template <class C>
struct splice_runner {
    static outcome run(const point& asked) {
        const std::uint64_t size = asked.count("size");
        return run_joining(asked, [size](double& ns) {
            typename C::list to(size, number{1}), from(size, number{2});
            const stopwatch clock;
            to.splice(to.begin(), from);
            ns = clock.elapsed_ns();
            return to.front() + to.size();
        });
    }
};

template <template <class> class Runner>
std::vector<entry> both() {
    return entries<Runner>(contender_list<standard_containers, containers_with_pools>{});
}

constexpr parameter containers[] = {size_parameter(1000, "containers"), seed_parameter};
constexpr parameter nodes[] = {size_parameter(1'000'000, "nodes in each"), seed_parameter};
constexpr metric small_metrics[] = {"cold_ns", "warm_ns"};
constexpr metric joining_metrics[] = {"warm_ns"};

}  // namespace

const workload small_sets = workload_of<both<small_sets_runner>>("small_sets", "number", containers, small_metrics);
const workload small_lists = workload_of<both<small_lists_runner>>("small_lists", "number", containers, small_metrics);
const workload merged_sets = workload_of<both<merge_runner>>("merged_sets", "node", nodes, joining_metrics);
const workload spliced_lists = workload_of<both<splice_runner>>("spliced_lists", "splice", nodes, joining_metrics);

}  // namespace millpond::library
