// SPDX-License-Identifier: BSL-1.0
// hostile: traces that lie. A checksum guards against accidents only, so here it is put right after every change, and
// the lie reaches the decoders.
#pragma once

#include <cstdint>
#include <string>

namespace millpond::test {

// Walks the headers in `bytes` as a reader would, and makes each block's lengths consistent and its checksum hold.
void reseal(std::string& bytes);

// Opens and reads the trace to its end, and checks what every consumer relies on: contexts that exist, walks to the
// outside that end, alignments that can be shifted by. Returns the number of events; throws trace_error where none can
// be read, std::logic_error where a promise is broken.
std::uint64_t read_and_check(const std::string& path);

// A file without a disk, for what opens thousands of them.
class memory_file {
  public:
    memory_file();
    ~memory_file();
    memory_file(const memory_file&) = delete;
    memory_file& operator=(const memory_file&) = delete;
    void write(const std::string& bytes);
    std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  private:
    int descriptor_;
};

}  // namespace millpond::test
