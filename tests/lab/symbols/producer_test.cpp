// SPDX-License-Identifier: BSL-1.0
// producer: languages and standards as compilers write them into debug information.
#include "lab/symbols/producer.hpp"

#include <gtest/gtest.h>

#include <string>

namespace millpond::test {
namespace {

using symbols::language_of;

struct unit_case {
    int language;
    const char* producer;
    const char *name, *standard;
};

TEST(producer, names_language_and_standard) {
    const unit_case cases[] = {
        {0x1d, "GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -O2", "C", "C17"},
        {0xc, "GNU C99 12.2.0 -std=c99", "C", "C99"},
        {0x1, "GNU C89 12.2.0 -ansi", "C", "C89"},
        {0x21, "GNU C++17 12.2.0 -mtune=generic -g", "C++", "C++17"},
        {0x21, "GNU C++20 12.2.0 -std=gnu++20", "C++", "C++20"},
        {0x4, "GNU C++98 12.2.0", "C++", "C++98"},
        {0x4, "GNU C++ 4.8.5", "C++", ""},
        {0x21, "Debian clang version 19.1.7", "C++", ""},
        {0x21, "clang version 19.1.7 --driver-mode=g++ -O1 -std=c++2a -g", "C++", "C++20"},
        {0x1d, "clang version 19.1.7 -std=gnu11 -g", "C", "C11"},
        {0x2, "clang version 19.1.7 -std=gnu2x", "C", "C23"},
        {0x1c, "clang LLVM (rustc version 1.80.0)", "Rust", ""},
        {0x16, "Go cmd/compile go1.21", "Go", ""},
        {0x7fff, "unknown producer", "", ""},
        {0x21, "", "C++", ""},
        {0x21, "GNU C++", "C++", ""},
        {0x21, "x -std=", "C++", ""},
    };
    for (const unit_case& one : cases) {
        const symbols::source_language found = language_of(one.language, one.producer);
        EXPECT_EQ(found.name, one.name) << one.producer;
        EXPECT_EQ(found.standard, one.standard) << one.producer;
    }
}

}  // namespace
}  // namespace millpond::test
