// SPDX-License-Identifier: BSL-1.0
// unknown_instruction: finds the extension that an x86-64 instruction belongs to, and the compiler's flag for it.
//
// Knows the extensions that Valgrind cannot run. A pure function of the instruction's bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace millpond::references {

struct instruction_set_extension {
    std::string_view name, flag;  // both empty: not a known extension
};

instruction_set_extension extension_of(std::span<const std::uint8_t> instruction);

}  // namespace millpond::references
