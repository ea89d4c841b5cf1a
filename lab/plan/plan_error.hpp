// SPDX-License-Identifier: BSL-1.0
// plan_error: a plan that cannot be used; `status` is the exit status that says why.
#pragma once

#include <stdexcept>
#include <string>

namespace millpond::lab {

class plan_error : public std::runtime_error {
  public:
    static constexpr int unknown_name = 2;       // a strategy or subsystem that does not exist
    static constexpr int damaged = 3;            // missing, not JSON, another schema, a wrong field, another build
    static constexpr int environment_lacks = 4;  // no place to write

    plan_error(int why, const std::string& message) : std::runtime_error(message), status(why) {}

    const int status;
};

}  // namespace millpond::lab
