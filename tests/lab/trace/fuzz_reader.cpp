// SPDX-License-Identifier: BSL-1.0
// fuzz_reader: libFuzzer on the reader. Half of the inputs are read as they are, half with their checksums put right.
// cmake -DMILLPOND_FUZZ=ON (clang); then fuzz_reader CORPUS_DIR, seeded with tests/golden/three_threads.mpt.
#include <cstdint>
#include <string>

#include "hostile.hpp"
#include "lab/trace/reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static millpond::test::memory_file file;
    if (size == 0) return 0;
    std::string bytes(reinterpret_cast<const char*>(data), size);
    if (data[size - 1] & 1) millpond::test::reseal(bytes);
    file.write(bytes);
    try {
        millpond::test::read_and_check(file.path());
    } catch (const millpond::trace::trace_error&) {
        return 0;  // refused: as good as read
    }
    return 0;
}
