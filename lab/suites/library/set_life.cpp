// SPDX-License-Identifier: BSL-1.0
// set_life: fills a set of random 64-bit numbers, searches it and empties it.
//
//   cold_ns    an insert, into an empty set up to `--size` elements      resident bytes are those of the full set
//   before_ns  a find of each element, in another random order           left_bytes those of the empty one
//   after_ns   an element of a traversal in order, the median of five
//   warm_ns    an erase of each element, in random order
//
// Compares std::set over each allocator with the sets that have their memory inside. The numbers are drawn, and
// touched, before bytes are counted.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "lab/suites/common/number_set.hpp"
#include "lab/suites/frame/passes.hpp"
#include "node_contenders.hpp"
#include "workload.hpp"

namespace millpond::library {
namespace {

template <class C>
class whole_life {
  public:
    whole_life(std::uint64_t size, std::uint64_t seed) : random_(seed), numbers_(size) {
        for (std::uint64_t& number : numbers_) number = next_number(random_);
    }

    void insert_all() { suites::insert_all(set_, numbers_); }
    void shuffle() { suites::shuffle(numbers_, random_); }
    [[nodiscard]] std::uint64_t find_all() const { return suites::find_all(set_, numbers_); }
    [[nodiscard]] std::uint64_t traverse() const { return sum_of(set_); }
    void erase_all() { suites::erase_all(set_, numbers_); }

  private:
    random_numbers random_;
    std::vector<std::uint64_t> numbers_;
    typename C::pool pool_;
    number_set<C> set_{C::template bind<std::uint64_t>(pool_)};
};

template <class C>
struct life_runner {
    static outcome run(const point& asked) {
        const std::uint64_t size = asked.count("size");
        const auto count = static_cast<double>(size);
        outcome result;
        whole_life<C> work(size, asked.seed());
        const resident_meter resident;
        stopwatch clock;
        work.insert_all();
        result.set("cold_ns", clock.elapsed_ns() / count);
        work.shuffle();
        clock.start();
        result.checksum = work.find_all();
        result.set("before_ns", clock.elapsed_ns() / count);
        std::vector<double> passes(5);
        for (double& pass : passes) {
            clock.start();
            result.checksum += work.traverse();
            pass = clock.elapsed_ns() / count;
        }
        result.set("after_ns", frame::median(passes));
        work.shuffle();
        clock.start();
        work.erase_all();
        result.set("warm_ns", clock.elapsed_ns() / count);
        result.set_count("units", size);
        set_resident(result, resident);
        return result;
    }
};

std::vector<entry> all() {
    return entries<life_runner>(our_nodes{}, contender_list<multipool_by_type, monotonic_by_type>{}, other_sets{},
                                slot_peers{});
}

constexpr parameter parameters[] = {size_parameter(1'000'000, "elements"), seed_parameter};
constexpr metric metrics[] = {"cold_ns", "before_ns", "after_ns", "warm_ns"};

}  // namespace

const workload set_life = workload_of<all>("set_life", "element", parameters, metrics);

}  // namespace millpond::library
