// SPDX-License-Identifier: BSL-1.0
// exported_plan: a plan inside a copy of libmillpond-trial.so. LD_PRELOAD of that one file runs a program under it.
//
//   │ libmillpond-trial.so │ … to a page │ routes (routes.hpp) │ trailer: where they are │
//
// `millpond-run --export` writes it. The library reads it when it starts outside of a round.
#pragma once

#include <cstdint>

#include "lab/trial/routes.hpp"
#include "preload/machine.hpp"

namespace millpond::trial {

struct exported_plan {
    static constexpr std::uint64_t magic_value = 0x314e'414c'5045'504d;           // "MPEPLAN1"
    static constexpr std::uint64_t alignment = preload::machine::page_bytes_max;  // of the routes, which are mapped

    std::uint64_t routes_at, routes_bytes;
    std::uint64_t magic;

    // Returns the routes behind the library that this code was loaded from; empty if there are none. Keeps errno.
    static routes_view of_this_library() noexcept;
};

}  // namespace millpond::trial
