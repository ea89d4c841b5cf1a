// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/legality_record.hpp"

#include <algorithm>

#include "lab/characterise/subsystem_json.hpp"
#include "lab/program/json.hpp"
#include "lab/trace/wholeness.hpp"

namespace millpond::characterise {
namespace {

constexpr std::size_t scopes_max = 6;
constexpr double enclosing_share_min = 0.9;

// Keeps a few witnesses, from different contexts if possible. A later access proves more than a missing free and
// replaces it.
void add_witness(std::vector<witness>& witnesses, const witness& seen) {
    const auto proves_less = [&](const witness& known) {
        return seen.touched && known.freed_tick == 0 && !known.touched && known.context == seen.context;
    };
    const auto weaker = std::find_if(witnesses.begin(), witnesses.end(), proves_less);
    if (weaker != witnesses.end()) {
        *weaker = seen;
        return;
    }
    if (witnesses.size() == legality_record::witnesses_max) return;
    const auto same = [&](const witness& known) { return known.context == seen.context; };
    if (std::none_of(witnesses.begin(), witnesses.end(), same)) witnesses.push_back(seen);
}

}  // namespace

legality_record::legality_record(const scope_tree& scopes, std::size_t subsystems)
    : scopes_(scopes), candidates_(subsystems), index_(subsystems), of_threads_(subsystems) {
    for (std::uint32_t s = 0; s < subsystems; ++s) {
        index_[s].first.fill(candidate_index::none);
        for (const std::uint32_t f : scopes.candidates(s)) {
            std::uint8_t& first = index_[s].first[f % index_[s].first.size()];
            if (first == candidate_index::none) first = static_cast<std::uint8_t>(candidates_[s].size());
            candidates_[s].push_back({f, {}, {}});
        }
    }
}

void legality_record::open_row(context_counts& context) {
    context.outlived = static_cast<std::uint32_t>(rows_.size());
    rows_.resize(rows_.size() + 2 * std::size_t{context.depth});
}

void legality_record::offer(context_counts& context, std::size_t surviving, const witness& seen) {
    context.witnessed = static_cast<std::uint16_t>(surviving);
    for (candidate_record& candidate : candidates_[context.subsystem]) {
        const std::uint32_t owning = scopes_.innermost_of(context.scope, candidate.function);
        if (owning != 0 && scopes_.depth(owning) > surviving) add_witness(candidate.witnesses, seen);
    }
}

void legality_record::outlived_thread(std::uint32_t subsystem, const witness& seen) {
    add_witness(of_threads_[subsystem], seen);
}

std::uint64_t legality_record::sum(std::uint32_t row, std::uint32_t from, std::uint32_t depth) const {
    std::uint64_t total = 0;
    for (std::size_t d = 0; row != 0 && d < depth; ++d) total += rows_[row + from + d];
    return total;
}

namespace {

// A function around allocations of a subsystem.
struct judged_scope {
    const candidate_record* record;
    std::uint64_t enclosed = 0, outlived = 0;  // objects
    std::uint64_t left = 0, running = 0;       // never freed: its scope ended, still runs
    double depth = 0;                          // mean, of the objects

