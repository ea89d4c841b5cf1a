// SPDX-License-Identifier: BSL-1.0
#include "preload/real.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "preload/next_symbol.hpp"

namespace millpond::preload {
namespace {

struct provider_functions {
    void* (*allocate)(std::size_t) noexcept;
    void* (*allocate_zeroed)(std::size_t, std::size_t) noexcept;
    void* (*reallocate)(void*, std::size_t) noexcept;
    void (*deallocate)(void*) noexcept;
    void* (*memalign)(std::size_t, std::size_t) noexcept;
    int (*posix_memalign)(void**, std::size_t, std::size_t) noexcept;
    std::size_t (*usable_size)(void*) noexcept;
};
provider_functions next_provider;

template <class Function>
void look_up(Function& function, const char* name) noexcept {
    function = reinterpret_cast<Function>(next_symbol::find(name));
}

}  // namespace

bool real::find_provider() noexcept {
    // While dlsym looks up, its own allocations come from the C library; a successful look-up allocates nothing.
    provider_functions found{};
    look_up(found.allocate, "malloc");
    // Does not use dladdr, which examines every symbol of a module to name the nearest.
    dl_find_object of_found{}, of_libc{};
    const bool same =
        found.allocate == nullptr || (_dl_find_object(reinterpret_cast<void*>(found.allocate), &of_found) == 0 &&
                                      _dl_find_object(reinterpret_cast<void*>(&__libc_malloc), &of_libc) == 0 &&
                                      of_found.dlfo_link_map == of_libc.dlfo_link_map);
    if (!same) {
        look_up(found.allocate_zeroed, "calloc");
        look_up(found.reallocate, "realloc");
        look_up(found.deallocate, "free");
        look_up(found.memalign, "memalign");
        look_up(found.posix_memalign, "posix_memalign");
        look_up(found.usable_size, "malloc_usable_size");
        next_provider = found;
    }
    const bool usable =
        same || (found.allocate_zeroed != nullptr && found.reallocate != nullptr && found.deallocate != nullptr);
    const bool is_libc = !usable || same;
    __atomic_store_n(&provider_, is_libc ? libc : foreign, __ATOMIC_RELEASE);
    __atomic_store_n(&allocate_, is_libc ? &__libc_malloc : found.allocate, __ATOMIC_RELAXED);
    __atomic_store_n(&allocate_zeroed_, is_libc ? &__libc_calloc : found.allocate_zeroed, __ATOMIC_RELAXED);
    __atomic_store_n(&reallocate_, is_libc ? &__libc_realloc : found.reallocate, __ATOMIC_RELAXED);
    __atomic_store_n(&deallocate_, is_libc ? &__libc_free : found.deallocate, __ATOMIC_RELAXED);
    return is_libc;
}

// EINVAL is a wrong alignment, which no memory corrects. For a size that no system has, nothing is returned.
bool real::makes_room(std::size_t bytes) noexcept {
    constexpr std::size_t most_bytes = sizeof(void*) == 8 ? ~std::size_t{0} >> 17 : ~std::size_t{0} / 2;
    const int before = errno;
    if (make_room == nullptr || before == EINVAL || bytes > most_bytes) return false;
    const bool has_room = make_room(bytes);
    errno = before;
    return has_room;
}

// The provider is not known yet.
void* real::first_allocate(std::size_t bytes) noexcept { return allocate(bytes); }
void* real::first_allocate_zeroed(std::size_t, std::size_t bytes) noexcept { return allocate_zeroed(bytes); }
void* real::first_reallocate(void* old, std::size_t bytes) noexcept { return reallocate(old, bytes); }
void real::first_deallocate(void* p) noexcept { deallocate(p); }

std::size_t real::first_usable_size(void* p) noexcept {
    usable_size_function* found = is_libc() ? nullptr : next_provider.usable_size;
    if (found == nullptr) look_up(found, "malloc_usable_size");
    if (found == nullptr) found = [](void*) noexcept -> std::size_t { return 0; };
    __atomic_store_n(&usable_size_, found, __ATOMIC_RELAXED);
    return found(p);
}

// The provider is another one than the C library, or not known yet.
void* real::other_allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept {
    return allocate_aligned(alignment, bytes);
}

void* real::foreign_allocate(std::size_t bytes) noexcept { return next_provider.allocate(bytes); }
void* real::foreign_allocate_zeroed(std::size_t bytes) noexcept { return next_provider.allocate_zeroed(1, bytes); }
void* real::foreign_reallocate(void* old, std::size_t bytes) noexcept { return next_provider.reallocate(old, bytes); }
void real::foreign_deallocate(void* p) noexcept { next_provider.deallocate(p); }

void* real::foreign_allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept {
    if (next_provider.memalign != nullptr) return next_provider.memalign(alignment, bytes);
    void* p = nullptr;
    const int error =
        next_provider.posix_memalign == nullptr
            ? ENOMEM
            : next_provider.posix_memalign(&p, alignment < sizeof(void*) ? sizeof(void*) : alignment, bytes);
    if (error != 0) errno = error;
    return error == 0 ? p : nullptr;
}

bool real::trim(std::size_t kept_bytes) noexcept {
    int (*found)(std::size_t) = nullptr;
    look_up(found, "malloc_trim");
    return found != nullptr && found(kept_bytes) != 0;
}

struct mallinfo2 real::usage() noexcept {
    struct mallinfo2 (*found)() = nullptr;
    look_up(found, "mallinfo2");
    struct mallinfo2 none{};
    return found != nullptr ? found() : none;
}

const char* real::provider_path() noexcept {
    if (is_libc()) return "";
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(next_provider.allocate), &info) == 0 || info.dli_fname == nullptr) return "?";
    return info.dli_fname;
}

bool real::provider_is_bound() noexcept {
    dl_find_object found{};
    if (is_libc() || _dl_find_object(reinterpret_cast<void*>(next_provider.allocate), &found) != 0) return false;
    for (const ElfW(Dyn)* each = found.dlfo_link_map->l_ld; each->d_tag != DT_NULL; ++each)
        if (each->d_tag == DT_SYMBOLIC || (each->d_tag == DT_FLAGS && (each->d_un.d_val & DF_SYMBOLIC) != 0))
            return true;
    return false;
}

void real::say_bound(const char* name) noexcept {
    dprintf(STDERR_FILENO,
            "millpond: %s has a malloc of its own and was linked to call it directly (-Bsymbolic), so %s "
            "leaves all blocks to it\n",
            provider_path(), name);
}

bool real::in_executable() noexcept {
    if (next_symbol::is_replaced()) return false;  // redirection::look_up has refused such a program
    void* const first = dlsym(RTLD_DEFAULT, "malloc");
    Dl_info of_first{}, of_us{};
    return first != nullptr && dladdr(first, &of_first) != 0 &&
           dladdr(reinterpret_cast<void*>(&real::in_executable), &of_us) != 0 && of_first.dli_fbase != of_us.dli_fbase;
}

}  // namespace millpond::preload
