// SPDX-License-Identifier: BSL-1.0
// Offers the simulation as C functions, for a host without a C++ library.
#include <new>

#include "lab/references/simulators.h"
#include "lab/simulate/simulation.hpp"

struct millpond_simulation {
    millpond_system system;
    millpond::simulate::simulation all;
};

extern "C" {

millpond_simulation* millpond_simulation_new(const millpond_system* system, const millpond_rules* rules) {
    void* const place = system->allocate(sizeof(millpond_simulation));
    return new (place) millpond_simulation{*system, {*system, *rules}};
}

const char* millpond_simulation_add(millpond_simulation* simulation, const char* description) {
    return simulation->all.add(description);
}

void millpond_simulation_take(millpond_simulation* simulation, const millpond_reference* batch, size_t count,
                              uint64_t instructions) {
    simulation->all.take(batch, count, instructions);
}

void millpond_simulation_flush(millpond_simulation* simulation) { simulation->all.flush(); }

size_t millpond_simulation_size(const millpond_simulation* simulation) { return simulation->all.size(); }

const char* millpond_simulation_description(const millpond_simulation* simulation, size_t simulator) {
    return simulation->all.description_of(simulator);
}

void millpond_simulation_report(const millpond_simulation* simulation, size_t simulator,
                                void (*row)(void* state, const millpond_count* count), void* state) {
    simulation->all.tell(simulator, millpond::simulate::report(row, state));
}

void millpond_simulation_delete(millpond_simulation* simulation) {
    const millpond_system system = simulation->system;
    simulation->~millpond_simulation();
    system.release(simulation, sizeof(millpond_simulation));
}

}  // extern "C"
