// SPDX-License-Identifier: BSL-1.0
// candidate_plans: the plans that are worth a trial: each large subsystem alone in a pool of its own, all of them, and
// arenas for scopes.
//
//   01-order_book.plan.json   02-price_history.plan.json   …   all.plan.json   arena-01-server-handle.plan.json   …
//   instances-01-order_list.plan.json   …   affinity.plan.json   affinity-in-order.plan.json
//
// Large: at least one event or one byte in a hundred. A subsystem of a module, or of code without a name that a router
// could find again, gets none. Several threads use it: the pool stands behind a lock. An arena holds the large
// subsystems of one legal scope, of whose activations each allocates at most four times what is alive at a time (or 1
// MiB). Where such a function was not observed, or allocates more, the arena is one that is reset whenever nothing in
// it is alive ("phase"). A trial observes the calls of a function only where that would take at most a twentieth of
// the recorded time ("observed"). Scopes in whose activations fewer than 4 objects are allocated get none. The scope
// with most bytes comes first. Where the owners of a large subsystem's objects were sampled and found (owner_keys.hpp),
// one gives each owner a pool. Where the recording has references and joins large subsystems (affine_groups.hpp), the
// affinity plan gives each group one pool, and every other large subsystem its own. A multipool keeps sizes apart; "in
// order", groups have arenas that are reset whenever nothing in them is alive and lay blocks of all sizes in the order
// of allocation, where a group allocates at most four times what is alive at a time (or 1 MiB) and one thread uses it.
// Schema "millpond.plan/1".
#pragma once

#include <string>
#include <vector>

#include "lab/characterise/characterisation.hpp"
#include "lab/program/json.hpp"

namespace millpond::characterise {

struct candidate_plan {
    std::string file_name;
    json plan;
};

constexpr std::size_t candidate_plans_max = 8;  // besides the one for all
constexpr std::size_t candidate_arenas_max = 3;
constexpr std::size_t candidate_instances_max = 4;

std::vector<candidate_plan> candidate_plans(const characterisation& all);

// Creates the folder where there is none. Throws std::system_error.
void write_candidate_plans(const std::vector<candidate_plan>& plans, const std::string& folder);

}  // namespace millpond::characterise
