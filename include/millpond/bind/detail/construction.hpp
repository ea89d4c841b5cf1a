// SPDX-License-Identifier: BSL-1.0
// construction: uses-allocator construction for our bindings. It extends std's to tuples whose parts have no default
// allocator.
//
//   string                  ─▶ string(arguments…, allocator)
//   pair<string, int>       ─▶ piecewise, each part as below
//   tuple<int, string>      ─▶ tuple(allocator_arg, allocator, arguments…) if std::tuple takes the arguments, else
//                              each part is made with the allocator and moved in
//   everything else         ─▶ as it is
//
// std::tuple takes an argument only if the part could be made from it without an allocator. That holds for
// std::pmr::string and for none of our containers, which have no default allocator. Where an argument list already
// names an allocator, as that of std::scoped_allocator_adaptor does, none is added.
//
// Costs nothing but the constructors at run time, and at most one move of each part of a tuple.
//
// Example:
//     millpond::multipool<> pool;
//     using string = std::basic_string<char, std::char_traits<char>, millpond::allocator<char, millpond::multipool<>>>;
//     using row = std::tuple<int, string>;
//     std::vector<row, millpond::allocator<row, millpond::multipool<>>> rows(&pool);
//     rows.emplace_back(1, "a text of the pool");
//     assert(std::get<1>(rows[0]).get_allocator().target() == &pool);
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class T>
inline constexpr bool is_pair = false;
template <class First, class Second>
inline constexpr bool is_pair<std::pair<First, Second>> = true;

template <class T>
inline constexpr bool is_tuple = false;
template <class... Parts>
inline constexpr bool is_tuple<std::tuple<Parts...>> = true;

// True if a T can be made from the arguments and the allocator.
template <class T, class Alloc, class... Arguments>
inline constexpr bool takes_allocator = std::uses_allocator_v<std::remove_cv_t<T>, Alloc> &&
                                        (std::is_constructible_v<T, std::allocator_arg_t, const Alloc&, Arguments...> ||
                                         std::is_constructible_v<T, Arguments..., const Alloc&>);

template <class T, class Alloc, class... Arguments>
[[nodiscard]] constexpr auto construction_arguments(const Alloc& allocator, Arguments&&... arguments) noexcept;

// Returns: a T made from the arguments and the allocator.
template <class T, class Alloc, class... Arguments>
[[nodiscard]] constexpr T make_with(const Alloc& allocator, Arguments&&... arguments) {
    return std::make_from_tuple<T>(construction_arguments<T>(allocator, std::forward<Arguments>(arguments)...));
}

// Becomes a part of a tuple when that is constructed from it. Refers to its arguments.
template <class T, class Alloc, class... Arguments>
struct part_to_make {
    const Alloc& allocator;
    std::tuple<Arguments&&...> arguments;

    constexpr operator std::remove_cv_t<T>() && {
        return std::apply(
            [this](auto&&... each) {
                return make_with<std::remove_cv_t<T>>(allocator, std::forward<decltype(each)>(each)...);
            },
            std::move(arguments));
    }
};

template <class T, class Alloc, class... Arguments>
[[nodiscard]] constexpr part_to_make<T, Alloc, Arguments...> to_make(const Alloc& allocator,
                                                                     Arguments&&... arguments) noexcept {
    return {allocator, std::tuple<Arguments&&...>(std::forward<Arguments>(arguments)...)};
}

// Returns: the argument for a part of a tuple: the argument itself where no allocator is to be added.
template <class T, class Alloc, class Argument>
[[nodiscard]] constexpr decltype(auto) part_from(const Alloc& allocator, Argument&& argument) noexcept {
    using plain = std::remove_cv_t<T>;
    if constexpr (is_pair<plain> || is_tuple<plain> || std::uses_allocator_v<plain, Alloc>) {
        return to_make<T>(allocator, std::forward<Argument>(argument));
    } else {
        return std::forward<Argument>(argument);
    }
}

// True for types that take an allocator and have no default one. The traits must not ask whether such a type could be
// made without one: libstdc++'s containers answer no under gcc, and do not compile under clang.
template <class T>
inline constexpr bool needs_allocator = false;
template <class T>
    requires requires { typename T::allocator_type; }
inline constexpr bool needs_allocator<T> = !std::is_default_constructible_v<typename T::allocator_type>;

// True for tuples that std::tuple does not construct correctly: it does not pass allocators to the parts of pairs, and
// it asks whether parts could be made without one.
template <class T>
inline constexpr bool is_made_by_parts = false;
template <class... Parts>
inline constexpr bool is_made_by_parts<std::tuple<Parts...>> =
    ((is_pair<std::remove_cv_t<Parts>> || needs_allocator<std::remove_cv_t<Parts>> ||
      is_made_by_parts<std::remove_cv_t<Parts>>) ||
     ...);

// The arguments for a pair: those for both parts, in whichever form they were given.
template <class Pair, class Alloc>
struct arguments_of_pair {
    using first = typename Pair::first_type;
    using second = typename Pair::second_type;

