// SPDX-License-Identifier: BSL-1.0
// structures: Benchmark I (lab/suites/common/structures.hpp): builds and destroys one structure again and again.
//
// A unit is a leaf, or a whole structure if its Kind says so.
#pragma once

#include <cstdint>
#include <type_traits>

#include "contenders.hpp"
#include "lab/suites/common/structures.hpp"
#include "lab/suites/frame/passes.hpp"
#include "workload.hpp"

namespace millpond::library {

// Leaves are only touched, because reading and writing are not measured. Texts of vectors are filled by their
// constructor: copying them would take a fifth of the time. A leaf is only read, and written if that is allowed.
struct touches_leaves {
    template <class Vector>
    static void append_text(Vector& to, leaves& from) {
        to.emplace_back(from.next_length(), 'x');
    }
    static std::uint64_t number(int leaf) { return static_cast<std::uint32_t>(leaf); }
    template <class Text>
    static std::uint64_t text(Text& leaf) {
        if constexpr (!std::is_const_v<Text>) ++leaf.front();
        return static_cast<unsigned char>(leaf.front()) + leaf.size();
    }
};

// One life of a structure of type S.
template <class C, class S>
std::uint64_t live_once(std::uint64_t elements, leaves& from) {
    using lives = structure_lives<C, S, touches_leaves>;
    if constexpr (C::winks) {
        return lives::winked({elements, elements}, from);
    } else {
        return lives::destroyed({elements, elements}, from);
    }
}

template <class C, class S>
class structure_pass final : public frame::pass {
  public:
    structure_pass(std::uint64_t elements, leaves& from) : elements_(elements), leaves_(from) {}
    std::uint64_t repeat(std::uint64_t repetitions) override {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < repetitions; ++i) {
            leaves_.reset();
            sum = live_once<C, S>(elements_, leaves_);
        }
        return sum;
    }

  private:
    std::uint64_t elements_;
    leaves& leaves_;
};

// Kind::structure<C> is the structure's type.
template <class Kind>
struct structure_runner {
    template <class C>
    struct of {
        static outcome run(const point& asked) {
            const std::uint64_t size = asked.count("size");
            const std::uint64_t leaves_each = size * (Kind::is_nested ? inner_elements : 1);
            leaves from(leaves_each, asked.seed());
            structure_pass<C, typename Kind::template structure<C>> work(size, from);
            return measure_passes(work, Kind::counts_structures ? 1 : leaves_each, asked.count("units"));
        }
    };
};

struct leaf_kind {
    static constexpr bool is_nested = false;
    static constexpr bool counts_structures = false;
};
struct nested_kind : leaf_kind {
    static constexpr bool is_nested = true;
};

template <std::int64_t UsualSize, std::int64_t UsualUnits = std::int64_t{1} << 18>
inline constexpr parameter structure_parameters[] = {size_parameter(UsualSize, "elements of the outer container"),
                                                     units_parameter(UsualUnits), seed_parameter};

// Without fast_pool: to allocate an array it searches its free nodes.
template <template <class> class Runner>
std::vector<entry> structure_entries() {
    return entries<Runner>(our_pools{}, our_monotonics{}, our_winked{}, heap_peers{}, pool_peers{}, monotonic_peers{},
                           ideals{});
}

template <template <class> class Runner, std::int64_t UsualSize, std::int64_t UsualUnits = std::int64_t{1} << 18>
constexpr workload structure_workload(std::string_view name, std::string_view unit) {
    return workload_of<structure_entries<Runner>>(name, unit, structure_parameters<UsualSize, UsualUnits>,
                                                  metrics_of_passes);
}

}  // namespace millpond::library
