// SPDX-License-Identifier: BSL-1.0
// latency: measures each append by the wall clock, and whether the array's memory grew during it.
//
//   append ─┬─ its memory did not change ──▶ plain ──────────────┐
//           └─ a step: commit, populate, reallocate ──▶ stepped ─┴─▶ all: shortest, p50 … longest, appends:2^k ns
//
// clock_ns: the median cost of the clock itself, included in each. slow: appends of a microsecond or more, the
// resolution of the document's clock; mode_ratio: step_p50_ns / plain_p50_ns; slow_step_share: the part of the slow
// ones that had a step. commit_seconds: only the time in the system's calls of these steps, for arrays that commit. A
// deque does not tell when it grows, so it has no steps.
#include <optional>
#include <string>

#include "counted_pages.hpp"
#include "growing.hpp"
#include "histogram.hpp"
#include "lab/measure/clocks.hpp"

namespace millpond::reserve_commit {
namespace {

using pages = counted_pages<true>;

constexpr metric metrics[] = {"clock_ns",
                              "shortest_ns",
                              "p50_ns",
                              "p90_ns",
                              "p99_ns",
                              "p99_9_ns",
                              "p99_99_ns",
                              "longest_ns",
                              "slow",
                              "slow_step_share",
                              "steps",
                              "step_seconds",
                              "step_p50_ns",
                              "step_longest_ns",
                              "plain_p50_ns",
                              "mode_ratio",
                              "plain_longest_ns",
                              "commits",
                              "populates",
                              "commit_seconds",
                              {"appends", "appends", "ns"},
                              {"stepped", "appends", "ns"}};
constexpr std::uint64_t slow_ns = 1024;  // a microsecond, rounded to a bucket's start

// Returns a value that changes exactly when the array's memory does; 0 if that cannot be told.
template <class Array>
std::uint64_t steps_of(const Array& array) noexcept {
    return room_of(array).value_or(0);
}
template <class T>
std::uint64_t steps_of(const published_array<T, pages>&) noexcept {
    return pages::account.commits;
}
template <class T>
std::uint64_t steps_of(const suites::millpond_array<T, pages>&) noexcept {
    return pages::account.commits + pages::account.populates;
}

struct times {
    histogram plain, stepped;
};

template <class Array>
[[gnu::noinline]] void append_timed(Array& to, std::uint64_t elements, std::uint64_t seed, times& noted) {
    using element = typename Array::value_type;
    std::uint64_t steps = steps_of(to);
    for (std::uint64_t i = 0; i < elements; ++i) {
        const std::uint64_t before = measure::wall_ns();
        to.push_back(made<element>(i + seed));
        const std::uint64_t took = measure::wall_ns() - before;
        const std::uint64_t steps_now = steps_of(to);
        (steps_now == steps ? noted.plain : noted.stepped).note(took);
        steps = steps_now;
    }
}

double clock_ns() noexcept {
    histogram idle;
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t before = measure::wall_ns();
        idle.note(measure::wall_ns() - before);
    }
    return idle.quantile_ns(0.5).value_or(0);
}

void note_powers(const char* what, const histogram& in, std::vector<frame::figure>& to) {
    for (std::size_t power = 0; power < histogram::powers; ++power) {
        const std::uint64_t found = in.of_power(power);
        if (found == 0) continue;
        to.push_back({std::string(what) + ":" + std::to_string(std::uint64_t{1} << power), static_cast<double>(found)});
    }
}

std::vector<frame::figure> figures_of(const times& noted, bool tells_steps, bool commits) {
    const auto if_told = [&](auto value) { return tells_steps ? std::optional<double>(value) : std::nullopt; };
    const auto if_commits = [&](auto value) {
        return commits ? std::optional<double>(static_cast<double>(value)) : std::nullopt;
    };
    histogram all = noted.plain;
    all.add(noted.stepped);
    const auto slow = static_cast<double>(all.from(slow_ns));
    const auto slow_steps = static_cast<double>(noted.stepped.from(slow_ns));
    const auto step_p50 = noted.stepped.quantile_ns(0.5);
    const auto plain_p50 = noted.plain.quantile_ns(0.5);
    std::vector<frame::figure> found = {
        {"clock_ns", clock_ns()},
        {"shortest_ns", all.shortest_ns()},
        {"p50_ns", all.quantile_ns(0.5)},
        {"p90_ns", all.quantile_ns(0.9)},
        {"p99_ns", all.quantile_ns(0.99)},
        {"p99_9_ns", all.quantile_ns(0.999)},
        {"p99_99_ns", all.quantile_ns(0.9999)},
        {"longest_ns", all.longest_ns()},
        {"slow", slow},
        {"slow_step_share", slow > 0 ? if_told(slow_steps / slow) : std::nullopt},
        {"steps", if_told(static_cast<double>(noted.stepped.count()))},
        {"step_seconds", if_told(static_cast<double>(noted.stepped.sum_ns()) * 1e-9)},
        {"step_p50_ns", step_p50},
        {"step_longest_ns", noted.stepped.longest_ns()},
        {"plain_p50_ns", plain_p50},
        {"mode_ratio",
         step_p50 && plain_p50 && *plain_p50 > 0 ? std::optional<double>(*step_p50 / *plain_p50) : std::nullopt},
        {"plain_longest_ns", noted.plain.longest_ns()},
        {"commits", if_commits(pages::account.commits)},
        {"populates", if_commits(pages::account.populates)},
        {"commit_seconds", if_commits(pages::account.seconds)},
    };
    note_powers("appends", all, found);
    note_powers("stepped", noted.stepped, found);
    return found;
}

template <class Array>
struct latency_runner {
    static outcome run(const point& asked) {
        const bool huge = choose_pages(asked);
        const std::uint64_t length = length_of(asked);
        outcome result;
        times noted;
        std::optional<Array> array;
        grow(
            asked, array, result, [&](auto& place) { place.emplace(length, huge); },
            [&](Array& to) { append_timed(to, length, asked.seed(), noted); });
        result.set_all(figures_of(noted, contender_of(asked) != contender::deque, has_steps(asked.contender)));
        return result;
    }
};

}  // namespace

const workload latency = array_workload<latency_runner, pages>("latency", metrics);

}  // namespace millpond::reserve_commit
