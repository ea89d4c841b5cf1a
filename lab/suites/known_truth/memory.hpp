// SPDX-License-Identifier: BSL-1.0
// Where a known program takes its memory from: the containers of a program are templates of one of these.
//
//   heap                  std::allocator: the program as it is
//   pools<multipool<>>    an allocator for each place (a number that the program gives): the change by hand
//
// `of<T>(place)` is the allocator for objects of T there; `end(place)` forgets all of the place's objects, or does
// nothing where each is freed by itself (`ends_at_once` tells which). Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "millpond/bind/allocator.hpp"

namespace millpond::suites {

struct heap {
    template <class T>
    using allocator = std::allocator<T>;
    static constexpr bool ends_at_once = false;

    template <class T>
    [[nodiscard]] std::allocator<T> of(std::size_t) noexcept {
        return {};
    }
    void end(std::size_t) noexcept {}
};

// `Winks`: what lies in a place ends by `end`, and no destructor runs.
template <class Pool, bool Winks = false, std::size_t Places = 32>
class pools {
  public:
    template <class T>
    using allocator = millpond::allocator<T, Pool>;
    static constexpr bool ends_at_once = Winks;

    template <class T>
    [[nodiscard]] allocator<T> of(std::size_t place) noexcept {
        return &pools_[place];
    }
    void end(std::size_t place) noexcept {
        if constexpr (Winks) pools_[place].reset();
    }

  private:
    std::array<Pool, Places> pools_;
};

// An object whose destructor does not run: its memory ends at once, with all that lies in the same place.
template <class T>
class not_destroyed {
  public:
    template <class... Arguments>
    explicit not_destroyed(Arguments&&... arguments) : value_(std::forward<Arguments>(arguments)...) {}
    ~not_destroyed() {}
    not_destroyed(const not_destroyed&) = delete;
    not_destroyed& operator=(const not_destroyed&) = delete;

    [[nodiscard]] T& get() noexcept { return value_; }

  private:
    union {
        T value_;
    };
};

// An object of T that is destroyed, or not, as the memory says.
template <class T>
class destroyed {
  public:
    template <class... Arguments>
    explicit destroyed(Arguments&&... arguments) : value_(std::forward<Arguments>(arguments)...) {}

    [[nodiscard]] T& get() noexcept { return value_; }

  private:
    T value_;
};

template <class T, class Memory>
using held_in = std::conditional_t<Memory::ends_at_once, not_destroyed<T>, destroyed<T>>;

}  // namespace millpond::suites
