// SPDX-License-Identifier: BSL-1.0
// embedded_symbols: the symbol table that some distributions leave in stripped files, xz-compressed in .gnu_debugdata.
//
// Use it through module_functions. O(bytes). A build without liblzma finds nothing here; so does a damaged section.
#pragma once

#include <vector>

#include "lab/symbols/elf_file.hpp"

namespace millpond::symbols {

void append_embedded_symbols(const elf_file& file, std::vector<raw_symbol>& functions);

}  // namespace millpond::symbols
