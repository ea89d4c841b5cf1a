// SPDX-License-Identifier: BSL-1.0
// call_site: the place of a call, kept as its return address and printed so that addr2line finds the line.
//
//   0x55d0c2a013f7 (program+0x13f7)  ──  addr2line -Cfe program 0x13f7  ──▶  function and line
//
// checked notes one for each allocation and each free, and reports them with a misuse. An address costs one word and
// one instruction. Its module is looked up only when it is printed, in /proc/self/maps if that file exists.
//
// write: O(mappings of the process), reads one file. Thread-safe.
//
// Example:
//     const millpond::call_site here(__builtin_return_address(0));
//     char text[200];
//     here.write(text, sizeof text);
#pragma once

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI {

class call_site {
  public:
    constexpr call_site() noexcept = default;
    constexpr explicit call_site(const void* return_address) noexcept : return_address_(return_address) {}

    [[nodiscard]] const void* return_address() const noexcept { return return_address_; }
    [[nodiscard]] explicit operator bool() const noexcept { return return_address_ != nullptr; }

    // Effects: writes the site into `text`: at most `size` characters, including the terminating zero.
    void write(char* text, std::size_t size) const noexcept {
        if (return_address_ == nullptr) {
            std::snprintf(text, size, "(unknown)");
            return;
        }
        // One byte earlier lies in the call itself, and so on its line.
        const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(return_address_) - 1;
        char name[128];
        if (const std::uintptr_t start = module_of(address, name, sizeof name); start != 0) {
            std::snprintf(text, size, "0x%" PRIxPTR " (%s+0x%" PRIxPTR ")", address, name, address - start);
        } else {
            std::snprintf(text, size, "0x%" PRIxPTR, address);
        }
    }

  private:
    // Returns: the start of the file mapped at `address`, and its name without folders; 0 if no file is mapped there.
    [[nodiscard]] static std::uintptr_t module_of(std::uintptr_t address, char* name, std::size_t size) noexcept {
        std::FILE* const maps = std::fopen("/proc/self/maps", "re");
        if (maps == nullptr) return 0;
        std::uintptr_t found = 0, first_of_file = 0;
        char line[512], file[512], previous[512] = "";
        while (found == 0 && std::fgets(line, sizeof line, maps) != nullptr) {
            std::uintptr_t begin = 0, end = 0;
            file[0] = '\0';
            const int fields = std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %511s", &begin, &end, file);
            if (fields < 2) continue;
            if (file[0] == '/' && std::strcmp(file, previous) != 0) {
                std::strcpy(previous, file);
                first_of_file = begin;
            }
            if (address < begin || address >= end || file[0] != '/') continue;
            const char* const last = std::strrchr(file, '/');
            std::snprintf(name, size, "%s", last + 1);
            found = first_of_file;
        }
        std::fclose(maps);
        return found;
    }

    const void* return_address_ = nullptr;
};

}  // namespace millpond::inline MILLPOND_ABI
