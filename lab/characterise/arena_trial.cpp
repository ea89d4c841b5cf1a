// SPDX-License-Identifier: BSL-1.0
// arena_trial's pass over events.
#include "lab/characterise/arena_trial.hpp"
#include "lab/program/json.hpp"

#include <algorithm>

namespace millpond::characterise {

void arena_trial::consume(const trace::event* batch, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const trace::event& e = batch[i];
        if (e.op == trace::operation::note) continue;
        if (e.op == trace::operation::allocate || e.op == trace::operation::realloc_allocate)
            begin(e);
        else
            live_.end(e.address, {e.time_ticks, e.thread},
                      [&](const object& ended, std::uint64_t, trace::moment, trace::ending) { end(ended); });
    }
}

// Rounds as size_series does, and as the arena does.
bool arena_trial::is_predicted(const trace::event& e) {
    using arena = tried_arena<16>::arena;
    const std::uint64_t unit = std::max<std::uint64_t>(request_.granule_bytes, arena::unit);
    const std::uint64_t bytes = (std::max<std::uint64_t>(e.bytes, 1) + unit - 1) / unit * unit;
    if (e.bytes == 0 || bytes > arena::most_block_bytes || (std::uint64_t{1} << e.alignment_log2) > arena::unit)
        return false;
    const auto [found, is_new] = known_.try_emplace({e.context, bytes}, false);
    if (!is_new) return found->second;
    const std::vector<std::string> frames = frames_of(e.context, nodes_, modules_);
    for (std::size_t depth = 1; depth <= frames.size(); ++depth)
        if (sites_.contains(site_name(frames, depth, bytes))) found->second = true;
    return found->second;
}

void arena_trial::begin(const trace::event& e) {
    requested_bytes_ += e.bytes;
    for_each_arena([&](auto& arena, auto) { arena.pass_to(requested_bytes_); });
    object fresh{e.bytes, requested_bytes_, is_predicted(e), {}};
    if (fresh.is_predicted) {
        ++predicted_;
        predicted_bytes_ += e.bytes;
        for_each_arena([&](auto& arena, auto at) { fresh.in[at] = arena.begin(e.bytes, requested_bytes_); });
    }
    live_.begin(e.address, fresh, {e.time_ticks, e.thread},
                [&](const object& ended, std::uint64_t, trace::moment, trace::ending) { end(ended); });
}

void arena_trial::end(const object& ended) {
    if (!ended.is_predicted) return;
    if (requested_bytes_ - ended.born_bytes < request_.short_bytes) right_bytes_ += ended.bytes;
    for_each_arena([&](auto& arena, auto at) { arena.end(ended.in[at]); });
}

template <unsigned Chunks>
program::json tried_arena<Chunks>::json() const {
    return program::json_object({{"chunks", Chunks},
                                 {"chunk_bytes", arena::chunk_bytes},
                                 {"objects", objects_},
                                 {"bytes", placed_bytes_},
                                 {"refused_bytes", refused_bytes_},
                                 {"most_held_bytes", most_held_ * arena::chunk_bytes},
                                 {"most_pinned_bytes", most_pinned_ * arena::chunk_bytes},
                                 {"end_pinned_bytes", pinned_ * arena::chunk_bytes}});
}

program::json arena_trial::json() const {
    return program::json_object(
        {{"requested_bytes", requested_bytes_},
         {"objects", predicted_},
         {"bytes", predicted_bytes_},
         {"wrong_bytes", predicted_bytes_ - right_bytes_},
         {"arenas", program::json::array(
                        {std::get<0>(arenas_).json(), std::get<1>(arenas_).json(), std::get<2>(arenas_).json()})}});
}

}  // namespace millpond::characterise
