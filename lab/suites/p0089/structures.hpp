// SPDX-License-Identifier: BSL-1.0
// structures: the lives of Benchmark I (lab/suites/common/structures.hpp) by strategy and ending.
//
// Every leaf is written whole. Sets are written into, too: afterwards there are no look-ups, and no destructor hashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lab/suites/common/structures.hpp"
#include "life.hpp"
#include "pools.hpp"

namespace millpond::p0089 {

using suites::container_set_of;
using suites::nested_of;
using suites::number_set_of;
using suites::text_of;
using suites::text_set_of;
using suites::vector_of;

// Effects: writes the leaf; its address is read from a volatile variable, so that the compiler cannot remove the write.
inline void write_leaf(const void* leaf, std::size_t bytes) {
    volatile char* volatile where = static_cast<volatile char*>(const_cast<void*>(leaf));
    std::memset(const_cast<char*>(where), 0xff, bytes);
}

struct writes_leaves {
    template <class Vector>
    static void append_text(Vector& to, suites::leaves& from) {
        const auto text = from.next_text();
        to.emplace_back(text.begin, text.length);
    }
    static std::uint64_t number(const int& leaf) {
        const std::uint64_t was = suites::number_of(leaf);
        write_leaf(&leaf, sizeof leaf);
        return was;
    }
    template <class Text>
    static std::uint64_t text(const Text& leaf) {
        const std::uint64_t was = suites::number_of(leaf) + leaf.size();
        write_leaf(leaf.data(), leaf.size());
        return was;
    }
};

// Structure<C>: the structure's type if containers reach their allocator by C.
template <template <class> class Structure>
struct lives {
    template <class C>
    struct of {
        using each = suites::structure_lives<C, Structure<C>, writes_leaves>;

        static life run(ending how) {
            if constexpr (C::can_wink) {
                constexpr life by_ending[] = {&each::destroyed, &each::winked, &each::winked_on_stack};
                return by_ending[static_cast<std::size_t>(how)];
            } else {
                return &each::destroyed;
            }
        }
    };

    // Returns: null for a binding that was not compiled for this structure.
    template <class Tried = tried_nowhere>
    static life chosen_life(strategy by, ending how) {
        const auto run = by.is_usual() ? chosen<of>(by) : chosen_tried<of>(by, Tried{});
        return run == nullptr ? nullptr : run(how);
    }
};

}  // namespace millpond::p0089
