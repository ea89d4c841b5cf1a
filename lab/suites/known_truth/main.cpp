// SPDX-License-Identifier: BSL-1.0
// millpond-known_truth: runs one of the programs for which the right advice is known (known_program.hpp).
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <string>

#include "known_program.hpp"
#include "lab/program/command_line.hpp"

namespace {

using namespace millpond::suites;

constexpr const known_program* programs[] = {
    &two_lists,         &tree_for_each_request,      &cache_among_temporaries,
    &many_instances,    &producer_and_consumer,      &nothing_helps,
    &size_churn,        &size_churn_on_two_threads,  &recursive_descent,
    &phase_after_phase, &owner_outlives_the_request, &pools_hurt,
};

int list_programs() {
    for (const known_program* const program : programs) {
        std::printf("%s\t%s\t%s\n", program->name, program->change, program->by_hand_destroying ? "destroy" : "");
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    millpond::program::command_line command{"Runs a program for which the right advice is known.",
                                            "millpond-known_truth"};
    std::string name;
    std::string by_hand;
    bool list = false;
    double scale = 1;
    command.option("NAME", name, "The program to run.");
    command.flag("--by-hand{best}", by_hand,
                 "Run it with the change made by hand; --by-hand=destroy: with an arena whose objects are destroyed.");
    command.option("--scale", scale, "Multiply the work by this factor.").within(0.0001, 10000.0);
    command.flag("--list", list, "Print the names and changes.");
    if (const std::optional<int> ended = command.parse_or_explain(argc, argv)) return *ended;
    if (list) return list_programs();
    for (const known_program* const program : programs) {
        if (name != program->name) continue;
        const auto repeats = static_cast<std::uint64_t>(static_cast<double>(program->repeats) * scale) + 1;
        const auto work = by_hand.empty()        ? program->as_it_is
                          : by_hand == "best"    ? program->by_hand
                          : by_hand == "destroy" ? program->by_hand_destroying
                                                 : nullptr;
        if (work == nullptr) {
            std::fprintf(stderr, "millpond-known_truth: %s has no --by-hand=%s; --list prints what there is\n",
                         program->name, by_hand.c_str());
            return 2;
        }
        std::printf("%" PRIx64 "\n", work(repeats));
        return 0;
    }
    std::fprintf(stderr, "millpond-known_truth: no program %s; --list prints their names\n", name.c_str());
    return 2;
}
