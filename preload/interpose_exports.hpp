// SPDX-License-Identifier: BSL-1.0
// interpose_exports: the one malloc-family layer. Every malloc, free, operator new and delete of a program enters here
// and goes on, checked and in one form, to `millpond::preload::backend`.
//
// Include it in exactly one source of a preloaded library, after `namespace millpond::preload { using backend = …; }`.
// The backend has a type `call_site`, of call_site.hpp, and, all static and noexcept:
//   void* allocate(size_t bytes, const call_site&);          void* allocate_zeroed(size_t bytes, const call_site&);
//   void* allocate_aligned(size_t alignment, size_t bytes, const call_site&);
//   void* reallocate(void* old, size_t bytes, const call_site&);   // old is never null
//   void deallocate(void* p);  size_t usable_size(void* p);        // p is never null
//   or void deallocate(void* p, const call_site&);
// It may have one more, for operator new: like allocate, but a failure is retried through next_new, which throws.
//   void* allocate_for_new(size_t bytes, const call_site&);        // not noexcept
// A call that does not concern the backend goes on to the program's own malloc, before anything is done for it: a
// backend that sleeps at times has bool is_asleep(), and one that chooses has
//   bool passes(size_t bytes);  bool passes(void* p);  bool passes(void* old, size_t bytes);
// A null from an allocating function is a failure with errno set. This layer, and no other, decides the meaning of a
// call for errno, overflow, alignment and null, as the C library does.
#pragma once

#include <errno.h>
#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "millpond/os/pages.hpp"
#include "preload/call_site.hpp"
#include "preload/caller_words.hpp"
#include "preload/dlopen_exports.hpp"
#include "preload/next_new.hpp"
#include "preload/real.hpp"

#pragma GCC visibility push(default)

namespace millpond::preload {

using entry_site = backend::call_site;

[[gnu::always_inline]] inline bool multiply_overflows(std::size_t a, std::size_t b, std::size_t& product) noexcept {
    if (!__builtin_mul_overflow(a, b, &product)) [[likely]]
        return false;
    errno = ENOMEM;
    return true;
}

template <class Backend = backend, class... Arguments>
[[gnu::always_inline]] inline bool passes(Arguments... arguments) noexcept {
    if constexpr (requires { Backend::passes(arguments...); })
        return Backend::passes(arguments...);
    else if constexpr (requires { Backend::is_asleep(); })
        return Backend::is_asleep();
    else
        return false;
}

[[gnu::always_inline]] inline void* allocate_here(std::size_t bytes) noexcept {
    if (passes(bytes)) [[unlikely]]
        return real::allocate_once(bytes);
    return backend::allocate(bytes, entry_site::here());
}

[[gnu::always_inline]] inline void* allocate_aligned_here(std::size_t alignment, std::size_t bytes) noexcept {
    if (passes(bytes)) [[unlikely]]
        return real::allocate_aligned_once(alignment, bytes);
    return backend::allocate_aligned(alignment, bytes, entry_site::here());
}

// A backend whose deallocate takes a site gets the site of the free.
template <class Backend = backend>
[[gnu::always_inline]] inline void deallocate_at(void* p) noexcept {
    if constexpr (requires(entry_site site) { Backend::deallocate(p, site); })
        Backend::deallocate(p, entry_site::here());
    else
        Backend::deallocate(p);
}

[[gnu::always_inline]] inline void* reallocate_here(void* old, std::size_t bytes) noexcept {
    if (passes(old, bytes)) [[unlikely]]
        return real::reallocate_once(old, bytes);
    if (old == nullptr) return backend::allocate(bytes, entry_site::here());
    if (bytes == 0 && real::is_libc()) {  // as the C library does; other providers decide themselves
        deallocate_at(old);
        return nullptr;
    }
    return backend::reallocate(old, bytes, entry_site::here());
}

template <class Backend = backend>
[[gnu::always_inline]] inline void* allocate_for_new(std::size_t bytes, const entry_site& site) {
    if constexpr (requires { Backend::allocate_for_new(bytes, site); }) {
        return Backend::allocate_for_new(bytes, site);
    } else {
        void* const p = Backend::allocate(bytes, site);
        return p != nullptr ? p : next_new(bytes);
    }
}

[[gnu::always_inline]] inline void* pass_new(std::size_t bytes) {
    void* const p = real::allocate_once(bytes);
    return p != nullptr ? p : next_new(bytes);
}

// The program's own free tests for null itself, so a call that passes is not tested twice.
[[gnu::always_inline]] inline void free_at(void* p) noexcept {
    if (passes(p)) [[unlikely]]
        return real::deallocate_once(p);
    if (p != nullptr) deallocate_at(p);
}

}  // namespace millpond::preload

#ifdef MILLPOND_SLEEPS
// The entries of caller_words.hpp continue here while the backend sleeps.
extern "C" {
[[gnu::visibility("hidden"), gnu::used]] void* millpond_pass_malloc(std::size_t bytes) noexcept {
    return millpond::preload::real::allocate_once(bytes);
}
[[gnu::visibility("hidden"), gnu::used]] void* millpond_pass__Znwm(std::size_t bytes) {
    return millpond::preload::pass_new(bytes);
}
[[gnu::visibility("hidden"), gnu::used]] void* millpond_pass__Znam(std::size_t bytes) {
    return millpond::preload::pass_new(bytes);
}
}
#endif