    std::uint64_t beyond() const { return outlived + left; }
};

std::vector<judged_scope> judge(const characterisation& all, std::uint32_t subsystem, std::uint64_t objects) {
    std::vector<judged_scope> judged;
    for (const candidate_record& record : all.counts().legality().candidates(subsystem)) {
        judged_scope scope{&record};
        for (const std::uint32_t c : all.contexts(subsystem)) {
            const context_counts& context = all.counts().contexts()[c];
            const std::uint32_t owning = all.scopes().innermost_of(context.scope, record.function);
            if (owning == 0) continue;
            const std::uint32_t depth = all.scopes().depth(owning);
            scope.enclosed += context.objects;
            const std::uint64_t left = all.counts().legality().left_depth(context, depth);
            scope.outlived += all.counts().legality().outlived_depth(context, depth);
            scope.left += left;
            scope.running += all.counts().left()[c].objects - left;
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

// Selects the most telling scopes, from the innermost outward: the outermost, the first legal one and the one inside
// it, the innermost, then those next to the step from illegal to legal.
std::vector<judged_scope> select(const std::vector<judged_scope>& judged) {
    if (judged.size() <= scopes_max) return judged;
    const std::size_t count = judged.size();
    std::size_t step = 0;
    while (step < count && judged[step].beyond() > 0) ++step;
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
    else if (seen.touched)
        one["ended"] = "accessed after the scope ended, and never freed";
    else
        one["ended"] = all.reader().process().clean ? "still live at exit" : "still live when the trace ended";
    return one;
}

json instances_json(const histogram& bytes) {
    const auto at = [&](double share) { return bytes.count() > 0 ? json(bytes.percentile(share)) : json(); };
    return program::json_object({{"p50", at(0.5)}, {"p95", at(0.95)}, {"max", at(1)}});
}

using namespace scope_legality;

// The facts about a scope and one subsystem, from either method.
struct verdict {
    const char* legality;
    std::uint64_t outliving, outliving_outermost, total;
    std::uint64_t left, running;  // never freed: the scope ended, still runs
    json activations, calls;      // null: not observed
    const histogram* instances;
    const characterisation* of;  // the source of the witnesses
    const std::vector<witness>* witnesses;
    std::string method, why_not;  // of the observation; one of the two is empty
};

template <class Names>
std::uint32_t find_name(std::uint32_t count, const std::string& name, const Names& name_of) {
    std::uint32_t i = 0;
    while (i < count && name_of(i) != name) ++i;
    return i;
}

const observed_pair* find_pair(const characterisation& observed, std::uint32_t function, const std::string& subsystem) {
    const auto& subsystems = observed.subsystems().subsystems();
    const auto count = static_cast<std::uint32_t>(subsystems.size());
    const std::uint32_t s = find_name(count, subsystem, [&](std::uint32_t i) { return subsystems[i].name; });
    return s == count ? nullptr : observed.observations().pair(s, function);
}

const char* legality_of(const observed_pair& pair) {
    if (pair.outlived == 0 && pair.left == 0) return legal;
    if (pair.outlived_outermost > 0) return illegal;
    return pair.left_outermost == 0 ? legal_outermost : alive_at_end;
}

verdict judge_calls(const characterisation& all, std::uint32_t subsystem, const judged_scope& scope) {
    static const histogram unknown;
    verdict v{scope.outlived > 0 ? illegal
              : scope.left > 0   ? alive_at_end
                                 : not_disproved,
              scope.outlived,
              scope.outlived,
              scope.enclosed,
              scope.left,
              scope.running,
              nullptr,
              nullptr,
              &unknown,
              &all,
              &scope.record->witnesses,
              {},
              {}};
    const characterisation& observed = all.observed();
    const symbols::context_functions& functions = observed.functions();
    const std::string& name = all.functions().function(scope.record->function).name;
    const auto count = static_cast<std::uint32_t>(functions.size());
    const std::uint32_t f =
        find_name(count, name, [&](std::uint32_t i) -> const std::string& { return functions.function(i).name; });
    const observed_function* const of = f == count ? nullptr : observed.observations().function(f);
    v.why_not = observed_scopes::reason(of);
    if (!v.why_not.empty() && v.legality == not_disproved && v.running > 0)
        v.why_not += "; the program ended inside it, as far as the trace tells";
    if (!v.why_not.empty()) return v;
    const observed_pair* const pair = find_pair(observed, f, all.subsystems().subsystems()[subsystem].name);
    if (pair == nullptr || pair->enclosed == 0) {
        v.why_not = "no observed call of it ran around an allocation of this subsystem";
        return v;
    }
    const bool touched_later = legality_of(*pair) == alive_at_end && v.legality == illegal;  // known of this trace
    if (touched_later) return v;
    v.legality = legality_of(*pair);
    v.left = pair->left;
    v.running = pair->running;
    v.outliving = pair->outlived;
    v.outliving_outermost = pair->outlived_outermost;
    v.total = pair->enclosed;
    v.activations = of->activations;
    v.calls = of->calls;
    v.instances = &pair->activation_bytes;
    v.of = &observed;
    v.witnesses = &pair->witnesses;
    v.method = "breakpoints at its entry and where it returns";
    return v;
}

// The reason why the trace cannot decide: frees may be missing. Empty if none are.
std::string undecided(const characterisation& of) {
    if (trace::is_cut(of.reader().process())) return trace::partial_reason(of.reader().process());
    return of.reader().damages().empty() ? "" : "the trace is damaged: frees may be missing";
}

// From an incomplete trace, keeps only what a witness proves.
verdict decided(verdict v) {
    std::string why = undecided(*v.of);
    if (v.legality == illegal || why.empty()) return v;
    v.legality = not_decided;
    v.why_not = std::move(why);
    return v;
}

verdict judge_function(const characterisation& all, std::uint32_t subsystem, const judged_scope& scope) {
    return decided(judge_calls(all, subsystem, scope));
}

json scope_json(const characterisation& all, const subsystem_counts& s, const char* scope, const std::string& name,
                std::uint64_t enclosed, const verdict& v) {
    json one;
    one["scope"] = scope;
    one["name"] = name;
    one["legality"] = v.legality;
    one["legal"] = v.legality == legal;
    one["observed"] = v.why_not.empty();
    one["method"] = v.why_not.empty() ? json(v.method) : json();
    one["why_not_observed"] = v.why_not.empty() ? json() : json(v.why_not);
    one["outliving"] = v.outliving;
    one["outliving_outermost"] = v.outliving_outermost;
    one["alive_at_end"] = v.left;
    one["running_at_end"] = v.running;
    one["total"] = v.total;
    one["share"] = static_cast<double>(enclosed) / static_cast<double>(s.objects);
    one["activations"] = v.activations;
    one["calls"] = v.calls;
    one["instance_bytes"] = instances_json(*v.instances);
    one["first_empty_seconds"] = s.first_empty_tick != 0 ? json(all.seconds(s.first_empty_tick)) : json();
    one["freed_by_other_threads"] = s.freed_by_others;
    one["witnesses"] = json::array();
    for (const witness& seen : *v.witnesses) one["witnesses"].push_back(witness_json(*v.of, seen));
    return one;
}

}  // namespace

json legality_json(const characterisation& all, std::uint32_t subsystem) {
    const subsystem_counts& s = all.counts().subsystems()[subsystem];
    json scopes = json::array();
    for (const judged_scope& scope : select(judge(all, subsystem, s.objects)))
        scopes.push_back(scope_json(all, s, "function", all.functions().function(scope.record->function).name,
                                    scope.enclosed, judge_function(all, subsystem, scope)));
    histogram instances;
    for (const thread_share* share : all.shares(subsystem)) {
        if (share->objects > 0) instances.add(share->of_activations.thread_bytes());
    }
    const std::uint64_t outlived = s.outlived_thread;
    // When a program ends by itself, its first thread's own variables are destroyed before the global ones.
    const std::uint64_t left =
        s.left_by_thread + (all.reader().process().clean ? s.left_on_first_thread : std::uint64_t{0});
    scopes.push_back(scope_json(all, s, "thread", "of the allocation", s.objects,
                                decided({outlived > 0 ? illegal
                                         : left > 0   ? alive_at_end
                                                      : legal,
                                         outlived,
                                         outlived,
                                         s.objects,
                                         left,
                                         s.live_objects - left,
                                         instances.count(),
                                         instances.count(),
                                         &instances,
                                         &all,
                                         &all.counts().legality().thread_witnesses(subsystem),
                                         "the ends of threads are in the trace",
                                         {}})));
    return scopes;
}

std::vector<std::uint32_t> legality_functions(const characterisation& all, std::uint32_t subsystem) {
    std::vector<std::uint32_t> functions;
    for (const judged_scope& scope : select(judge(all, subsystem, all.counts().subsystems()[subsystem].objects)))
        functions.push_back(scope.record->function);
    return functions;
}

}  // namespace millpond::characterise
