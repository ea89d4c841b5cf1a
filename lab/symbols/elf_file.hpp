// SPDX-License-Identifier: BSL-1.0
// elf_file: what symbols needs of an ELF file: its build-id, its function symbols and its call-frame entries.
//
//   file ─▶ build-id (note) │ symbols (.symtab, .dynsym; the debug file's and .gnu_debugdata's by other objects) │ FDEs
//
// Use it through module_functions. Everything is read when asked for; damage in one table costs that table, not the
// file. Not thread-safe. Throws std::runtime_error where the file cannot be opened or is no ELF file.
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

// What a module keeps for each thread: bytes, and how the address of the first is aligned.
struct thread_segment {
    std::uint64_t address, bytes, alignment;
};

struct address_range {
    std::uint64_t first, past;
};

class elf_file {
  public:
    explicit elf_file(const std::string& path);  // gzip, xz or zstd may have compressed the whole file
    explicit elf_file(std::vector<char> image);  // a file in memory
    ~elf_file();
    elf_file(const elf_file&) = delete;
    elf_file& operator=(const elf_file&) = delete;

    std::string build_id() const;  // hex, or empty
    std::optional<thread_segment> thread_variables() const;
    void append_functions(std::vector<raw_symbol>& functions) const;
    // Sorted by address, without duplicates.
    std::vector<address_range> frame_entries() const;
    bool has_symbol_table() const;       // .symtab, which strip removes
    bool has_debug_information() const;  // .debug_info, in itself
    // The bytes of a section, or nothing.
    std::string_view section(std::string_view name) const;

  private:
    Elf_Scn* find_section(std::string_view name, std::uint64_t* address) const;

    int descriptor_ = -1;
    std::vector<char> image_;
    Elf* elf_ = nullptr;
};

}  // namespace millpond::symbols
