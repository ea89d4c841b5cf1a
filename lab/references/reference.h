// SPDX-License-Identifier: BSL-1.0
// reference: one data access of a program, as captures, traces and simulators exchange it.
#pragma once

#include <stdint.h>

enum millpond_reference_kind { millpond_load = 0, millpond_store = 1, millpond_modify = 2 };
enum millpond_reference_origin { millpond_of_program = 0, millpond_of_allocator = 1, millpond_of_system = 2 };

struct millpond_reference {
    uint64_t address;
    uint32_t subject;
    uint16_t bytes;
    uint8_t kind;
    uint8_t origin;
};
