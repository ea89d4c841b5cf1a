// SPDX-License-Identifier: BSL-1.0
// memory: the sources of memory for a known program; its containers are templates of one of these.
//
//   heap                  std::allocator: the program as it is
//   pools<multipool<>>    an allocator for each place (a number that the program gives): the change by hand
//   arenas<1>             a monotonic for each place; it is reset after the destructors of its objects have run
//   arenas_winked_out<1>  the same without destructors
//
// `of<T>(place)` is the allocator for objects of T there. `end(place)` forgets all of the place's objects; it does
// nothing if each is freed on its own (`ends_at_once` tells which). Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "millpond/bind/allocator.hpp"
#include "millpond/local/monotonic.hpp"
#include "millpond/local/multipool.hpp"

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

// The ways in which the objects of a place end: one by one; one by one, and then the place is reset; or only by the
// reset.
enum class ending : unsigned char { each, each_then_reset, winked_out };

template <class Pool, ending Ends = ending::each, std::size_t Places = 32>
class pools {
  public:
    template <class T>
    using allocator = millpond::allocator<T, Pool>;
    static constexpr bool ends_at_once = Ends == ending::winked_out;

    template <class T>
    [[nodiscard]] allocator<T> of(std::size_t place) noexcept {
        return &pools_[place];
    }
    void end(std::size_t place) noexcept {
        if constexpr (Ends != ending::each) pools_[place].reset();
    }

  private:
    std::array<Pool, Places> pools_;
};

template <std::size_t Places>
using arenas = pools<monotonic<>, ending::each_then_reset, Places>;
template <std::size_t Places>
using arenas_winked_out = pools<monotonic<>, ending::winked_out, Places>;

// An object whose destructor does not run: its memory ends together with everything in the same place.
template <class T>
class undestroyed_object {
  public:
    template <class... Arguments>
    explicit undestroyed_object(Arguments&&... arguments) : value_(std::forward<Arguments>(arguments)...) {}
    ~undestroyed_object() {}
    undestroyed_object(const undestroyed_object&) = delete;
    undestroyed_object& operator=(const undestroyed_object&) = delete;

    [[nodiscard]] T& get() noexcept { return value_; }

  private:
    union {
        T value_;
    };
};

// An object of T that is destroyed, or not, as the memory demands.
template <class T>
class destroyed_object {
  public:
    template <class... Arguments>
    explicit destroyed_object(Arguments&&... arguments) : value_(std::forward<Arguments>(arguments)...) {}

    [[nodiscard]] T& get() noexcept { return value_; }

  private:
    T value_;
};

template <class T, class Memory>
using held_in = std::conditional_t<Memory::ends_at_once, undestroyed_object<T>, destroyed_object<T>>;

}  // namespace millpond::suites
