// SPDX-License-Identifier: BSL-1.0
// guarded_main: ends a program of the trial with the status and the sentence of whatever it throws.
#pragma once

#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "lab/plan/plan_error.hpp"
#include "lab/trial/trial_error.hpp"

namespace millpond::trial {

// Says why on standard error; returns `status`.
inline int fail(int status, const std::string& message) {
    std::fprintf(stderr, "millpond: %s\n", message.c_str());
    return status;
}

// What `act` returns, or the status of its exception.
template <class Act>
int guarded_main(const Act& act) {
    try {
        return act();
    } catch (const trial_error& error) {
        return fail(error.status, error.what());
    } catch (const lab::plan_error& error) {
        return fail(error.status, error.what());
    } catch (const std::bad_alloc&) {
        return fail(trial_error::environment_lacks, "out of memory");
    } catch (const std::exception& error) {
        return fail(trial_error::environment_lacks, error.what());
    }
}

}  // namespace millpond::trial
