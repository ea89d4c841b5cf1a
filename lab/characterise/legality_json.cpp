// SPDX-License-Identifier: BSL-1.0
#include <algorithm>

#include "subsystem_json.hpp"

namespace millpond::characterise {
namespace {

constexpr std::size_t scopes_max = 6;
constexpr double enclosing_share_min = 0.9;

// A function around allocations of a subsystem.
struct judged_scope {
    const candidate_record* record;
    std::uint64_t enclosed = 0, outlived = 0;  // objects
    double depth = 0;                          // mean, of the objects
};

std::vector<judged_scope> judge(const characterisation& all, std::uint32_t subsystem, std::uint64_t objects) {
    std::vector<judged_scope> judged;
    for (const candidate_record& record : all.analysis().legality().candidates(subsystem)) {
        judged_scope scope{&record};
        for (const std::uint32_t c : all.contexts(subsystem)) {
            const context_counts& context = all.analysis().contexts()[c];
            const std::uint32_t owning = all.scopes().innermost_of(context.scope, record.function);
            if (owning == 0) continue;
            const std::uint32_t depth = all.scopes().depth(owning);
            scope.enclosed += context.objects;
            scope.outlived += all.analysis().legality().outlived_depth(context.outlived, depth);
            scope.depth += static_cast<double>(depth) * static_cast<double>(context.objects);
        }
        if (static_cast<double>(scope.enclosed) < enclosing_share_min * static_cast<double>(objects)) continue;
        scope.depth /= static_cast<double>(scope.enclosed);
        judged.push_back(scope);
    }
    std::sort(judged.begin(), judged.end(), [&](const judged_scope& a, const judged_scope& b) {
        if (a.depth != b.depth) return a.depth > b.depth;
        return all.functions().function(a.record->function).name < all.functions().function(b.record->function).name;
    });
    return judged;
}

// Of scopes from the innermost outward, those that tell most: the outermost, the first legal one and the one inside it,
// the innermost, then whatever lies next to the step from illegal to legal.
std::vector<judged_scope> select(const std::vector<judged_scope>& judged) {
    if (judged.size() <= scopes_max) return judged;
    const std::size_t count = judged.size();
    std::size_t step = 0;
    while (step < count && judged[step].outlived > 0) ++step;
    std::vector<char> chosen(count, 0);
    std::size_t taken = 0;
    const auto take = [&](std::size_t i) {
        if (i >= count || chosen[i] != 0 || taken == scopes_max) return;
        chosen[i] = 1;
        ++taken;
    };
    take(count - 1);
    take(step);
    take(step - 1);  // wraps to none where the innermost is legal
    take(0);
    for (std::size_t away = 1; taken < scopes_max; ++away) {
        take(step + away);
        take(step - 1 - away);
    }
    std::vector<judged_scope> selected;
    for (std::size_t i = 0; i < count; ++i) {
        if (chosen[i] != 0) selected.push_back(judged[i]);
    }
    return selected;
}

json witness_json(const characterisation& all, const witness& seen) {
    json one;
    one["stack"] = all.stack(seen.context);
    one["thread"] = seen.thread;
    one["bytes"] = seen.bytes;
    one["allocated_seconds"] = all.seconds(seen.allocated_tick);
    if (seen.freed_tick != 0)
        one["ended"] = "freed after the scope ended, by thread " + std::to_string(seen.freed_by);
    else
        one["ended"] = all.reader().process().clean ? "still live at exit" : "still live when the trace ended";
    return one;
}

json instances_json(const histogram& bytes) {
    const auto at = [&](double share) { return bytes.count() > 0 ? json(bytes.percentile(share)) : json(); };
    return {{"p50", at(0.5)}, {"p95", at(0.95)}, {"max", at(1)}};
}

json scope_json(const characterisation& all, const subsystem_counts& s, const char* scope, const std::string& name,
                std::uint64_t objects, std::uint64_t enclosed, std::uint64_t outlived, const histogram& instances,
                const std::vector<witness>& witnesses) {
    json one;
    one["scope"] = scope;
    one["name"] = name;
    one["legal"] = outlived == 0;
    one["outliving"] = outlived;
    one["total"] = enclosed;
    one["share"] = static_cast<double>(enclosed) / static_cast<double>(objects);
    one["activations"] = instances.count();
    one["instance_bytes"] = instances_json(instances);
    one["first_empty_seconds"] = s.first_empty_tick != 0 ? json(all.seconds(s.first_empty_tick)) : json();
    one["freed_by_other_threads"] = s.freed_by_others;
    one["witnesses"] = json::array();
    for (const witness& seen : witnesses) one["witnesses"].push_back(witness_json(all, seen));
    return one;
}

}  // namespace

json legality_json(const characterisation& all, std::uint32_t subsystem) {
    const subsystem_counts& s = all.analysis().subsystems()[subsystem];
    const std::uint64_t objects = s.objects;
    json scopes = json::array();
    for (const judged_scope& scope : select(judge(all, subsystem, objects))) {
        scopes.push_back(scope_json(all, s, "function", all.functions().function(scope.record->function).name, objects,
                                    scope.enclosed, scope.outlived, scope.record->instance_bytes,
                                    scope.record->witnesses));
    }
    histogram instances;
    for (const thread_share* share : all.shares(subsystem)) {
        if (share->objects > 0) instances.add(share->instances.thread_bytes());
    }
    scopes.push_back(scope_json(all, s, "thread", "of the allocation", objects, objects, s.outlived_thread, instances,
                                all.analysis().legality().thread_witnesses(subsystem)));
    return scopes;
}

}  // namespace millpond::characterise
