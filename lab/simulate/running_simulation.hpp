// SPDX-License-Identifier: BSL-1.0
// running_simulation: runs a simulation in an ordinary process, and feeds it from a source.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lab/program/program.hpp"
#include "lab/references/simulators.h"
#include "lab/simulate/process_system.hpp"
#include "lab/simulate/reference_source.hpp"

namespace millpond::simulate {

class running_simulation {
  public:
    // Throws program::failure (usage) if a description is wrong.
    running_simulation(const millpond_rules& rules, const std::vector<std::string>& descriptions)
        : all_(millpond_simulation_new(&process_system, &rules), millpond_simulation_delete) {
        for (const std::string& each : descriptions) {
            if (const char* const wrong = millpond_simulation_add(all_.get(), each.c_str()))
                throw program::failure(program::usage, "\"" + each + "\": " + wrong);
        }
    }

    millpond_simulation* get() const { return all_.get(); }

    void take(const reference_batch& batch) const {
        millpond_simulation_take(get(), batch.references, batch.count, batch.instructions);
        if (batch.flushes) millpond_simulation_flush(get());
    }

  private:
    std::unique_ptr<millpond_simulation, void (*)(millpond_simulation*)> all_;
};

}  // namespace millpond::simulate
