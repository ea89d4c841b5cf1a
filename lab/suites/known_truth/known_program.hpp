// SPDX-License-Identifier: BSL-1.0
// known_program: a small program for which the right advice is known, in its original form and with the change made by
// hand.
//
//   millpond-known_truth two_lists                 the program that `millpond advise` examines
//   millpond-known_truth two_lists --by-hand       the same work after the change that is right for it
//   millpond-known_truth NAME --by-hand=destroy    an arena whose objects are destroyed, as a trial of one
//                                                  keeps all frees
//
// All print the same checksum. The difference between their CPU seconds and peak bytes is the truth that advice is
// compared with (`millpond-bench run laboratory.truth`).
#pragma once

#include <cstdint>

namespace millpond::suites {

struct known_program {
    using work = std::uint64_t (*)(std::uint64_t repeats);  // returns a checksum

    const char* name;
    const char* change;  // the change made by hand, in a few words
    work as_it_is;
    work by_hand;
    std::uint64_t repeats;  // about 0.3 CPU seconds
    // for programs whose by_hand winks out: the same arena, with every destructor run
    work by_hand_destroying = nullptr;
};

extern const known_program two_lists;
extern const known_program tree_for_each_request;
extern const known_program cache_among_temporaries;
extern const known_program many_instances;
extern const known_program producer_and_consumer;
extern const known_program nothing_helps;
extern const known_program size_churn;
extern const known_program size_churn_on_two_threads;
extern const known_program recursive_descent;
extern const known_program phase_after_phase;
extern const known_program owner_outlives_the_request;
extern const known_program pools_hurt;

}  // namespace millpond::suites