    template <class OfFirst, class OfSecond>
    [[nodiscard]] static constexpr auto of(const Alloc& allocator, std::piecewise_construct_t, OfFirst&& a,
                                           OfSecond&& b) noexcept {
        return std::make_tuple(
            std::piecewise_construct,
            std::apply(
                [&](auto&&... each) {
                    return construction_arguments<first>(allocator, std::forward<decltype(each)>(each)...);
                },
                std::forward<OfFirst>(a)),
            std::apply(
                [&](auto&&... each) {
                    return construction_arguments<second>(allocator, std::forward<decltype(each)>(each)...);
                },
                std::forward<OfSecond>(b)));
    }
    [[nodiscard]] static constexpr auto of(const Alloc& allocator) noexcept {
        return of(allocator, std::piecewise_construct, std::tuple<>(), std::tuple<>());
    }
    template <class A, class B>
    [[nodiscard]] static constexpr auto of(const Alloc& allocator, A&& a, B&& b) noexcept {
        return of(allocator, std::piecewise_construct, std::forward_as_tuple(std::forward<A>(a)),
                  std::forward_as_tuple(std::forward<B>(b)));
    }
    template <class Other>
        requires is_pair<std::remove_cvref_t<Other>>
    [[nodiscard]] static constexpr auto of(const Alloc& allocator, Other&& other) noexcept {
        return of(allocator, std::piecewise_construct, std::forward_as_tuple(std::get<0>(std::forward<Other>(other))),
                  std::forward_as_tuple(std::get<1>(std::forward<Other>(other))));
    }
    // Something that converts to the pair.
    template <class Other>
        requires(!is_pair<std::remove_cvref_t<Other>>)
    [[nodiscard]] static constexpr auto of(const Alloc&, Other&& other) noexcept {
        return std::forward_as_tuple(std::forward<Other>(other));
    }
};

// The arguments for a tuple that std::tuple would not accept: one for each part.
template <class Tuple, class Alloc>
struct arguments_of_tuple;
template <class... Parts, class Alloc>
struct arguments_of_tuple<std::tuple<Parts...>, Alloc> {
    template <class Other>
    static constexpr bool is_other_tuple = [] {
        using plain = std::remove_cvref_t<Other>;
        if constexpr (is_tuple<plain> || is_pair<plain>) {
            if constexpr (sizeof...(Parts) == 1 && std::tuple_size_v<plain> == 1)
                return !std::is_constructible_v<std::tuple_element_t<0, std::tuple<Parts...>>, Other>;
            else
                return std::tuple_size_v<plain> == sizeof...(Parts);
        } else {
            return false;
        }
    }();

    [[nodiscard]] static constexpr auto of(const Alloc& allocator) noexcept
        requires(sizeof...(Parts) > 0)
    {
        return std::make_tuple(to_make<Parts>(allocator)...);
    }
    template <class... Arguments>
        requires(sizeof...(Arguments) == sizeof...(Parts) && sizeof...(Parts) > 0 &&
                 !(sizeof...(Arguments) == 1 && (is_other_tuple<Arguments> || ...)))
    [[nodiscard]] static constexpr auto of(const Alloc& allocator, Arguments&&... arguments) noexcept {
        return std::tuple<decltype(part_from<Parts>(allocator, std::forward<Arguments>(arguments)))...>(
            part_from<Parts>(allocator, std::forward<Arguments>(arguments))...);
    }
    template <class Other>
        requires is_other_tuple<Other>
    [[nodiscard]] static constexpr auto of(const Alloc& allocator, Other&& other) noexcept {
        return std::apply(
            [&](auto&&... each) {
                return std::tuple<decltype(part_from<Parts>(allocator, std::forward<decltype(each)>(each)))...>(
                    part_from<Parts>(allocator, std::forward<decltype(each)>(each))...);
            },
            std::forward<Other>(other));
    }
};

// Returns: a tuple of a T's constructor arguments, as std::uses_allocator_construction_args, extended to tuples.
template <class T, class Alloc, class... Arguments>
constexpr auto construction_arguments(const Alloc& allocator, Arguments&&... arguments) noexcept {
    using plain = std::remove_cv_t<T>;
    if constexpr (is_pair<plain>) {
        return arguments_of_pair<plain, Alloc>::of(allocator, std::forward<Arguments>(arguments)...);
    } else if constexpr (is_made_by_parts<plain> &&
                         !(std::is_same_v<std::remove_cvref_t<Arguments>, std::allocator_arg_t> || ...) && requires {
                             arguments_of_tuple<plain, Alloc>::of(allocator, std::forward<Arguments>(arguments)...);
                         }) {
        return arguments_of_tuple<plain, Alloc>::of(allocator, std::forward<Arguments>(arguments)...);
    } else if constexpr (takes_allocator<T, Alloc, Arguments...>) {
        return std::uses_allocator_construction_args<T>(allocator, std::forward<Arguments>(arguments)...);
    } else if constexpr (is_tuple<plain> && requires {
                             arguments_of_tuple<plain, Alloc>::of(allocator, std::forward<Arguments>(arguments)...);
                         }) {
        return arguments_of_tuple<plain, Alloc>::of(allocator, std::forward<Arguments>(arguments)...);
    } else {
        return std::tuple<Arguments&&...>(std::forward<Arguments>(arguments)...);
    }
}

// Effects: constructs a T at `place`. Throws: what the constructor throws.
template <class T, class Alloc, class... Arguments>
constexpr T* construct_with(T* place, const Alloc& allocator, Arguments&&... arguments) {
    return std::apply(
        [place](auto&&... each) { return std::construct_at(place, std::forward<decltype(each)>(each)...); },
        construction_arguments<T>(allocator, std::forward<Arguments>(arguments)...));
}

}  // namespace millpond::inline MILLPOND_ABI::detail
