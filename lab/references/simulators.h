// SPDX-License-Identifier: BSL-1.0
// simulators: what a capture asks of the simulators; lab/simulate/face.cpp answers. C and C++, freestanding.
//
//   system ──▶ millpond_simulation_new(rules) ──▶ add("direct:line=32,size=16K") … ──▶ take(batch) … ──▶ report(row)
//
// The simulators call nothing but the three functions of `system`, memcpy, memmove and memset. Memory depends on the
// caches and on the distinct lines and pages of the program, never on the number of references.
// A simulation is for one thread at a time.
#pragma once

#include <stddef.h>

#include "lab/references/reference.h"

#ifdef __cplusplus
extern "C" {
#endif

struct millpond_system {
    void* (*allocate)(size_t bytes);             // never null: it ends the process where there is no memory
    void (*release)(void* block, size_t bytes);  // what allocate gave, with the same size
    void (*fail)(const char* why);               // ends the process; does not return
};

// All zero: each access is one reference that misses at most once, as Cachegrind counts; nothing is flushed.
struct millpond_rules {
    uint64_t flush_references;    // empty every cache each time so many references were taken; 0: never
    uint64_t flush_instructions;  // the same for instructions, at the end of the batch in which they were reached
    uint32_t bytes_max;           // longer accesses count as so many bytes; 0: whole
    uint8_t straddle_twice;       // an access to two lines is two references, each of which may miss
    uint8_t modify_twice;         // a modification is a load and a store
    uint8_t instruction_set_max;  // 0: the best of this processor, 1: portable, 2: at most AVX2, 3: at most AVX-512
};

// One count of a report. What does not apply is zero, `origin` and `subject` all ones.
struct millpond_count {
    const char* metric;    // "references", "misses", "cold", …: docs of the simulator that reports it
    const char* unit;      // "references", "lines", "pages", "bytes"
    uint64_t cache_bytes;  // of which cache
    uint64_t sets;
    uint32_t ways;
    uint32_t line_bytes;
    uint32_t level;   // of a hierarchy: 1 is next to the processor
    uint32_t origin;  // millpond_of_program, …
    uint32_t subject;
    uint64_t distance;  // on a curve: in lines or pages
    uint64_t value;
};

struct millpond_simulation;

struct millpond_simulation* millpond_simulation_new(const struct millpond_system* system,
                                                    const struct millpond_rules* rules);
// Adds simulators by their description (lab/simulate/description.hpp has the grammar). Null, or why not.
const char* millpond_simulation_add(struct millpond_simulation* simulation, const char* description);
// `instructions`: how many the program executed for this batch.
void millpond_simulation_take(struct millpond_simulation* simulation, const struct millpond_reference* batch,
                              size_t count, uint64_t instructions);
// Empties every cache, as the rules do.
void millpond_simulation_flush(struct millpond_simulation* simulation);
size_t millpond_simulation_size(const struct millpond_simulation* simulation);
const char* millpond_simulation_description(const struct millpond_simulation* simulation, size_t simulator);
void millpond_simulation_report(const struct millpond_simulation* simulation, size_t simulator,
                                void (*row)(void* state, const struct millpond_count* count), void* state);
void millpond_simulation_delete(struct millpond_simulation* simulation);

#ifdef __cplusplus
}
#endif
