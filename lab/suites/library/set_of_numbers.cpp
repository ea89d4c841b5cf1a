// SPDX-License-Identifier: BSL-1.0
// set_of_numbers: a std::set<std::uint64_t> of random numbers that grows, shrinks to a tenth and then keeps changing.
// After the benchmark of the Counter Tree Library's suballocator (2012), chapter 4.4.
//
//   cold_ns    an insert, into an empty set up to `--size` elements; resident bytes are those of the full set
//   before_ns  an erase of any element and an insert, once for each of the first `--size`, when a tenth is left
//   after_ns   an element of a traversal after that; the median of five
//
// The result depends on where the nodes lie: after shrinking they are spread over the memory of the full set, unless
// the allocator fills the lowest gaps first. The numbers are drawn before anything is measured.
#include <cstdint>
#include <vector>

#include "lab/suites/common/number_set.hpp"
#include "lab/suites/frame/passes.hpp"
#include "node_contenders.hpp"
#include "workload.hpp"

namespace millpond::library {
namespace {

constexpr std::size_t left_of = 10;  // one in so many stays

template <class C>
class growing_set {
  public:
    growing_set(std::uint64_t size, std::uint64_t seed) : random_(seed), numbers_(size) {
        for (std::uint64_t& number : numbers_) number = next_number(random_);
    }

    void insert_all() { suites::insert_all(set_, numbers_); }
    void shrink() {
        const std::size_t left = numbers_.size() / left_of;
        while (numbers_.size() > left) {
            std::uint64_t& any = numbers_[random_.below(static_cast<std::uint32_t>(numbers_.size()))];
            set_.erase(any);
            any = numbers_.back();
            numbers_.pop_back();
        }
    }
    [[gnu::noinline]] void change(std::uint64_t pairs) {
        for (std::uint64_t i = 0; i < pairs; ++i) {
            std::uint64_t& any = numbers_[random_.below(static_cast<std::uint32_t>(numbers_.size()))];
            set_.erase(any);
            set_.insert(any = next_number(random_));
        }
    }
    [[nodiscard]] std::uint64_t traverse() const { return sum_of(set_); }
    [[nodiscard]] std::size_t size() const noexcept { return set_.size(); }

  private:
    random_numbers random_;
    std::vector<std::uint64_t> numbers_;
    typename C::pool pool_;
    number_set<C> set_{C::template bind<std::uint64_t>(pool_)};
};

template <class C>
struct set_runner {
    static outcome run(const point& asked) {
        const std::uint64_t size = asked.count("size");
        outcome result;
        growing_set<C> work(size, asked.seed());
        const resident_meter resident;
        stopwatch clock;
        work.insert_all();
        result.set("cold_ns", clock.elapsed_ns() / static_cast<double>(size));
        work.shrink();
        clock.start();
        work.change(size);
        result.set("before_ns", clock.elapsed_ns() / static_cast<double>(size));
        std::vector<double> passes(5);
        for (double& pass : passes) {
            clock.start();
            result.checksum = work.traverse();
            pass = clock.elapsed_ns() / static_cast<double>(work.size());
        }
        result.set("after_ns", frame::median(passes));
        result.set_count("units", size);
        set_resident(result, resident);
        return result;
    }
};

std::vector<entry> all() { return entries<set_runner>(our_nodes{}, slot_peers{}); }

constexpr parameter parameters[] = {size_parameter(3'000'000, "elements"), seed_parameter};
constexpr metric metrics[] = {"cold_ns", "before_ns", "after_ns"};

}  // namespace

const workload set_of_numbers = workload_of<all>("set_of_numbers", "element", parameters, metrics);

}  // namespace millpond::library
