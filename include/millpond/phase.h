/* SPDX-License-Identifier: BSL-1.0
 * phase: tells a recording where a phase of the program begins. For C and C++; needs no library and no other header.
 *
 *   millpond_phase("load")   …   millpond_phase("serve")   …   millpond_phase(0)
 *   └───────── load ────────────┘└───────── serve ────────────┘└─ no phase
 *
 * Use it for work whose memory differs: load, index, serve, one level of a game. `millpond advise` and the page then
 * have tables for each phase. Do not mark each of a million requests: a mark costs as much as a heap event.
 *
 * millpond_phase(name): begins a phase, and ends the one before. A phase belongs to the process, whichever thread marks
 * it; of two marks at the same moment, the later time stamp wins. The same name again is another stretch of that phase.
 * A child made by fork begins without a phase. `name`: any bytes before its zero; those after the first 255 are
 * dropped. Null or "" ends the phase. May be called in any thread, and in a signal handler if the source file has
 * called it before.
 *
 * Unless `millpond record` recorded this process, nothing happens: the first call in each source file (in C++: in the
 * program) looks for the recorder with dlsym, later ones load a pointer. A failed look-up shows in dlerror. Programs
 * that are linked statically, other systems than those with ELF files, and glibc before 2.34 without -ldl have no
 * phases. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__ELF__) && defined(__GNUC__)
/* A reference that does not make the linker search for dlsym. */
static void* millpond_phase_search(void* handle, const char* name) __attribute__((weakref("dlsym"), unused));
#endif

#ifdef __cplusplus
inline
#else
static inline
#endif
    void
    millpond_phase(const char* name) {
#if defined(__ELF__) && defined(__GNUC__)
    typedef void (*mark)(const char* begin, size_t bytes);
    static void* found; /* null: not looked for; its own address: there is no recorder */
    void* const none = &found;
    void* recorder = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (recorder == none) return;
    if (!recorder) {
        if (millpond_phase_search) recorder = millpond_phase_search(0, "millpond_record_phase"); /* 0: RTLD_DEFAULT */
        __atomic_store_n(&found, recorder ? recorder : none, __ATOMIC_RELAXED);
        if (!recorder) return;
    }
    mark begin_phase;
    __builtin_memcpy(&begin_phase, &recorder, sizeof recorder); /* ISO C has no cast from an object to a function */
    begin_phase(name, name ? __builtin_strlen(name) : 0);
#else
    (void)name;
#endif
}

#ifdef __cplusplus
}
#endif
