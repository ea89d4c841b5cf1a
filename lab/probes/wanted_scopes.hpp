// SPDX-License-Identifier: BSL-1.0
// wanted_scopes: the functions to observe, as the environment names them to a recorded process.
//
//   MILLPOND_SCOPES=1000000;1c9f04aa…:4a30;/opt/lib/libx.so:11c0
//                   │       └ build-id or file : address in the file, both in hexadecimal
//                   └ after so many entries a function is no longer observed
//
// Names are not needed: the trace finds them by module and address. Read once for a process image. Allocates nothing.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace millpond::probes {

inline constexpr char scopes_variable[] = "MILLPOND_SCOPES";

struct wanted_scope {
    const char* module;  // build-id in hexadecimal, or a path; not ended by 0
    std::size_t module_length;
    std::uintptr_t offset;

    // Returns whether this is the named module, and has code at that address.
    [[nodiscard]] bool is_in(const dl_phdr_info& module) const noexcept;
};

// The addresses of a module.
struct code_range {
    std::uintptr_t first, last;

    static code_range of(const dl_phdr_info& module) noexcept;
};

class wanted_scopes {
  public:
    static constexpr unsigned scopes_max = 256;

    // Reads this process's variable; false if it is not set, or names nothing.
    bool read() noexcept;

    [[nodiscard]] unsigned count() const noexcept { return count_; }
    [[nodiscard]] const wanted_scope& at(unsigned i) const noexcept { return scopes_[i]; }
    [[nodiscard]] std::uint64_t entries_max() const noexcept { return entries_max_; }

  private:
    static constexpr std::size_t text_bytes = std::size_t{64} << 10;

    char text_[text_bytes] = {};
    wanted_scope scopes_[scopes_max] = {};
    unsigned count_ = 0;
    std::uint64_t entries_max_ = 0;
};

}  // namespace millpond::probes
