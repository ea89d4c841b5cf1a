// SPDX-License-Identifier: BSL-1.0
// simulators: the C interface of the simulators that a capture uses; lab/simulate/face.cpp implements it. C and C++,
// freestanding.
//
//   system ──▶ millpond_simulation_new(rules) ──▶ add("direct:line=32,size=16K") … ──▶ take(batch) … ──▶ report(row)
//
// The simulators call only the three functions of `system`, and memcpy, memmove and memset. Memory depends on the
// caches and on the program's distinct lines and pages, not on the number of references.
// A simulation may be used by one thread at a time.
#pragma once

#include <stddef.h>

#include "lab/references/reference.h"

#ifdef __cplusplus
extern "C" {
#endif

struct millpond_system {
    void* (*allocate)(size_t bytes);             // never null: ends the process if there is no memory
    void (*release)(void* block, size_t bytes);  // `block` and `bytes` as in allocate
    void (*fail)(const char* why);               // ends the process; does not return
};

// Rules for counting. All zero: each access is one reference that misses at most once, as in Cachegrind; no flushes.
struct millpond_rules {
    uint64_t flush_references;    // empty every cache after each so many references; 0: never
    uint64_t flush_instructions;  // the same for instructions, at the end of the batch that reaches them
    uint32_t bytes_max;           // longer accesses count as this many bytes; 0: unlimited
    uint8_t straddle_twice;       // an access to two lines counts as two references, each of which may miss
    uint8_t modify_twice;         // a modification counts as a load and a store
    uint8_t instruction_set_max;  // 0: the best of this processor, 1: portable, 2: at most AVX2, 3: at most AVX-512
};

// One count of a report. Fields that do not apply are zero; `origin` and `subject` are then all ones.
struct millpond_count {
    const char* metric;    // "references", "misses", "cold", …: see the simulator that reports it
    const char* unit;      // "references", "lines", "pages", "bytes"
    uint64_t cache_bytes;  // size of the cache
    uint64_t sets;
    uint32_t ways;
    uint32_t line_bytes;
    uint32_t level;   // in a hierarchy: 1 is next to the processor
    uint32_t origin;  // millpond_of_program, …
    uint32_t subject;
    uint64_t distance;  // a point of a curve: in lines or pages
    uint64_t value;
};

struct millpond_simulation;

struct millpond_simulation* millpond_simulation_new(const struct millpond_system* system,
                                                    const struct millpond_rules* rules);
// Adds a simulator by its description (grammar: lab/simulate/description.hpp). Returns null, or why it is wrong.
const char* millpond_simulation_add(struct millpond_simulation* simulation, const char* description);
// `instructions`: the number that the program executed in this batch.
void millpond_simulation_take(struct millpond_simulation* simulation, const struct millpond_reference* batch,
                              size_t count, uint64_t instructions);
// Empties every cache, as a flush by the rules does.
void millpond_simulation_flush(struct millpond_simulation* simulation);
size_t millpond_simulation_size(const struct millpond_simulation* simulation);
const char* millpond_simulation_description(const struct millpond_simulation* simulation, size_t simulator);
void millpond_simulation_report(const struct millpond_simulation* simulation, size_t simulator,
                                void (*row)(void* state, const struct millpond_count* count), void* state);
void millpond_simulation_delete(struct millpond_simulation* simulation);

#ifdef __cplusplus
}
#endif
