// SPDX-License-Identifier: BSL-1.0
// structures: Benchmark I of P0089R0, section 7: one structure, isolated, built and taken down again and again.
//
//   fresh allocator ─▶ construct ─▶ fill: vectors are reserved first, sets are not ─▶ touch every leaf ─▶ destroy
//                                                                                  wink: release instead ─┘
//
// The same code for every contender; nested containers get their allocator by uses-allocator construction.
// Strings of vectors are written by their constructor (length, character); those of sets are copied from a text.
#pragma once

#include <cstdint>
#include <type_traits>

#include "contenders.hpp"
#include "lab/suites/common/containers.hpp"
#include "lab/suites/common/leaves.hpp"
#include "millpond/bind/wink_out.hpp"
#include "passes.hpp"

namespace millpond::suites {

template <class Container>
void fill(Container& to, std::uint64_t elements, leaves& from) {
    using element = typename Container::value_type;
    if constexpr (is_set<Container>) {
        for (std::uint64_t i = 0; i < elements; ++i) {
            if constexpr (is_text<element>) {
                const auto text = from.next_text();
                to.emplace(text.begin, text.length);
            } else {
                to.insert(from.next_number());
            }
        }
    } else {
        to.reserve(elements);
        for (std::uint64_t i = 0; i < elements; ++i) {
            if constexpr (is_text<element>) {
                to.emplace_back(from.next_length(), 'x');
            } else if constexpr (std::is_same_v<element, int>) {
                to.push_back(from.next_number());
            } else {
                to.emplace_back();
                fill(to.back(), inner_elements, from);
            }
        }
    }
}

// Returns: a sum that does not depend on the order of the elements.
template <class Container>
std::uint64_t touch(Container& in) {
    std::uint64_t sum = 0;
    for (auto& element : in) {
        using type = std::remove_cvref_t<decltype(element)>;
        if constexpr (std::is_same_v<type, int>) {
            sum += static_cast<std::uint32_t>(element);
        } else if constexpr (is_text<type>) {
            if constexpr (!is_set<Container>) ++element.front();
            sum += static_cast<unsigned char>(element.front()) + element.size();
        } else {
            sum += touch(element);
        }
    }
    return sum;
}

// One life of a structure of type S.
template <class C, class S>
[[gnu::noinline]] std::uint64_t live_once(std::uint64_t elements, leaves& from) {
    typename C::pool pool;
    if constexpr (C::winks) {
        wink_out<S, typename C::pool> structure(pool);
        fill(*structure, elements, from);
        return touch(*structure);
    } else {
        S structure(C::template bind<typename S::value_type>(pool));
        fill(structure, elements, from);
        return touch(structure);
    }
}

template <class C, class S>
class structure_pass final : public pass {
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

// Kind::structure<C> is the structure's type. A unit is a leaf, or a whole structure where Kind says so.
template <class Kind>
struct structure_runner {
    template <class C>
    struct of {
        static outcome run(const cell& asked) {
            constexpr std::uint64_t each = Kind::is_nested ? inner_elements : 1;
            leaves from(asked.size * each, asked.seed);
            structure_pass<C, typename Kind::template structure<C>> work(asked.size, from);
            const std::uint64_t units = Kind::counts_structures ? 1 : asked.size * each;
            return measure(work, units, asked.scale_units != 0 ? asked.scale_units : Kind::scale_units);
        }
    };
};

struct leaf_kind {
    static constexpr bool is_nested = false;
    static constexpr bool counts_structures = false;
    static constexpr std::uint64_t scale_units = std::uint64_t{1} << 18;
};
struct nested_kind : leaf_kind {
    static constexpr bool is_nested = true;
};

}  // namespace millpond::suites
