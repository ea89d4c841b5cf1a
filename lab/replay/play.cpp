// SPDX-License-Identifier: BSL-1.0
#include "lab/replay/play.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <utility>

#include "lab/measure/resident.hpp"
#include "lab/program/program.hpp"
#include "lab/replay/counted_source.hpp"
#include "lab/replay/dependency_order.hpp"
#include "lab/replay/heaps.hpp"
#include "lab/replay/script_source.hpp"
#include "lab/replay/total_order.hpp"
#include "millpond/local/monotonic.hpp"
#include "millpond/local/multipool.hpp"

namespace millpond::replay {
namespace {

constexpr std::array<std::pair<const char*, strategy>, 6> names{
    {{"recorded", strategy::recorded},
     {"null", strategy::null},
     {"multipool", strategy::multipool},
     {"monotonic", strategy::monotonic},
     {"multipool(monotonic)", strategy::multipool_monotonic},
     {"plan", strategy::multipool}}};

// One thread needs no order, and mallocs are faster in a single-threaded process.
bool on_threads(const script_source& script, const play_request& request) {
    return request.in == order::dependency && request.diffusion == 0 && script.header().threads > 1;
}

template <class Heap, touch Touch>
void play_touching(Heap& heap, script_source& script, const play_request& request, play_result& result) {
    if (!on_threads(script, request)) return play_in_total_order<Heap, Touch>(heap, script, request.paced, result);
    dependency_round<Heap, Touch>(heap, script).play(result);
}

template <class Heap>
void play_on(Heap& heap, script_source& script, const play_request& request, play_result& result) {
    if (request.diffusion > 0) return survey_diffusion(heap, script, request.diffusion, result);
    switch (request.touching) {
        case touch::none:
            return play_touching<Heap, touch::none>(heap, script, request, result);
        case touch::line:
            return play_touching<Heap, touch::line>(heap, script, request, result);
        case touch::check:
            return play_touching<Heap, touch::check>(heap, script, request, result);
    }
}

template <class Allocator, bool ReleaseWhenEmpty, class Mutex>
void play_pooled_behind(script_source& script, const play_request& request, play_result& result) {
    const bool of_a_plan = (script.header().flags & script_header::of_a_plan) != 0;
    const std::span<const script_pool> pools(script.pools().data(), script.pools().size());
    pooled_heap<Allocator, ReleaseWhenEmpty, Mutex> heap(pools, of_a_plan);
    play_on(heap, script, request, result);
    result.held_bytes = counts_of_source.most_bytes.load();
    result.held_end_bytes = counts_of_source.held_bytes.load();
}

template <class Allocator, bool ReleaseWhenEmpty>
void play_pooled(script_source& script, const play_request& request, play_result& result) {
    if (on_threads(script, request))
        play_pooled_behind<Allocator, ReleaseWhenEmpty, std::mutex>(script, request, result);
    else
        play_pooled_behind<Allocator, ReleaseWhenEmpty, no_mutex>(script, request, result);
}

void play_by_strategy(script_source& script, const play_request& request, play_result& result) {
    switch (request.chosen) {
        case strategy::recorded: {
            malloc_heap heap;
            return play_on(heap, script, request, result);
        }
        case strategy::null: {
            null_heap heap(script.header().threads);
            return play_on(heap, script, request, result);
        }
        case strategy::multipool:
            return play_pooled<multipool<counted_source>, false>(script, request, result);
        case strategy::monotonic:
            return play_pooled<monotonic<counted_source>, true>(script, request, result);
        case strategy::multipool_monotonic:
            return play_pooled<multipool<monotonic<counted_source>>, true>(script, request, result);
    }
}

// A replay holds as much memory as the program did; refusing is better than driving the machine into swapping.
std::uint64_t memory_for(const script_header& header, const play_request& request) {
    const std::uint64_t available = measure::available_bytes() / 10 * 9;
    if (available == 0) return ~std::uint64_t{0};
    if (request.chosen != strategy::null && request.touching != touch::none && header.peak_live_bytes > available)
        throw program::failure(program::environment, "the program had " + std::to_string(header.peak_live_bytes) +
                                                         " bytes live at once, and this machine has " +
                                                         std::to_string(available) +
                                                         " to spare; --touch none plays without writing to them");
    return available;
}

}  // namespace

std::optional<strategy> strategy_of(std::string_view name) {
    const auto found = std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.first == name; });
    return found == names.end() ? std::nullopt : std::optional(found->second);
}

std::string strategies_accepted() {
    std::string text;
    for (const auto& [name, chosen] : names) text += (text.empty() ? "" : ", ") + std::string(name);
    return text;
}

play_result play(const play_request& request) {
    script_source script(request.script);
    if (request.of_a_plan && (script.header().flags & script_header::of_a_plan) == 0)
        throw program::failure(
            program::usage, std::string(request.script) + ": was prepared without a plan; --strategy plan needs one");
    counts_of_source.limit_bytes = memory_for(script.header(), request);
    play_result result;
    measure::reset_peak();
    play_by_strategy(script, request, result);
    const measure::resident after = measure::resident_now();
    result.peak_bytes =
        after.peak_bytes > after.file_bytes ? after.peak_bytes - after.file_bytes : 0;  // no mapped files
    result.end_bytes = after.anonymous_bytes;
    result.peak_live_bytes = script.peak_live_bytes();
    result.end_live_bytes = script.live_bytes();
    return result;
}

}  // namespace millpond::replay