MILLPOND_HOOK(malloc, extern "C" void* malloc(std::size_t bytes)) noexcept {
    if (millpond::preload::passes(bytes)) [[unlikely]]
        return millpond::preload::real::allocate_once(bytes);
    return millpond::preload::backend::allocate(bytes, MILLPOND_HOOK_SITE);
}

extern "C" {

void free(void* p) noexcept { millpond::preload::free_at(p); }
void free_sized(void* p, std::size_t) noexcept { millpond::preload::free_at(p); }
void free_aligned_sized(void* p, std::size_t, std::size_t) noexcept { millpond::preload::free_at(p); }

void* calloc(std::size_t count, std::size_t bytes) noexcept {
    std::size_t product;
    if (millpond::preload::multiply_overflows(count, bytes, product)) return nullptr;
    if (millpond::preload::passes(product)) [[unlikely]]
        return millpond::preload::real::allocate_zeroed_once(product);
    return millpond::preload::backend::allocate_zeroed(product, millpond::preload::entry_site::here());
}

void* realloc(void* old, std::size_t bytes) noexcept { return millpond::preload::reallocate_here(old, bytes); }

void* reallocarray(void* old, std::size_t count, std::size_t bytes) noexcept {
    std::size_t product;
    if (millpond::preload::multiply_overflows(count, bytes, product)) return nullptr;
    return millpond::preload::reallocate_here(old, product);
}

void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
    return millpond::preload::allocate_aligned_here(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
    return millpond::preload::allocate_aligned_here(alignment, bytes);
}

int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) noexcept {
    if (alignment % sizeof(void*) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
    const int before = errno;
    void* const p = millpond::preload::allocate_aligned_here(alignment, bytes);
    if (p == nullptr) {
        // The C library's function also sets errno. POSIX requires only the return value, and other providers do only
        // that.
        if (!millpond::preload::real::is_libc()) errno = before;
        return ENOMEM;
    }
    errno = before;
    *result = p;
    return 0;
}

void* valloc(std::size_t bytes) noexcept {
    return millpond::preload::allocate_aligned_here(millpond::os::pages::size(), bytes);
}

void* pvalloc(std::size_t bytes) noexcept {
    const std::size_t page_bytes = millpond::os::pages::size(), mask = page_bytes - 1;
    if (bytes > SIZE_MAX - mask) {
        errno = ENOMEM;
        return nullptr;
    }
    return millpond::preload::allocate_aligned_here(page_bytes, (bytes + mask) & ~mask);
}

std::size_t malloc_usable_size(void* p) noexcept {
    return p == nullptr ? 0 : millpond::preload::backend::usable_size(p);
}

}  // extern "C"

// A throwing form that fails is repeated by the next operator new behind us. It calls the new-handler and throws as the
// program's own C++ library does, so this library needs none. Its tries come back through malloc.
MILLPOND_HOOK(_Znwm, void* operator new(std::size_t bytes)) {
    if (millpond::preload::passes(bytes)) [[unlikely]]
        return millpond::preload::pass_new(bytes);
    return millpond::preload::allocate_for_new(bytes, MILLPOND_HOOK_SITE);
}
MILLPOND_HOOK(_Znam, void* operator new[](std::size_t bytes)) {
    if (millpond::preload::passes(bytes)) [[unlikely]]
        return millpond::preload::pass_new(bytes);
    return millpond::preload::allocate_for_new(bytes, MILLPOND_HOOK_SITE);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    void* const p = millpond::preload::allocate_here(bytes);
    return p != nullptr ? p : millpond::preload::next_new_nothrow(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
    void* const p = millpond::preload::allocate_here(bytes);
    return p != nullptr ? p : millpond::preload::next_new_nothrow(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    void* const p = millpond::preload::allocate_aligned_here(static_cast<std::size_t>(alignment), bytes);
    return p != nullptr ? p : millpond::preload::next_new(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    void* const p = millpond::preload::allocate_aligned_here(static_cast<std::size_t>(alignment), bytes);
    return p != nullptr ? p : millpond::preload::next_new(bytes, alignment);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    void* const p = millpond::preload::allocate_aligned_here(static_cast<std::size_t>(alignment), bytes);
    return p != nullptr ? p : millpond::preload::next_new_nothrow(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    void* const p = millpond::preload::allocate_aligned_here(static_cast<std::size_t>(alignment), bytes);
    return p != nullptr ? p : millpond::preload::next_new_nothrow(bytes, alignment);
}

void operator delete(void* p) noexcept { millpond::preload::free_at(p); }
void operator delete[](void* p) noexcept { millpond::preload::free_at(p); }
void operator delete(void* p, std::size_t) noexcept { millpond::preload::free_at(p); }
void operator delete[](void* p, std::size_t) noexcept { millpond::preload::free_at(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { millpond::preload::free_at(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { millpond::preload::free_at(p); }
void operator delete(void* p, std::align_val_t) noexcept { millpond::preload::free_at(p); }
void operator delete[](void* p, std::align_val_t) noexcept { millpond::preload::free_at(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { millpond::preload::free_at(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { millpond::preload::free_at(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { millpond::preload::free_at(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { millpond::preload::free_at(p); }

#pragma GCC visibility pop
