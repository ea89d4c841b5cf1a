// SPDX-License-Identifier: BSL-1.0
// freeing_list: the places at which each subsystem's blocks are freed and resized, with counts of other blocks at each.
//
//   free ◀─ operator delete ◀─ std::default_delete ◀─ shop::book::drop ◀─ shop::close
//           └───── through, the outermost of them ┘    └─ place           └─ caller
//
// The place is the innermost call in code outside the library. It may be a wrapper that frees everything; then its
// callers show who frees which block. Frees have places in recordings made with --frees; resizes (realloc) always have
// them. Names also come from symbols; lines need debug information. O(contexts that free); memory grows with the
// places. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "lab/characterise/characterisation.hpp"
#include "lab/characterise/module_debug.hpp"

namespace millpond::characterise {

class freeing_list {
  public:
    // `debug` must outlive this object.
    freeing_list(const characterisation& all, module_debug& debug);

    // Returns the places that free or resize most blocks of a subsystem, the first with most, at most places_max.
    json of(std::uint32_t subsystem) const;
    // The number of blocks freed or resized at places that of() leaves out.
    std::uint64_t left_out(std::uint32_t subsystem) const;

  private:
    static constexpr std::size_t places_max = 24, callers_max = 4;

    struct source_call {
        std::string function;
        symbols::source_place place;
        symbols::source_language language;
    };
    struct walk {
        source_call at, caller;
        std::string through;  // the library's function that calls free; empty: the place itself calls it
    };
    using counts = std::map<std::uint32_t, freeing_count>;  // by subsystem
    struct caller_sum {
        source_call at;
        counts of;
    };
    struct place_sum {
        source_call at;
        std::string through;
        counts of;
        std::map<std::string, caller_sum> callers;
    };

    walk look_at(std::uint32_t context);
    static std::string key_of(const source_call& call);
    static std::uint64_t own(const counts& of, std::uint32_t subsystem);
    static std::uint64_t others(const counts& of, std::uint32_t subsystem);
    static json call_json(const source_call& call, const counts& of, std::uint32_t subsystem);

    const characterisation& all_;
    module_debug& debug_;
    std::map<std::string, place_sum> places_;
};

}  // namespace millpond::characterise
