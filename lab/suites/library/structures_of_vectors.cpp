// SPDX-License-Identifier: BSL-1.0
// vector_string, vector_int and what a vector of 64 numbers pays for an allocator of its own.
#include "structures.hpp"
#include "workload.hpp"

namespace millpond::suites {
namespace {

struct strings : leaf_kind {
    template <class C>
    using structure = vector_of<C, text_of<C>>;
};
struct numbers : leaf_kind {
    static constexpr std::uint64_t scale_units = std::uint64_t{1} << 22;
    template <class C>
    using structure = vector_of<C, int>;
};
struct whole_vectors : numbers {
    static constexpr bool counts_structures = true;
    static constexpr std::uint64_t scale_units = std::uint64_t{1} << 16;
};

// Not reserved: 1, 2, 4 … 64 elements, seven sizes of blocks.
template <class C>
class growing_pass final : public pass {
  public:
    growing_pass(std::uint64_t elements, leaves& from) : elements_(elements), leaves_(from) {}
    std::uint64_t repeat(std::uint64_t repetitions) override {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < repetitions; ++i) sum = grow_once();
        return sum;
    }

  private:
    [[gnu::noinline]] std::uint64_t grow_once() {
        leaves_.reset();
        typename C::pool pool;
        vector_of<C, int> numbers(C::template bind<int>(pool));
        for (std::uint64_t i = 0; i < elements_; ++i) numbers.push_back(leaves_.next_number());
        return touch(numbers);
    }

    std::uint64_t elements_;
    leaves& leaves_;
};

template <class C>
struct growing_runner {
    static outcome run(const cell& asked) {
        leaves from(asked.size, asked.seed);
        growing_pass<C> work(asked.size, from);
        return measure(work, 1, asked.scale_units != 0 ? asked.scale_units : whole_vectors::scale_units);
    }
};

// Without fast_pool: it searches its free nodes for an array.
template <template <class> class Runner>
std::vector<entry> all() {
    return entries<Runner>(our_pools{}, our_monotonics{}, our_winked{}, heap_peers{}, pool_peers{}, monotonic_peers{},
                           ideals{});
}

}  // namespace

const workload vector_string{
    "vector_string", "leaf", "strings", {1 << 12, 1 << 14, 1 << 16}, {}, all<structure_runner<strings>::of>};
const workload vector_int{"vector_int", "leaf", "numbers", {1 << 6, 1 << 12}, {}, all<structure_runner<numbers>::of>};
const workload vector_int_64{"vector_int_64", "vector", "numbers", {64}, {}, all<structure_runner<whole_vectors>::of>};
const workload vector_int_growing{"vector_int_growing", "vector", "numbers", {64}, {}, all<growing_runner>};

}  // namespace millpond::suites
