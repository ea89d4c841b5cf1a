// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/pattern_json.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

#include "lab/symbols/demangle.hpp"

namespace millpond::characterise {
namespace {

constexpr std::size_t rows_max = 50, contexts_max = 1000;
// A context whose replacements are steps of growth this many times as often as not: others are queues of blocks of
// changing sizes, in which a larger block follows a smaller one by chance.
constexpr std::uint64_t steps_for_each_other = 3;

using counted = const context_patterns;

std::uint64_t left_objects(counted& one) { return std::accumulate(one.left.begin(), one.left.end(), std::uint64_t{0}); }

bool grows(counted& one) {
    return one.growth.steps > 0 && one.growth.steps >= steps_for_each_other * one.growth.not_larger;
}

void add(temporary_counts& to, const temporary_counts& more) {
    for (std::size_t i = 0; i < temporary_counts::limits; ++i) to.objects[i] += more.objects[i];
    to.bytes += more.bytes;
    to.largest_bytes = std::max(to.largest_bytes, more.largest_bytes);
}

void add(growth_counts& to, const growth_counts& more) {
    to.chains += more.chains;
    to.steps += more.steps;
    to.resizes += more.resizes;
    to.replaced_bytes += more.replaced_bytes;
    to.copied_bytes += more.copied_bytes;
    to.first_bytes_min = std::min(to.first_bytes_min, more.first_bytes_min);
    to.final_bytes_min = std::min(to.final_bytes_min, more.final_bytes_min);
    to.final_bytes_max = std::max(to.final_bytes_max, more.final_bytes_max);
    to.final_bytes += more.final_bytes;
    to.not_larger += more.not_larger;
}

// The contexts of one place.
struct place_patterns {
    allocation_place at;
    std::uint32_t subsystem = 0, context = 0;  // the context with most
    std::uint64_t contexts = 0, allocations = 0, left_bytes = 0;
    context_patterns sum;

    void add_context(counted& one, const characterisation& all) {
        ++contexts;
        allocations += all.counts().contexts()[one.context].objects;
        left_bytes += all.counts().left()[one.context].bytes;
        for (std::size_t i = 0; i < one.left.size(); ++i) sum.left[i] += one.left[i];
        sum.lost += one.lost;
        sum.lost_bytes += one.lost_bytes;
        add(sum.temporaries, one.temporaries);
        add(sum.growth, one.growth);
    }
};

json limits_json(const temporary_counts& counts) {
    json limits = json::array();
    for (std::size_t i = 0; i < temporary_counts::limits; ++i)
        limits.push_back(json::array({std::uint64_t{1} << i, counts.objects[i]}));
    return limits;
}

json left_json(const place_patterns& of, bool is_scanned) {
    json quarters = json::array();
    for (const std::uint64_t objects : of.sum.left) quarters.push_back(objects);
    return program::json_object({{"objects", left_objects(of.sum)},
                                 {"bytes", of.left_bytes},
                                 {"quarters", std::move(quarters)},
                                 {"lost_objects", is_scanned ? json(of.sum.lost) : json()},
                                 {"lost_bytes", is_scanned ? json(of.sum.lost_bytes) : json()}});
}

json temporaries_json(const place_patterns& of) {
    const temporary_counts& counts = of.sum.temporaries;
    return program::json_object({{"objects", counts.objects[block_patterns::temporary_limit_log2]},
                                 {"bytes", counts.bytes},
                                 {"freed_next", counts.objects[0]},
                                 {"largest_bytes", counts.largest_bytes},
                                 {"fewer_than", limits_json(counts)}});
}

json growth_json(const place_patterns& of) {
    const growth_counts& counts = of.sum.growth;
    const bool any = counts.chains > 0;
    return program::json_object({{"chains", counts.chains},
                                 {"steps", counts.steps},
                                 {"resizes", counts.resizes},
                                 {"bytes", counts.replaced_bytes},
                                 {"copied_bytes", counts.copied_bytes},
                                 {"first_bytes_min", any ? counts.first_bytes_min : 0},
                                 {"final_bytes_min", any ? counts.final_bytes_min : 0},
                                 {"final_bytes_max", counts.final_bytes_max},
                                 {"final_bytes", counts.final_bytes},
                                 {"not_larger", counts.not_larger}});
}

// One of the three views. `weight`: what rows are ordered by; contexts without it do not belong to the view.
struct pattern_view {
    std::function<std::uint64_t(counted&)> weight;
    std::function<json(const place_patterns&)> counts;
};

class view_writer {
  public:
    view_writer(const characterisation& all, container_list& containers) : all_(all), containers_(containers) {}

