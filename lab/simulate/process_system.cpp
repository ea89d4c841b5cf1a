// SPDX-License-Identifier: BSL-1.0
// Implements the simulators' three host functions with malloc and free.
#include "lab/simulate/process_system.hpp"

#include <cstdlib>
#include <new>

#include "lab/program/program.hpp"

namespace millpond::simulate {
namespace {

void* allocate(size_t bytes) {
    void* const block = std::malloc(bytes);
    if (block == nullptr) throw std::bad_alloc();
    return block;
}

void release(void* block, size_t) { std::free(block); }

void fail(const char* why) { throw program::failure(program::environment, why); }

}  // namespace

const millpond_system process_system = {allocate, release, fail};

}  // namespace millpond::simulate
