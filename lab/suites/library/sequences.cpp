// SPDX-License-Identifier: BSL-1.0
// sequence, sequence_crossing: insert numbers anywhere in a sequence.
//
//   sequence            cold_ns    an insertion at random, into an empty sequence up to `--size` numbers
//                       warm_ns    a number at a random index
//                       after_ns   a number of a traversal; the median of five
//                       before_ns  split at a random index and join in reverse order, if that is not a copy
//   sequence_crossing   warm_ns    an insertion and an erasure at random, in `--size` numbers
//
// Arrays take no part in the insertions of `sequence`: they would take hours. They are filled at their ends.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "contenders.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "lab/suites/common/sequences.hpp"
#include "lab/suites/frame/passes.hpp"
#include "workload.hpp"

namespace millpond::library {
namespace {

using suites::random_numbers;

template <class Sequence>
[[gnu::noinline]] void insert_anywhere(Sequence& to, std::uint64_t from, std::uint64_t size, random_numbers& random) {
    for (std::uint64_t i = from; i < size; ++i)
        to.insert(random.below(static_cast<std::uint32_t>(i + 1)), static_cast<int>(i * 7));
}
template <class Sequence>
[[gnu::noinline]] std::uint64_t read_anywhere(const Sequence& from, std::uint64_t size, random_numbers& random) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < size; ++i)
        sum += static_cast<std::uint32_t>(from[random.below(static_cast<std::uint32_t>(size))]);
    return sum;
}
template <class Sequence>
[[gnu::noinline]] std::uint64_t read_all(const Sequence& from) {
    std::uint64_t sum = 0;
    const auto end = from.end();
    for (auto at = from.begin(); at != end; ++at) sum += static_cast<std::uint32_t>(*at);
    return sum;
}

template <class Sequence>
struct sequence_runner {
    static outcome run(const point& asked) {
        const std::uint64_t size = asked.count("size");
        outcome result;
        random_numbers random(asked.seed());
        const resident_meter resident;
        Sequence sequence;
        stopwatch clock;
        if constexpr (requires { sequence.push_back(1); }) {
            for (std::uint64_t i = 0; i < size; ++i) sequence.push_back(static_cast<int>(i * 7));
        } else {
            insert_anywhere(sequence, 0, size, random);
            result.set("cold_ns", clock.elapsed_ns() / static_cast<double>(size));
        }
        set_resident(result, resident);
        clock.start();
        keep(read_anywhere(sequence, size, random));
        result.set("warm_ns", clock.elapsed_ns() / static_cast<double>(size));
        std::vector<double> passes(5);
        for (double& pass : passes) {
            clock.start();
            result.checksum = read_all(sequence);
            pass = clock.elapsed_ns() / static_cast<double>(size);
        }
        result.set("after_ns", frame::median(passes));
        if constexpr (requires { sequence.rotate(1); }) {
            constexpr std::uint64_t turns = 1000;
            clock.start();
            for (std::uint64_t i = 0; i < turns; ++i) sequence.rotate(random.below(static_cast<std::uint32_t>(size)));
            result.set("before_ns", clock.elapsed_ns() / static_cast<double>(turns));
        }
        result.set_count("units", size);
        return result;
    }

  private:
    // Effects: forces the computation of the sum, although nothing uses it.
    static void keep(std::uint64_t sum) { asm volatile("" : : "r"(sum)); }
};

template <class Sequence>
struct crossing_runner {
    static outcome run(const point& asked) {
        const std::uint64_t size = asked.count("size");
        outcome result;
        random_numbers random(asked.seed());
        const resident_meter resident;
        Sequence sequence;
        insert_anywhere(sequence, 0, size, random);
        const std::uint64_t pairs = std::clamp<std::uint64_t>((std::uint64_t{1} << 30) / size, 1 << 10, 1 << 18);
        const stopwatch clock;
        for (std::uint64_t i = 0; i < pairs; ++i) {
            sequence.insert(random.below(static_cast<std::uint32_t>(size + 1)), static_cast<int>(i));
            sequence.erase(random.below(static_cast<std::uint32_t>(size + 1)));
        }
        result.set("warm_ns", clock.elapsed_ns() / static_cast<double>(pairs));
        result.checksum = read_all(sequence);
        result.set_count("units", pairs);
        set_resident(result, resident);
        return result;
    }
};

using suites::millpond_sequence, suites::pooled_sequence, suites::rope_sequence, suites::ranked_sequence,
    suites::vector_sequence, suites::deque_sequence;
using sequence_list =
    contender_list<millpond_sequence, pooled_sequence, rope_sequence, ranked_sequence, vector_sequence, deque_sequence>;

std::vector<entry> all() { return entries<sequence_runner>(sequence_list{}); }
std::vector<entry> crossing() { return entries<crossing_runner>(sequence_list{}); }

constexpr parameter parameters[] = {size_parameter(1'000'000, "numbers"), seed_parameter};
constexpr parameter crossing_parameters[] = {size_parameter(1000, "numbers that are there"), seed_parameter};
constexpr metric metrics[] = {"cold_ns", "warm_ns", "after_ns", "before_ns"};
constexpr metric crossing_metrics[] = {"warm_ns"};

}  // namespace

const workload sequence = workload_of<all>("sequence", "number", parameters, metrics);
const workload sequence_crossing =
    workload_of<crossing>("sequence_crossing", "pair", crossing_parameters, crossing_metrics);

}  // namespace millpond::library
