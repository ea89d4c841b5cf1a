// SPDX-License-Identifier: BSL-1.0
// elf_file: reads an ELF file's build-id, function symbols and call-frame entries, for the code in lab/symbols.
//
//   file ─▶ build-id (note) │ symbols (.symtab, .dynsym; the debug file's and .gnu_debugdata's by other objects) │ FDEs
//
// Use it through module_functions. Everything is read on demand; damage in one table affects only that table. Not
// thread-safe. Throws std::runtime_error if the file cannot be opened or is not an ELF file.
#pragma once

#include <libelf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millpond::symbols {

struct raw_symbol {
    std::uint64_t address, bytes;
    std::string name;
    unsigned char binding;  // STB_…
};

// The thread-local storage of a module: its size in bytes, and the alignment of its first byte.
struct thread_segment {
    std::uint64_t address, bytes, alignment;
};

struct address_range {
    std::uint64_t first, past;
};

class elf_file {
  public:
    explicit elf_file(const std::string& path);  // the whole file may be compressed by gzip, xz or zstd
    explicit elf_file(std::vector<char> image);  // a file in memory
    ~elf_file();
    elf_file(const elf_file&) = delete;
    elf_file& operator=(const elf_file&) = delete;

    std::string build_id() const;  // hex, or empty
    std::optional<thread_segment> thread_variables() const;
    void append_functions(std::vector<raw_symbol>& functions) const;
    // Sorted by address, without duplicates.
    std::vector<address_range> frame_entries() const;
    std::vector<address_range> code_sections() const;  // of executable sections, such as .plt and .text, sorted
    bool has_symbol_table() const;                     // .symtab, which strip removes
    bool has_debug_information() const;                // .debug_info, in itself
    // Returns the bytes of a section, or nothing.
    std::string_view section(std::string_view name) const;

  private:
    Elf_Scn* find_section(std::string_view name, std::uint64_t* address) const;

    int descriptor_ = -1;
    std::vector<char> image_;
    Elf* elf_ = nullptr;
};

}  // namespace millpond::symbols
