// SPDX-License-Identifier: BSL-1.0
// construct_empty: constructs a pool, never uses it, and destroys it: the price of an allocator for a tiny container.
//
// --instructions counts construct_empty_once. Local contenders only: a heap has nothing to construct.
#include "contenders.hpp"
#include "lab/suites/frame/passes.hpp"
#include "workload.hpp"

namespace millpond::library {
namespace {

template <class C>
[[gnu::noinline]] void construct_empty_once() {
    typename C::pool pool;
    escape(&pool);
}

template <class C>
class constructions final : public frame::pass {
  public:
    std::uint64_t repeat(std::uint64_t repetitions) override {
        for (std::uint64_t i = 0; i < repetitions; ++i) construct_empty_once<C>();
        return 0;
    }
};

template <class C>
struct construct_runner {
    static outcome run(const point& asked) {
        constructions<C> work;
        if (asked.instructions > 0) {
            work.repeat(asked.instructions);
            outcome result;
            result.set_count("units", asked.instructions);
            return result;
        }
        return measure_passes(work, 1, asked.count("units"));
    }
};

std::vector<entry> all() {
    return entries<construct_runner>(our_pools{}, our_monotonics{}, pool_peers{}, monotonic_peers{});
}

constexpr parameter parameters[] = {units_parameter(1 << 18), seed_parameter};
constexpr std::string_view counted[] = {"construct_empty_once"};

}  // namespace

const workload construct_empty = workload_of<all>("construct_empty", "pool", parameters, metrics_of_passes, counted);

}  // namespace millpond::library
