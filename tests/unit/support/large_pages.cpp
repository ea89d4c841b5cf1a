// SPDX-License-Identifier: BSL-1.0
// large_pages: a preloaded library that makes a test program see pages of $MILLPOND_TEST_PAGE_BYTES, a power of 2 above
// the system's own.
//
//   program ─▶ sysconf, mmap, mprotect, madvise, munmap of this library ─▶ the system
//
// Ranges begin and end at a multiple of that size. A call whose address does not begin there is refused with EINVAL, as
// by a kernel with such pages. A file still ends with a page of the system: what follows that is not accessible.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

std::size_t page_bytes() noexcept {
    static const std::size_t bytes = [] {
        const char* const given = std::getenv("MILLPOND_TEST_PAGE_BYTES");
        return given == nullptr ? std::size_t{4096} : std::size_t{std::strtoul(given, nullptr, 10)};
    }();
    return bytes;
}

std::size_t whole_pages(std::size_t bytes) noexcept { return (bytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

bool is_aligned(const void* at) noexcept { return reinterpret_cast<std::uintptr_t>(at) % page_bytes() == 0; }

// Returns: the system's own function.
template <class Function>
Function* next(const char* name) noexcept {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int refuse() noexcept {
    errno = EINVAL;
    return -1;
}

}  // namespace

extern "C" {

long sysconf(int name) noexcept {
    if (name == _SC_PAGESIZE) return static_cast<long>(page_bytes());
    static auto* const real = next<long(int)>("sysconf");
    return real(name);
}

int getpagesize() noexcept { return static_cast<int>(page_bytes()); }

void* mmap(void* wanted, std::size_t bytes, int access, int flags, int descriptor, off_t offset) noexcept {
    static auto* const real = next<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
    static auto* const release = next<int(void*, std::size_t)>("munmap");
    const bool is_fixed = (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
    if (bytes == 0 || static_cast<std::size_t>(offset) % page_bytes() != 0 || (is_fixed && !is_aligned(wanted))) {
        refuse();
        return MAP_FAILED;
    }
    const std::size_t whole = whole_pages(bytes);
    if (whole < bytes) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    if (is_fixed) return real(wanted, whole, access, flags, descriptor, offset);
    // Takes a page more, and puts the mapping on the first multiple in it.
    void* const range = real(nullptr, whole + page_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (range == MAP_FAILED) return MAP_FAILED;
    char* const begin = static_cast<char*>(range);
    const std::size_t before = (0 - reinterpret_cast<std::uintptr_t>(begin)) % page_bytes();
    void* const mapped = real(begin + before, whole, access, flags | MAP_FIXED, descriptor, offset);
    if (mapped == MAP_FAILED) {
        const int why = errno;
        release(begin, whole + page_bytes());
        errno = why;
        return MAP_FAILED;
    }
    if (before != 0) release(begin, before);
    release(begin + before + whole, page_bytes() - before);
    return mapped;
}

int munmap(void* at, std::size_t bytes) noexcept {
    static auto* const real = next<int(void*, std::size_t)>("munmap");
    return is_aligned(at) ? real(at, whole_pages(bytes)) : refuse();
}

int mprotect(void* at, std::size_t bytes, int access) noexcept {
    static auto* const real = next<int(void*, std::size_t, int)>("mprotect");
    return is_aligned(at) ? real(at, whole_pages(bytes), access) : refuse();
}

int madvise(void* at, std::size_t bytes, int advice) noexcept {
    static auto* const real = next<int(void*, std::size_t, int)>("madvise");
    return is_aligned(at) ? real(at, whole_pages(bytes), advice) : refuse();
}

}  // extern "C"
