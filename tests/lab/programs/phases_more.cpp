// SPDX-License-Identifier: BSL-1.0
// phases_more: a source in C++ that marks a phase of the program `phases`.
#include <millpond/phase.h>

extern "C" void mark_in_cpp(const char* name);

void mark_in_cpp(const char* name) { millpond_phase(name); }
