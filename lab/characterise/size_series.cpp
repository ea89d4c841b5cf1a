// SPDX-License-Identifier: BSL-1.0
// size_series' pass over events, and its JSON.
#include "lab/characterise/size_series.hpp"

#include <algorithm>

#include "lab/characterise/arena_trial.hpp"
#include "lab/characterise/call_sites.hpp"
#include "lab/characterise/characterisation.hpp"
#include "lab/characterise/characterisation_json.hpp"
#include "lab/program/json.hpp"
#include "lab/trace/wholeness.hpp"

namespace millpond::characterise {

size_series::size_series(const size_request& request, std::uint64_t events)
    : request_(request),
      events_in_moment_(std::max<std::uint64_t>(1, (events + request.moments - 1) / request.moments)),
      rows_(request.largest_bytes / request.granule_bytes + 1) {}

void size_series::row::pass_to(std::uint64_t event) {
    const auto passed = static_cast<double>(event - seen);
    blocks_events += passed * static_cast<double>(live);
    bytes_events += passed * static_cast<double>(live_bytes);
    seen = event;
}

// Moments without a change get the count that was live when they began.
void size_series::row::note(std::uint64_t moment) {
    const auto now = static_cast<std::uint32_t>(std::min<std::uint64_t>(live, ~std::uint32_t{0}));
    if (moment < most.size())
        most[moment] = std::max(most[moment], now);
    else
        most.resize(moment + 1, now);
}

std::size_t size_series::row_of(std::uint64_t bytes, unsigned alignment_log2) const {
    if (bytes > request_.largest_bytes || alignment_log2 >= 32) return 0;
    const std::uint64_t unit = std::max(request_.granule_bytes, std::uint64_t{1} << alignment_log2);
    const std::uint64_t rounded = (std::max<std::uint64_t>(bytes, 1) + unit - 1) / unit * unit;
    return rounded > request_.largest_bytes ? 0 : static_cast<std::size_t>(rounded / request_.granule_bytes);
}

void size_series::consume(const trace::event* batch, std::size_t count) {
    constexpr std::size_t ahead = 16;
    for (std::size_t i = 0; i < count; ++i) {
        if (i + ahead < count) live_.prefetch(batch[i + ahead].address);
        if (batch[i].op != trace::operation::note) take(batch[i]);
    }
}

void size_series::take(const trace::event& e) {
    if (e.op == trace::operation::allocate || e.op == trace::operation::realloc_allocate)
        begin(e);
    else
        live_.end(e.address, {e.time_ticks, e.thread},
                  [&](const object& ended, std::uint64_t, trace::moment, trace::ending) { end(ended); });
    ++events_;
}

void size_series::begin(const trace::event& e) {
    const std::size_t number = row_of(e.bytes, e.alignment_log2);
    const std::uint64_t moment = std::min(events_ / events_in_moment_, request_.moments - 1);
    ++requests_;
    requested_bytes_ += e.bytes;
    ++frequency_[e.bytes];
    row& own = rows_[number];
    own.pass_to(events_);
    // Earlier blocks belong to the moments up to this one.
    own.note(moment);
    ++own.requests;
    own.bytes += e.bytes;
    own.peak_blocks = std::max(own.peak_blocks, ++own.live);
    own.peak_bytes = std::max(own.peak_bytes, own.live_bytes += e.bytes);
    own.note(moment);
    site_counts& site = sites_[{e.context, static_cast<std::uint32_t>(number)}];
    ++site.objects;
    site.bytes += e.bytes;
    live_.begin(e.address, {e.bytes, requested_bytes_, static_cast<std::uint32_t>(number), e.context},
                {e.time_ticks, e.thread},
                [&](const object& ended, std::uint64_t, trace::moment, trace::ending) { end(ended); });
}

void size_series::end(const object& ended) {
    row& own = rows_[ended.row];
    own.pass_to(events_);
    own.note(std::min(events_ / events_in_moment_, request_.moments - 1));
    --own.live;
    own.live_bytes -= ended.bytes;
    if (requested_bytes_ - ended.born_bytes < request_.short_bytes)
        sites_[{ended.context, ended.row}].short_bytes += ended.bytes;
}

void size_series::finish() {
    for (row& own : rows_) {
        if (own.requests == 0) continue;
        own.pass_to(events_);
        own.note(request_.moments - 1);
    }
}

program::json size_series::rows_json() const {
    program::json all = program::json::array();
    const double events = static_cast<double>(std::max<std::uint64_t>(1, events_));
    for (std::size_t number = 1; number < rows_.size(); ++number) {
        const row& own = rows_[number];
        if (own.requests == 0) continue;
        all.push_back(program::json_object({{"bytes", number * request_.granule_bytes},
                                            {"requests", own.requests},
                                            {"requested_bytes", own.bytes},
                                            {"peak_blocks", own.peak_blocks},
                                            {"mean_blocks", own.blocks_events / events},
                                            {"mean_bytes", own.bytes_events / events},
                                            {"live", own.most}}));
    }
    return all;
}

program::json size_series::larger_json() const {
    const row& own = rows_[0];
    return program::json_object({{"requests", own.requests},
                                 {"requested_bytes", own.bytes},
                                 {"peak_blocks", own.peak_blocks},
                                 {"peak_bytes", own.peak_bytes}});
}

program::json size_series::census_json() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> sizes(frequency_.begin(), frequency_.end());
    const std::size_t kept = std::min(sizes.size(), most_frequent_max);
    std::partial_sort(
        sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(kept), sizes.end(),
        [](const auto& a, const auto& b) { return a.second != b.second ? a.second > b.second : a.first < b.first; });
    program::json frequent = program::json::array();
    for (std::size_t i = 0; i < kept; ++i)
        frequent.push_back(program::json_object({{"bytes", sizes[i].first}, {"requests", sizes[i].second}}));
    return program::json_object({{"requests", requests_},
                                 {"requested_bytes", requested_bytes_},
                                 {"distinct_sizes", sizes.size()},
                                 {"most_frequent", std::move(frequent)}});
}

