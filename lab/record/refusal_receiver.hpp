// SPDX-License-Identifier: BSL-1.0
// refusal_receiver: the socket on which processes say that they cannot open FILE.partial (variable.hpp).
#pragma once

#include <string>

#include "lab/trace/slot_file.h"

namespace millpond::record {

class refusal_receiver {
  public:
    explicit refusal_receiver(const std::string& partial);
    ~refusal_receiver();
    refusal_receiver(const refusal_receiver&) = delete;
    refusal_receiver& operator=(const refusal_receiver&) = delete;

    // Notes in slot 0 the processes that have said so since the last call. Does not wait.
    void note(mpt_slot_file& shared) const;

  private:
    int socket_;
};

}  // namespace millpond::record
