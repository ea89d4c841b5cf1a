// SPDX-License-Identifier: BSL-1.0
// hostile: traces with false content. A checksum guards only against accidents, so it is corrected here after every
// change, and the false content reaches the decoders.
#pragma once

#include <cstdint>
#include <string>

namespace millpond::test {

// Walks the headers in `bytes` as a reader would, and makes each block's lengths consistent and its checksum hold.
void reseal(std::string& bytes);

// Reads the trace to its end and checks the promises to its consumers: contexts exist, walks to the outside end,
// alignments can be shifted by. Returns the number of events. Throws trace_error if nothing can be read,
// std::logic_error if a promise is broken.
std::uint64_t read_and_check(const std::string& path);

// A file in memory, for tests that open thousands of files.
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
