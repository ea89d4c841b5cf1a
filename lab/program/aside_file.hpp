// SPDX-License-Identifier: BSL-1.0
// aside_file: writes a file under another name next to its path; it appears at the path whole or not at all.
//
//   PATH.PID.partial, a new file of ours ──write──▶ ──commit: rename──▶ PATH
//                                                    └── no commit ──▶ removed
//
// A device or a FIFO at PATH is written in place, and never replaced or removed. If a file already has the name of the
// partial one, it stays, and another name is used. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace millpond::program {

class aside_file {
  public:
    // Throws failure (environment), as do all of these, if writing fails.
    explicit aside_file(std::string path);
    aside_file(const aside_file&) = delete;
    aside_file& operator=(const aside_file&) = delete;
    ~aside_file();

    // Appends.
    void write(std::string_view content);
    // Writes at `offset` over earlier content. Always throws for a FIFO.
    void write_at(std::uint64_t offset, std::string_view content);
    // Gives the file its name. No call may follow.
    void commit();

  private:
    void remove_own() const noexcept;

    const std::string path_;
    std::string partial_;  // empty: written in place
    int descriptor_ = -1;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

// Writes all of `content` to an open file. False, with errno set, if that fails.
bool write_all(int descriptor, std::string_view content);

// Writes `content` to `path` whole or not at all. Throws failure.
void write_whole(const std::string& path, std::string_view content);

// The same; writes to standard output if `path` is "-". Throws failure.
void write_or_print(const std::string& path, const std::string& content);

// Checks that write_whole can make a file there, and leaves nothing behind. Throws failure.
void prove_writable(const std::string& path);

}  // namespace millpond::program