    json write(const pattern_view& view) {
        std::vector<std::pair<std::uint64_t, counted*>> order;
        place_patterns whole;
        for (counted& one : all_.patterns()->contexts()) {
            const std::uint64_t weight = view.weight(one);
            if (weight == 0) continue;
            order.emplace_back(weight, &one);
            whole.add_context(one, all_);
        }
        std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
            return a.first != b.first ? a.first > b.first : a.second->context < b.second->context;
        });
        std::map<std::string, std::pair<std::uint64_t, place_patterns>> places;
        for (std::size_t i = 0; i < std::min(order.size(), contexts_max); ++i) {
            counted& one = *order[i].second;
            const allocation_place& at = place_of(one.context);
            const std::uint32_t subsystem = all_.counts().contexts()[one.context].subsystem;
            auto& [weight, place] = places[std::to_string(subsystem) + "|" + at.function + "|" + at.place.file + "|" +
                                           std::to_string(at.place.line) + "|" + at.container];
            if (place.contexts == 0) {
                place.at = at;
                place.subsystem = subsystem;
                place.context = one.context;
            }
            weight += order[i].first;
            place.add_context(one, all_);
        }
        std::vector<const std::pair<std::uint64_t, place_patterns>*> ranked;
        for (const auto& [key, place] : places) ranked.push_back(&place);
        std::stable_sort(ranked.begin(), ranked.end(),
                         [](const auto* a, const auto* b) { return a->first > b->first; });
        json rows = json::array();
        for (std::size_t i = 0; i < std::min(ranked.size(), rows_max); ++i)
            rows.push_back(row(view, ranked[i]->second));
        json found = view.counts(whole);
        found["contexts"] = whole.contexts;
        found["rows"] = std::move(rows);
        return found;
    }

  private:
    const allocation_place& place_of(std::uint32_t context) {
        const auto known = known_.find(context);
        return known != known_.end() ? known->second
                                     : known_.emplace(context, containers_.place_of(context)).first->second;
    }

    json row(const pattern_view& view, const place_patterns& of) const {
        const std::string& function = of.at.function;
        json found = view.counts(of);
        found["place"] = program::json_object(
            {{"subsystem", all_.subsystems().subsystems()[of.subsystem].name},
             {"function", symbols::cut_name(function.empty() ? all_.frame_name(of.context) : function)},
             {"file", of.at.place.file},
             {"line", of.at.place.line},
             {"container", of.at.container.empty() ? json() : json(symbols::cut_name(of.at.container))},
             {"contexts", of.contexts},
             {"allocations", of.allocations},
             {"stack", all_.stack(of.context)}});
        return found;
    }

    const characterisation& all_;
    container_list& containers_;
    std::map<std::uint32_t, allocation_place> known_;
};

}  // namespace

void add_patterns(json& to, const characterisation& from, container_list& containers) {
    if (from.patterns() == nullptr) return;
    view_writer writer(from, containers);
    // A block of no bytes counts as one, so that it has a place.
    to["left"] = writer.write({[&](counted& one) {
                                   const std::uint64_t objects = left_objects(one);
                                   return objects == 0 ? 0 : std::max(objects, from.counts().left()[one.context].bytes);
                               },
                               [&](const place_patterns& of) { return left_json(of, from.patterns()->is_scanned()); }});
    to["temporaries"] = writer.write(
        {[](counted& one) { return one.temporaries.objects[block_patterns::temporary_limit_log2]; }, temporaries_json});
    to["temporaries"]["events"] = block_patterns::temporary_events;
    to["growth"] = writer.write(
        {[](counted& one) { return grows(one) ? std::max(one.growth.steps, one.growth.replaced_bytes) : 0; },
         growth_json});
}

}  // namespace millpond::characterise
