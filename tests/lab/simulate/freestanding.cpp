// SPDX-License-Identifier: BSL-1.0
// A program without a C or C++ library, and so without start-up code. It fails to link if the simulators need more than
// the three functions and memcpy, memmove and memset; a value set by a static constructor would be zero.
#include "lab/references/simulators.h"

extern "C" [[noreturn]] void _start();

namespace {

alignas(64) char memory[16 << 20];
size_t used = 0;

[[noreturn]] void end(int status) {
    __asm__ volatile("syscall" : : "a"(60), "D"(status) : "rcx", "r11", "memory");
    __builtin_unreachable();
}

void* allocate(size_t bytes) {
    void* const block = memory + used;
    used += (bytes + 15) / 16 * 16;
    if (used > sizeof memory) end(2);
    return block;
}
void release(void*, size_t) {}
void fail(const char*) { end(3); }

constexpr const char* descriptions[] = {"direct:line=32,size=1K/4K",
                                        "lru:line=32,sets=4-64,ways=8",
                                        "fifo:size=2K,ways=2",
                                        "random:size=2K,ways=4",
                                        "distances:line=64",
                                        "sampled:one_in=3",
                                        "levels:size=1K/4K,ways=2/4,inclusion=exclusive",
                                        "tlb:entries=4/16,ways=4/4",
                                        "attributed:size=1K,ways=2",
                                        "contents:size=1K,ways=2"};

uint64_t sum_of_values(const millpond_simulation* simulation) {
    uint64_t sum = 0;
    for (size_t i = 0; i < millpond_simulation_size(simulation); ++i) {
        millpond_simulation_report(
            simulation, i, [](void* to, const millpond_count* row) { *static_cast<uint64_t*>(to) += row->value; },
            &sum);
    }
    return sum;
}

// Returns the result of a simulation with an instruction set; it must be the same for each.
uint64_t simulated(uint8_t instruction_set) {
    used = 0;
    const millpond_system system = {allocate, release, fail};
    millpond_rules rules = {};
    rules.instruction_set_max = instruction_set;
    millpond_simulation* const simulation = millpond_simulation_new(&system, &rules);
    for (const char* const description : descriptions) {
        if (millpond_simulation_add(simulation, description) != nullptr) end(4);
    }
    uint64_t drawn = 88172645463325252u;
    for (int i = 0; i < 20000; ++i) {
        drawn ^= drawn << 13;
        drawn ^= drawn >> 7;
        drawn ^= drawn << 17;
        const millpond_reference r = {drawn % 30000, static_cast<uint32_t>(drawn >> 60), 8, millpond_load, 0};
        millpond_simulation_take(simulation, &r, 1, 1);
    }
    const uint64_t sum = sum_of_values(simulation);
    millpond_simulation_delete(simulation);
    return sum;
}

}  // namespace

// Starts the program; it is called without a return address, so the stack is aligned as functions expect it.
[[gnu::force_align_arg_pointer]] void _start() {
    const uint64_t portable = simulated(1);
    end(portable != 0 && simulated(2) == portable && simulated(3) == portable ? 0 : 1);
}
