// SPDX-License-Identifier: BSL-1.0
// module_facts: finds out whether an executable or library contains a sanitizer, or its own malloc, which a preloaded
// one does not replace.
//
//   DT_NEEDED: libasan.so.8 ─┐                      exported malloc, linked with -Bsymbolic ─┐
//   symbols: __asan_init    ─┴─▶ AddressSanitizer   hidden malloc, je_malloc, mi_malloc …   ─┴─▶ own malloc
//
// Use it before a program is started under a preloaded library, and to report afterwards whose events are missing.
// Reads only the symbol tables, O(symbols). A stripped file shows only its exports and imports; a file that is not ELF
// has no facts. Thread-safe.
#pragma once

#include <string>

namespace millpond::measure {

struct module_facts {
    enum class malloc_kind {
        none,     // its calls reach a preloaded malloc
        bound,    // exports malloc and calls it past every other definition
        internal  // has an allocator that it does not export as malloc
    };

    std::string sanitizer;  // "AddressSanitizer", …; empty: no sanitizer whose runtime replaces malloc
    malloc_kind own_malloc = malloc_kind::none;
    std::string allocator;  // the function's name, if there is one
};

module_facts facts_of_module(const std::string& path);

}  // namespace millpond::measure
