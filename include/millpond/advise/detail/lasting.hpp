// SPDX-License-Identifier: BSL-1.0
// lasting: an object that lives to the very end of the process; only_pool, the one pool of a place.
//
//   only_pool<Place>()  ─▶ the compiler can make it: its address is a constant, and nothing is asked
//                       ─▶ it cannot: made at the first use, by one thread; every use asks a byte whether it was
//
// It is never destroyed, so that static containers may use it until the process ends. It lies in static memory, so a
// leak checker finds what it holds.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "../../core/abi.hpp"
#include "../../core/detail/sanitizer.hpp"
#include "../../core/size_class_scheme.hpp"
#include "../../local/first_chunk.hpp"
#include "../../local/multipool.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// An object whose destructor does not run.
template <class T>
union lasting {
    template <class... Arguments>
    constexpr explicit lasting(Arguments&&... arguments) : object(std::forward<Arguments>(arguments)...) {}
    lasting(const lasting&) = delete;
    lasting& operator=(const lasting&) = delete;
    constexpr ~lasting() {}

    char nothing;
    T object;
};

// A pool with a first chunk of so many bytes; 0: with its own default.
template <class Pool, std::size_t FirstBytes>
struct lasting_pool {
    lasting<Pool> made{first_chunk{FirstBytes}};
};
template <class Pool>
struct lasting_pool<Pool, 0> {
    lasting<Pool> made{};
};

// True if the constructor of the pool needs nothing of the running program.
template <class Pool>
inline constexpr bool made_by_compiler = false;
template <class Source, size_class_scheme Classes>
inline constexpr bool made_by_compiler<multipool<Source, Classes>> = std::is_empty_v<Source> && !address_sanitizer;

template <class Place, class Pool, std::size_t FirstBytes>
inline constinit lasting_pool<Pool, FirstBytes> pool_of_place{};

// Returns: the pool of a place. Throws: what its constructor throws, at the first use.
template <class Place, class Pool, std::size_t FirstBytes>
[[nodiscard]] Pool& only_pool() noexcept(made_by_compiler<Pool>) {
    if constexpr (made_by_compiler<Pool>) {
        return pool_of_place<Place, Pool, FirstBytes>.made.object;
    } else {
        static lasting_pool<Pool, FirstBytes> only;
        return only.made.object;
    }
}

}  // namespace millpond::inline MILLPOND_ABI::detail
