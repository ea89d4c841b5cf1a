// SPDX-License-Identifier: BSL-1.0
// containers: the five operations of chapter 4.4, on the elements of a container of nodes.
//
//   (collections before: filled, cleared)
//   fill  full_bytes · free from the last · (fill) free from the first  empty_bytes
//   (fill) free every second one · (fill the gaps) free every second one and insert it again
//
//   list, forward_list          at their ends            from the last to the first: those that can go backwards
//   set … unordered_multimap    random numbers           "every second one": in the order of the container
//
// Each operation is timed on its own. Operations in parentheses count only for the whole window. The numbers are drawn,
// and touched, beforehand. full_bytes: resident bytes of all elements when the container is full; empty_bytes: when all
// were freed and container and allocator live on; end_bytes: when both are gone.
//
// Containers are instantiated in three files: one file would take minutes to compile.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "contenders.hpp"
#include "lab/suites/common/number_set.hpp"
#include "lab/suites/frame/window.hpp"
#include "workload.hpp"

namespace millpond::suballocator_suite {

// A kind has over<Allocator>, the container with that allocator, and value, its elements.
template <class Kind, class C>
struct container_of {
    using type = typename Kind::template over<typename C::template allocator<typename Kind::value>>;
};
template <class Kind, class C>
    requires requires { typename C::template container<std::set<int>>; }
struct container_of<Kind, C> {
    using type = typename C::template container<typename Kind::template over<std::allocator<typename Kind::value>>>;
};

template <class Container>
concept has_keys = requires { typename Container::key_type; };

// Steps are out of line, so that all contenders pay the same. O(elements) each, for trees O(n log n).
template <class Container>
class filled_container {
  public:
    static constexpr bool goes_backwards = std::bidirectional_iterator<typename Container::iterator>;

    template <class Allocator>
    filled_container(const Allocator& allocator, const std::vector<std::uint64_t>& numbers)
        : numbers_(numbers), container_(allocator), gaps_(numbers.size() / 2) {}

    [[gnu::noinline]] void fill() {
        for (const std::uint64_t number : numbers_) put(number);
    }
    [[gnu::noinline]] void free_from_last()
        requires goes_backwards
    {
        while (!container_.empty()) container_.erase(std::prev(container_.end()));
    }
    [[gnu::noinline]] void free_from_first() {
        while (!container_.empty()) {
            if constexpr (requires { container_.pop_front(); }) {
                container_.pop_front();
            } else {
                container_.erase(container_.begin());
            }
        }
    }
    // Frees the second element, the fourth …, in the order of the container.
    [[gnu::noinline]] void free_odd() {
        auto at = container_.begin();
        for (std::uint64_t& gap : gaps_) {
            if constexpr (requires { container_.before_begin(); }) {
                gap = number_of(*std::next(at));
                at = container_.erase_after(at);
            } else {
                gap = number_of(*++at);
                at = container_.erase(at);
            }
        }
    }
    [[gnu::noinline]] void fill_odd() {
        if constexpr (has_keys<Container>) {
            for (const std::uint64_t gap : gaps_) put(gap);
        } else {
            auto at = container_.begin();
            for (const std::uint64_t gap : gaps_) {
                if constexpr (requires { container_.before_begin(); }) {
                    at = std::next(container_.insert_after(at, gap));
                } else {
                    at = std::next(container_.insert(std::next(at), gap));
                }
            }
        }
    }
    void clear() { container_.clear(); }
    [[nodiscard]] std::uint64_t sum() const {
        std::uint64_t all = 0;
        for (const auto& element : container_) all += number_of(element);
        return all;
    }

  private:
    static std::uint64_t number_of(std::uint64_t element) { return element; }
    template <class Pair>
    static std::uint64_t number_of(const Pair& element) {
        return element.first;
    }

    void put(std::uint64_t number) {
        if constexpr (requires { typename Container::mapped_type; }) {
            container_.emplace(number, number);
        } else if constexpr (has_keys<Container>) {
            container_.insert(number);
        } else {
            container_.push_front(number);
        }
    }

    const std::vector<std::uint64_t>& numbers_;
    Container container_;
    std::vector<std::uint64_t> gaps_;  // freed by free_odd
};

template <class Kind>
struct of_kind {
    template <class C>
    struct runner {
        using container = typename container_of<Kind, C>::type;

        static outcome run(const point& asked) {
            outcome result;
            suites::random_numbers random(asked.seed());
            std::vector<std::uint64_t> numbers(count_of(asked));
            for (std::uint64_t& number : numbers) number = suites::next_number(random);
            frame::window measured;
            std::optional<pool_and_container> used(std::in_place, numbers);
            const std::uint64_t base = suites::resident_bytes();
            for (std::int64_t i = 0; i < asked["collections_before"]; ++i) used->filled.fill(), used->filled.clear();
            measured.run(result, [&] {
                measure(used->filled, base, result);
                used.reset();
            });
            result.set_count("units", numbers.size());
            return result;
        }

        // Both end within the window.
        struct pool_and_container {
            typename C::pool pool;
            filled_container<container> filled;

            explicit pool_and_container(const std::vector<std::uint64_t>& numbers)
                : filled(C::template bind<typename Kind::value>(pool), numbers) {}
        };

        static void measure(filled_container<container>& filled, std::uint64_t base, outcome& result) {
            result.set("fill_seconds", seconds_of([&] { filled.fill(); }));
            const double full_bytes = resident_above(base);
            if constexpr (filled_container<container>::goes_backwards) {
                result.set("free_from_last_seconds", seconds_of([&] { filled.free_from_last(); }));
                filled.fill();
            }
            result.set("free_from_first_seconds", seconds_of([&] { filled.free_from_first(); }));
            const double empty_bytes = resident_above(base);
            filled.fill();
            result.set("free_odd_seconds", seconds_of([&] { filled.free_odd(); }));
            filled.fill_odd();
            result.set("free_and_allocate_odd_seconds", seconds_of([&] {
                           filled.free_odd();
                           filled.fill_odd();
                       }));
            result.checksum = filled.sum();
            result.set_all(
                {{"full_bytes", full_bytes}, {"empty_bytes", empty_bytes}, kept_share(full_bytes, empty_bytes)});
        }
    };
};

// Runs a container of this kind over the contender. compact_pool's slots are made for Kind::node_bytes.
template <class Kind>
outcome run_container(const point& asked) {
    if (asked.is_for_littering) return of_kind<Kind>::template runner<noted_heap>::run(asked);
    return chosen<of_kind<Kind>::template runner, Kind::node_bytes>(asked.contender)(asked);
}

// One function for each word of the parameter `container`, in the same order.
outcome run_list(const point& asked), run_forward_list(const point& asked), run_set(const point& asked),
    run_multiset(const point& asked), run_map(const point& asked), run_multimap(const point& asked),
    run_unordered_set(const point& asked), run_unordered_multiset(const point& asked),
    run_unordered_map(const point& asked), run_unordered_multimap(const point& asked);

}  // namespace millpond::suballocator_suite
