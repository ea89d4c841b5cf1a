// SPDX-License-Identifier: BSL-1.0
// construct_empty: a pool that is constructed, never used, and destroyed: what a tiny container pays for its allocator.
//
// --instructions counts construct_empty_once. Local contenders only: a heap has nothing to construct.
#include "contenders.hpp"
#include "passes.hpp"
#include "workload.hpp"

namespace millpond::suites {
namespace {

template <class C>
[[gnu::noinline]] void construct_empty_once() {
    typename C::pool pool;
    escape(&pool);
}

template <class C>
class constructions final : public pass {
  public:
    std::uint64_t repeat(std::uint64_t repetitions) override {
        for (std::uint64_t i = 0; i < repetitions; ++i) construct_empty_once<C>();
        return 0;
    }
};

template <class C>
struct runner {
    static outcome run(const cell& asked) {
        constructions<C> work;
        if (asked.instructions > 0) {
            work.repeat(asked.instructions);
            outcome result;
            result.units = asked.instructions;
            return result;
        }
        return measure(work, 1, asked.scale_units != 0 ? asked.scale_units : std::uint64_t{1} << 18);
    }
};

std::vector<entry> all() { return entries<runner>(our_pools{}, our_monotonics{}, pool_peers{}, monotonic_peers{}); }

}  // namespace

const workload construct_empty{"construct_empty", "pool", "", {}, {}, all, "construct_empty_once"};

}  // namespace millpond::suites
