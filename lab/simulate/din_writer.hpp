// SPDX-License-Identifier: BSL-1.0
// din_writer: references as Dinero's din text, with sizes.
//
//   0 7fe0 8      a load: label, address, bytes, the last two in hexadecimal; a store is 1
//
// A modification is written as a load and a store, because din has no word for it. Origin and subject are left out; so
// are instructions. Reading it back gives the same references where modifications count twice. Not thread-safe.
#pragma once

#include <cstddef>
#include <string>

#include "lab/program/aside_file.hpp"
#include "lab/references/reference.h"

namespace millpond::simulate {

class din_writer {
  public:
    // Appears at `path` by commit() alone. Throws program::failure (environment), as the others do.
    explicit din_writer(const std::string& path) : file_(path) {}

    void take(const millpond_reference* batch, std::size_t count);
    void commit();

  private:
    void write_line(char label, const millpond_reference& r);

    program::aside_file file_;
    std::string text_;
};

}  // namespace millpond::simulate
