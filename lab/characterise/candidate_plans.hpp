// SPDX-License-Identifier: BSL-1.0
// candidate_plans: the plans that are worth a trial: a pool for one large subsystem, a pool for each of them, and
// arenas for scopes.
//
//   01-order_book.plan.json   02-price_history.plan.json   …   all.plan.json   arena-01-server-handle.plan.json   …
//   instances-01-order_list.plan.json   …   affinity.plan.json   affinity-in-order.plan.json
//
// Large: at least 1 % of the events or bytes. A subsystem of a module, or of code whose name a router cannot find
// again, gets no pool. If several threads use a subsystem, its pool has a lock.
//
// Arenas: one holds the large subsystems of one legal scope, if each activation allocates at most four times what is
// alive at a time (or 1 MiB). If the function was not observed, or allocates more, the arena is reset whenever nothing
// in it is alive ("phase"). A trial observes the calls of a function only if that takes at most a twentieth of the
// recorded time ("observed"). Scopes whose activations allocate fewer than 4 objects get no arena. The scope with most
// bytes comes first.
//
// Instances: if the owners of a large subsystem's objects were sampled and found (owner_keys.hpp), each owner gets a
// pool.
//
// Affinity: if the recording has references and joins large subsystems (affine_groups.hpp), each group gets one pool,
// and every other large subsystem its own. A multipool keeps sizes apart. "In order", groups have arenas instead, which
// hold blocks of all sizes in the order of allocation and are reset whenever nothing in them is alive. Condition: one
// thread uses the group, and it allocates at most four times what is alive at a time (or 1 MiB).
//
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

constexpr std::size_t candidate_plans_max = 8;  // without the one for all
constexpr std::size_t candidate_arenas_max = 3;
constexpr std::size_t candidate_instances_max = 4;

std::vector<candidate_plan> candidate_plans(const characterisation& all);

// Creates the directory if it does not exist. Throws std::system_error.
void write_candidate_plans(const std::vector<candidate_plan>& plans, const std::string& folder);

}  // namespace millpond::characterise
