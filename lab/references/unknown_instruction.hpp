// SPDX-License-Identifier: BSL-1.0
// unknown_instruction: the extension to which an instruction of x86-64 belongs, and the compiler's flag for it.
//
// Knows the extensions that Valgrind does not run. A pure function of the instruction's bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace millpond::references {

struct instruction_set_extension {
    std::string_view name, flag;  // both empty: none of these
};

instruction_set_extension extension_of(std::span<const std::uint8_t> instruction);

}  // namespace millpond::references
