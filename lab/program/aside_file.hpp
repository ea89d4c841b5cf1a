// SPDX-License-Identifier: BSL-1.0
// aside_file: a file that is written next to its place and appears there whole or not at all.
//
//   PATH.PID.partial, made by us and by no one else ──write──▶ ──commit: rename──▶ PATH
//                                                    └── no commit ──▶ removed
//
// A device or a FIFO at PATH is written to in place, and never replaced or removed. A file that has the name of the
// partial one already is left alone: another name is taken. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace millpond::program {

class aside_file {
  public:
    // Throws failure (environment), as all of these, where nothing can be written there.
    explicit aside_file(std::string path);
    aside_file(const aside_file&) = delete;
    aside_file& operator=(const aside_file&) = delete;
    ~aside_file();

    // Appends.
    void write(std::string_view content);
    // Writes over what stands at `offset`. Always throws for a FIFO.
    void write_at(std::uint64_t offset, std::string_view content);
    // Gives the file its name. Nothing may follow.
    void commit();

  private:
    void remove_own() const noexcept;

    const std::string path_;
    std::string partial_;  // empty: written in place
    int descriptor_ = -1;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

// Writes all of `content` to an open file. False, with errno set, where that failed.
bool write_all(int descriptor, std::string_view content);

// Writes `content` to `path` whole or not at all. Throws failure.
void write_whole(const std::string& path, std::string_view content);

// The same, and to standard output where `path` is "-". Throws failure.
void write_or_print(const std::string& path, const std::string& content);

// Proves that write_whole can make a file there, and leaves nothing behind. Throws failure.
void prove_writable(const std::string& path);

}  // namespace millpond::program
