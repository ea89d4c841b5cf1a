// SPDX-License-Identifier: BSL-1.0
// make_golden FILE.mpt FILE.txt: writes the golden trace and its events as text. Run it only when the format changes.
#include <cstdio>

#include "lab/trace/dump.hpp"
#include "make_golden.hpp"

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: make_golden FILE.mpt FILE.txt\n");
        return 2;
    }
    millpond::test::make_golden(argv[1]);
    millpond::trace::reader trace(argv[1]);
    std::FILE* text = std::fopen(argv[2], "w");
    if (text == nullptr) return 4;
    millpond::trace::dump(trace, text);
    return std::fclose(text) == 0 ? 0 : 4;
}