program::json size_series::sites_json(const std::vector<trace::context_node>& nodes,
                                      const std::vector<trace::module_record>& modules) const {
    struct named_site : site_counts {
        std::vector<std::string> frames;
        std::uint64_t size = 0;
    };
    std::map<std::string, named_site> named;
    for (const auto& [key, counts] : sites_) {
        std::vector<std::string> frames = frames_of(key.first, nodes, modules);
        const std::uint64_t size = key.second * request_.granule_bytes;
        named_site& site = named[site_name(frames, site_frames, size)];
        site.frames = std::move(frames);
        site.size = size;
        site.objects += counts.objects;
        site.bytes += counts.bytes;
        site.short_bytes += counts.short_bytes;
    }
    program::json all = program::json::array();
    for (const auto& [name, counts] : named)
        all.push_back(program::json_object({{"site", name},
                                            {"frames", counts.frames},
                                            {"size", counts.size},
                                            {"objects", counts.objects},
                                            {"bytes", counts.bytes},
                                            {"short_bytes", counts.short_bytes}}));
    return all;
}

program::json sizes_json(const std::string& path, const size_request& request, bool accepts_damaged) {
    trace::reader reader(path);
    size_series series(request, reader.event_count());
    reader.for_each_batch([&](const trace::event* batch, std::size_t count) { series.consume(batch, count); });
    series.finish();
    trace::require_whole(path, reader.damages(), accepts_damaged);
    program::json facts;
    facts["path"] = path;
    add_trace_facts(facts, reader);
    program::json arena;
    if (!request.short_sites.empty()) {
        arena_trial trial(request, {request.short_sites.begin(), request.short_sites.end()}, reader.contexts(),
                          reader.modules());
        reader.for_each_batch([&](const trace::event* batch, std::size_t count) { trial.consume(batch, count); });
        arena = trial.json();
    }
    return program::json_object({{"schema", "millpond.sizes/1"},
                                 {"trace", std::move(facts)},
                                 {"process", process_json(reader.process())},
                                 {"granule_bytes", request.granule_bytes},
                                 {"largest_bytes", request.largest_bytes},
                                 {"short_bytes", request.short_bytes},
                                 {"moments", request.moments},
                                 {"census", series.census_json()},
                                 {"rows", series.rows_json()},
                                 {"larger", series.larger_json()},
                                 {"sites", series.sites_json(reader.contexts(), reader.modules())},
                                 {"arena", std::move(arena)}});
}

}  // namespace millpond::characterise
