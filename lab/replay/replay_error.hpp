// SPDX-License-Identifier: BSL-1.0
// replay_error: a failure of millpond-replay itself; `status` is the exit status that says why.
//
//   2 usage, an unknown subsystem   3 missing, damaged, of another build, no malloc library   4 no memory, no place
#pragma once

#include <stdexcept>
#include <string>

namespace millpond::replay {

class replay_error : public std::runtime_error {
  public:
    static constexpr int usage = 2;
    static constexpr int bad_input = 3;
    static constexpr int environment_lacks = 4;

    replay_error(int why, const std::string& message) : std::runtime_error(message), status(why) {}

    const int status;
};

}  // namespace millpond::replay
