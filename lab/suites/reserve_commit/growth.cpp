// SPDX-License-Identifier: BSL-1.0
// growth: appends elements to an array that does not know its final size.
//
//   construct, append, append, …  ─── the window: seconds, faults, peak; end: with the array still there
//   destroy                       ─── destroy_seconds
//
// peak_to_end: above 1 if growing itself took memory. capacity_bytes: the array's room at the end; used_share: the part
// of it that holds elements. moved_elements (for `counted`): moves in addition to the one that brings each element in.
// commits, populates: for arrays that do these. After the window, of another array of as many elements, 2^20 at most:
// address_changes, how often its first element lay at another address after an append; and of arrays that commit,
// stopped_reads: 1 if a child that reads the first page behind the committed memory dies of SIGSEGV, 0 if it lives.
#include "growing.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>

#include "counted_pages.hpp"
#include "millpond/os/pages.hpp"

namespace millpond::reserve_commit {
namespace {

using pages = counted_pages<false>;

constexpr metric metrics[] = {"destroy_seconds",
                              "capacity_bytes",
                              "used_share",
                              {"peak_to_end", "ratio"},
                              {"moves_an_element", "ratio"},
                              "commits",
                              "populates",
                              "committed_bytes",
                              {"address_changes", "changes"},
                              {"stopped_reads", "share"}};

constexpr std::uint64_t most_watched = std::uint64_t{1} << 20;

// Returns: 1 if the processor stops a child that reads this byte, 0 if not; nothing if no child can be started.
std::optional<double> stops_reads_of(std::uintptr_t address) {
    const pid_t child = ::fork();
    if (child < 0) return std::nullopt;
    if (child == 0) {
        std::signal(SIGSEGV, SIG_DFL);
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_CORE, &none);
        [[maybe_unused]] const char read = *reinterpret_cast<const volatile char*>(address);
        ::_exit(0);
    }
    int status = 0;
    if (::waitpid(child, &status, 0) != child) return std::nullopt;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? 1.0 : 0.0;
}

// Effects: figures of another array, which is not timed.
template <class Array>
void watch(const point& asked, bool huge, outcome& result) {
    const std::uint64_t length = std::min(length_of(asked), most_watched);
    Array array(length, huge);
    std::uint64_t changes = 0;
    const void* first = nullptr;
    for (std::uint64_t i = 0; i < length; ++i) {
        array.push_back(made<typename Array::value_type>(i + asked.seed()));
        const void* const now = &array[0];
        changes += i > 0 && now != first ? 1U : 0U;
        first = now;
    }
    result.set_count("address_changes", changes);
    if (!has_steps(asked.contender) || huge) return;
    const auto end = reinterpret_cast<std::uintptr_t>(&array[0]) + *room_of(array) * sizeof(typename Array::value_type);
    const std::uintptr_t page_bytes = os::pages::size();
    if (const auto stopped = stops_reads_of((end + page_bytes - 1) / page_bytes * page_bytes))
        result.set("stopped_reads", *stopped);
}

template <class Element>
std::vector<frame::figure> figures_of(const point& asked, const outcome& measured, std::optional<std::uint64_t> room) {
    const auto length = static_cast<double>(length_of(asked));
    std::optional<double> moves;
    if (std::is_same_v<Element, counted_element>) moves = static_cast<double>(counted_element::moves) - length;
    const auto per = [](std::optional<double> value, double by) {
        return value ? std::optional<double>(*value / by) : std::nullopt;
    };
    const auto if_commits = [&](std::uint64_t count) {
        return has_steps(asked.contender) ? std::optional<double>(static_cast<double>(count)) : std::nullopt;
    };
    const auto room_elements = room ? std::optional<double>(static_cast<double>(*room)) : std::nullopt;
    const double end = measured["end_bytes"].value_or(0);
    const double peak = measured["peak_bytes"].value_or(0);
    return {
        {"capacity_bytes", per(room_elements, 1.0 / sizeof(Element))},
        {"used_share", room_elements ? std::optional<double>(length / *room_elements) : std::nullopt},
        {"peak_to_end", end > 0 ? std::optional<double>(peak / end) : std::nullopt},
        {"moved_elements", moves},
        {"moves_an_element", per(moves, length)},
        {"commits", if_commits(pages::account.commits)},
        {"populates", if_commits(pages::account.populates)},
        {"committed_bytes", if_commits(pages::account.committed_bytes)},
    };
}

template <class Array>
struct growth_runner {
    static outcome run(const point& asked) {
        using element = typename Array::value_type;
        const bool huge = choose_pages(asked);
        const std::uint64_t length = length_of(asked);
        outcome result;
        std::optional<Array> array;
        grow(
            asked, array, result, [&](auto& place) { place.emplace(length, huge); },
            [&](Array& to) { append(to, length, asked.seed()); });
        const auto room = room_of(*array);
        result.set_all(figures_of<element>(asked, result, room));
        const suites::stopwatch clock;
        array.reset();
        result.set("destroy_seconds", clock.elapsed_ns() * 1e-9);
        watch<Array>(asked, huge, result);
        return result;
    }
};

}  // namespace

void note_blocks(const point& asked, measure::heap_litter& blocks) {
    if (!is_array(asked.contender)) return;
    const std::uint64_t each = asked.of == &commit_step ? sizeof(int) : element_bytes(asked);
    for (std::uint64_t room = 1; room < 2 * length_of(asked) && room * each <= blocks.most_bytes; room *= 2) {
        blocks.note(room * each);
    }
}

const workload growth = array_workload<growth_runner, pages>("growth", metrics);

}  // namespace millpond::reserve_commit
