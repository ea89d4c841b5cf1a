// SPDX-License-Identifier: BSL-1.0
// os/pages.hpp for POSIX systems; Linux where they differ.
#if !defined(_WIN32)

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "millpond/os/pages.hpp"

namespace millpond::os {
namespace {

// An allocator is called between a failed call and the look at errno as often as anywhere.
class errno_kept {
  public:
    errno_kept() noexcept = default;
    errno_kept(const errno_kept&) = delete;
    errno_kept& operator=(const errno_kept&) = delete;
    ~errno_kept() { errno = before_; }

  private:
    int before_ = errno;
};

constexpr int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;

}  // namespace

std::size_t pages::size() noexcept { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::size_t pages::granularity() noexcept { return size(); }

// Without MAP_NORESERVE: what is inaccessible costs no charge, and a commit is refused where it cannot be kept.
void* pages::reserve(std::size_t bytes) noexcept {
    const errno_kept kept;
    void* const range = mmap(nullptr, bytes, PROT_NONE, anonymous, -1, 0);
    return range == MAP_FAILED ? nullptr : range;
}

bool pages::commit(void* at, std::size_t bytes) noexcept {
    const errno_kept kept;
    return mprotect(at, bytes, PROT_READ | PROT_WRITE) == 0;
}

void pages::populate([[maybe_unused]] void* at, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__)
    // MADV_POPULATE_WRITE, since Linux 5.14; the headers may be older than the kernel, or the kernel than the headers.
    constexpr int populate_write = 23;
    const errno_kept kept;
    madvise(at, bytes, populate_write);
#endif
}

// A new mapping in place of the old one: mprotect alone would keep the charge.
bool pages::decommit(void* at, std::size_t bytes) noexcept {
    const errno_kept kept;
    return mmap(at, bytes, PROT_NONE, anonymous | MAP_FIXED, -1, 0) != MAP_FAILED;
}

void pages::discard(void* at, std::size_t bytes) noexcept {
    const errno_kept kept;
#if defined(__linux__)
    // Locked pages cannot be given back, and are to read as zero all the same.
    if (madvise(at, bytes, MADV_DONTNEED) != 0) std::memset(at, 0, bytes);
#else
    // Elsewhere MADV_DONTNEED may keep the contents.
    mmap(at, bytes, PROT_READ | PROT_WRITE, anonymous | MAP_FIXED, -1, 0);
#endif
}

void pages::let_go([[maybe_unused]] void* at, [[maybe_unused]] std::size_t bytes) noexcept {
    const errno_kept kept;
#if defined(__linux__)
    madvise(at, bytes, MADV_DONTNEED);
#elif defined(MADV_FREE)
    madvise(at, bytes, MADV_FREE);
#endif
}

bool pages::advise_huge([[maybe_unused]] void* at, [[maybe_unused]] std::size_t bytes,
                        [[maybe_unused]] bool wanted) noexcept {
#if defined(MADV_HUGEPAGE)
    const errno_kept kept;
    return madvise(at, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) == 0;
#else
    return false;
#endif
}

void pages::release(void* at, std::size_t bytes) noexcept {
    const errno_kept kept;
    munmap(at, bytes);
}

}  // namespace millpond::os

#endif
