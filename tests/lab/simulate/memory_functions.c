// SPDX-License-Identifier: BSL-1.0
// The three functions that a compiler expects to exist, for freestanding.cpp; and the simulators' header compiled as C.
#include "lab/references/simulators.h"

_Static_assert(sizeof(struct millpond_reference) == 16, "captures and traces lay references out in 16 bytes");

void* memset(void* to, int value, size_t count) {
    for (size_t i = 0; i < count; ++i) ((volatile char*)to)[i] = (char)value;
    return to;
}

void* memcpy(void* to, const void* from, size_t count) {
    for (size_t i = 0; i < count; ++i) ((volatile char*)to)[i] = ((const char*)from)[i];
    return to;
}

void* memmove(void* to, const void* from, size_t count) {
    if ((const char*)to <= (const char*)from) return memcpy(to, from, count);
    while (count-- > 0) ((volatile char*)to)[count] = ((const char*)from)[count];
    return to;
}
