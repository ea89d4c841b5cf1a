// SPDX-License-Identifier: BSL-1.0
// outward_walk: collects functions from the innermost outward, up to the owner of the allocation.
//
//   malloc ◀─ operator new ◀─ std::allocator ◀─ std::vector ◀─ shop::book::add
//            └───────────── inside, the outermost is the call ─────┘└─ owner
//
// Not thread-safe. Linear in the functions that are taken.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/symbols/debug_info.hpp"
#include "lab/symbols/demangled_name.hpp"

namespace millpond::characterise {

class outward_walk {
  public:
    struct function {
        std::string demangled, name;
        bool standard;
        symbols::source_place place;
        symbols::debug_info* debug;
        symbols::debug_frame frame;
        bool is_rust = false;
    };

    std::vector<std::string> inside;  // of the library
    std::string call;                 // the outermost of them
    std::optional<function> owner;

    // Adds a function and returns whether the owner is found.
    bool take(function next) {
        if (owner) return true;
        if (waiting_ && !next.standard) {
            owner = std::move(waiting_);
            return true;
        }
        if (waiting_) add_inside(*waiting_);
        waiting_.reset();
        if (next.standard) {
            add_inside(next);
            return false;
        }
        // An allocator class of the program, which a container of the library calls.
        const std::vector<symbols::name_part> parts = symbols::split_demangled(next.demangled);
        if (parts.size() > 1 && parts.back().name == "allocate") {
            waiting_ = std::move(next);
            return false;
        }
        owner = std::move(next);
        return true;
    }

    void finish() {
        if (!owner) owner = std::move(waiting_);
    }

  private:
    // Containers are known for C++ only.
    void add_inside(const function& one) {
        call = one.name;
        if (!one.is_rust) inside.push_back(one.demangled);
    }

    std::optional<function> waiting_;
};

}  // namespace millpond::characterise
