// SPDX-License-Identifier: BSL-1.0
// trial_error: a failure of millpond-trial itself; `status` is the exit status that says why.
#pragma once

#include <stdexcept>
#include <string>

namespace millpond::trial {

class trial_error : public std::runtime_error {
  public:
    static constexpr int usage = 2;              // also: an unknown subsystem
    static constexpr int bad_input = 3;          // missing, damaged, of another build
    static constexpr int environment_lacks = 4;  // no place to write, no memory, the preloaded library is not there

    trial_error(int why, const std::string& message) : std::runtime_error(message), status(why) {}

    const int status;
};

}  // namespace millpond::trial
