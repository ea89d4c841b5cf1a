// SPDX-License-Identifier: BSL-1.0
// file_pages: pages as os::pages, whose memory is a file that grows with them. The file has a name, or lies in memory
// and is shared with other processes.
//
//   addresses │█ commit █│▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│  reserve: the range is mapped, and nothing in it may be touched yet
//                 ▲▼
//   file      │██████████│                    as long as the committed bytes; a decommit makes it shorter
//
//   create, open       a file with a name; it is kept
//   temporary          a file in a folder, whose name is removed at once; the system removes the file with the last
//                      process that has it open, also after a crash
//   shared             memory without a file (Linux: memfd); a forked child, and a process that adopts the descriptor,
//                      see the same bytes
//   adopt              the file behind another process's descriptor; it can be read and written, but not made longer
//
// Use it through file_region or, to look at a file as a whole, through basic_reservation<os::file_pages>. One object
// serves one reservation at a time. If a call fails, it returns null or false as those of os::pages do, and error()
// says why: no_such_file_or_directory, file_exists, permission_denied, no_space_on_device, file_too_large, …
//
// A commit gets the file's blocks from the file system, so a full disk is an error here and not a signal later. Two
// things remain a signal (SIGBUS): a disk that cannot be read, and another process that has made the file shorter.
// discard has no effect: the blocks stay in the file until a decommit. Contents reach the disk when the system writes
// them; fsync(descriptor()) waits for that.
//
// Complexity: one to three system calls; commit also O(bytes) inside the file system, in calls for 1 MiB each. Not
// thread-safe. Ownership: of the descriptor; move-only. Not on Windows, nor `shared` on systems without memfd: error()
// is function_not_supported. Implemented in src/os: link millpond::millpond.
//
// Example:
//     using millpond::os::file_pages;
//     millpond::basic_region<file_pages> ours(1 << 20, file_pages::shared("numbers"));
//     auto* const number = static_cast<int*>(ours.try_allocate(sizeof(int), alignof(int)));
//     // Another process has got the descriptor; it maps the file elsewhere, so it is told the block's offset.
//     millpond::basic_region<file_pages> theirs(1 << 20, file_pages::adopt(dup(ours.page_source().descriptor())));
//     if (number != nullptr) {
//         *number = 7;
//         assert(*static_cast<int*>(theirs.at(ours.offset_of(number))) == 7);
//     }
#pragma once

#include <cstddef>
#include <system_error>

#include "pages.hpp"

namespace millpond::os {

class file_pages {
  public:
    // Effects: has no file; every call that can fail does.
    file_pages() noexcept = default;

    // Returns: pages of a new file, readable and writable for this user only. Errors: file_exists and others of open.
    [[nodiscard]] static file_pages create(const char* path) noexcept;

    // Returns: pages of a file that exists.
    [[nodiscard]] static file_pages open(const char* path) noexcept;

    // Returns: pages of a new file in this folder, which has no name any more.
    [[nodiscard]] static file_pages temporary(const char* folder) noexcept;

    // Returns: pages of memory that other processes can map. `name` is shown in /proc only; two may have the same.
    [[nodiscard]] static file_pages shared(const char* name) noexcept;

    // Returns: pages of an open file, which another process makes longer and shorter. Ownership: takes the descriptor,
    // also if it is not usable; it must be open for reading and writing.
    [[nodiscard]] static file_pages adopt(int descriptor) noexcept;

    file_pages(file_pages&& other) noexcept;
    file_pages& operator=(file_pages&& other) noexcept;
    ~file_pages();

    // The same as in os::pages, for this memory.
    [[nodiscard]] static std::size_t size() noexcept { return pages::size(); }
    [[nodiscard]] static std::size_t granularity() noexcept { return pages::granularity(); }
    [[nodiscard]] void* reserve(std::size_t bytes) noexcept;
    [[nodiscard]] bool commit(void* at, std::size_t bytes) noexcept;
    static void populate(void*, std::size_t) noexcept {}
    [[nodiscard]] bool decommit(void* at, std::size_t bytes) noexcept;
    static void discard(void*, std::size_t) noexcept {}
    [[nodiscard]] bool set_writable(void* at, std::size_t bytes, bool writable) noexcept;
    static bool advise_huge(void* at, std::size_t bytes, bool wanted) noexcept {
        return pages::advise_huge(at, bytes, wanted);
    }
    static void release(void* at, std::size_t bytes) noexcept { pages::release(at, bytes); }

    // Returns: the length of the file in bytes; 0 without one. One system call.
    [[nodiscard]] std::size_t bytes() const noexcept;

    // Returns: the descriptor, to be passed to another process; -1 without a file.
    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

    // Returns: the reason for the latest refusal, or std::errc{} if nothing was refused.
    [[nodiscard]] std::errc error() const noexcept { return error_; }

  private:
    file_pages(int descriptor, bool is_adopted) noexcept;
    bool refuse(int error) noexcept;  // returns false

    int descriptor_ = -1;
    bool is_adopted_ = false;  // another process decides on the length
    std::errc error_{};
    const char* base_ = nullptr;  // of the latest reservation: the file's first byte
};

}  // namespace millpond::os
