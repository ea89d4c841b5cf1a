// SPDX-License-Identifier: BSL-1.0
// din_writer: writes references as Dinero's din text, with sizes.
//
//   0 7fe0 8      a load: label, address, bytes, the last two in hexadecimal; a store is 1
//
// A modification is written as a load and a store, because din has no label for it. Origin, subject and instructions
// are left out. A reader that counts modifications twice gets the same references back. Not thread-safe.
#pragma once

#include <cstddef>
#include <string>

#include "lab/program/aside_file.hpp"
#include "lab/references/reference.h"

namespace millpond::simulate {

class din_writer {
  public:
    // The file appears at `path` only with commit(). All members throw program::failure (environment).
    explicit din_writer(const std::string& path) : file_(path) {}

    void take(const millpond_reference* batch, std::size_t count);
    void commit();

  private:
    void write_line(char label, const millpond_reference& r);

    program::aside_file file_;
    std::string text_;
};

}  // namespace millpond::simulate
