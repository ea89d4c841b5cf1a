// SPDX-License-Identifier: BSL-1.0
// real: the allocator that the program would use without this library.
//
// It is usually the C library's, called by its internal names (__libc_malloc …): no symbol look-up at start, and no
// event counted twice. If the program brings its own malloc in a library, that is used: it is found behind us
// (RTLD_NEXT) at the first call. A malloc inside the executable itself comes before every preloaded library, so the
// program's calls never reach us; see in_executable(). If the provider has no memory, a library that keeps free memory
// may return it (make_room), and the provider is asked once more. Thread-safe, safe at any moment of start-up. Frees
// must go to the same provider: every function here uses one.
#pragma once

#include <cstddef>

struct mallinfo2;

extern "C" {
void* __libc_malloc(std::size_t) noexcept;
void* __libc_calloc(std::size_t, std::size_t) noexcept;
void* __libc_realloc(void*, std::size_t) noexcept;
void* __libc_memalign(std::size_t, std::size_t) noexcept;
void __libc_free(void*) noexcept;
}

namespace millpond::preload {

class real {
  public:
    static void* allocate(std::size_t bytes) noexcept {
        return ask(bytes, [=] { return is_libc() ? __libc_malloc(bytes) : foreign_allocate(bytes); });
    }
    static void* allocate_zeroed(std::size_t bytes) noexcept {
        return ask(bytes, [=] { return is_libc() ? __libc_calloc(1, bytes) : foreign_allocate_zeroed(bytes); });
    }
    static void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept {
        return ask(bytes, [=] {
            return is_libc() ? __libc_memalign(alignment, bytes) : foreign_allocate_aligned(alignment, bytes);
        });
    }
    static void* reallocate(void* old, std::size_t bytes) noexcept {
        return ask(bytes, [=] { return is_libc() ? __libc_realloc(old, bytes) : foreign_reallocate(old, bytes); });
    }
    // The same for a library that keeps no free memory. As the last call of a function each is one jump, without a
    // frame, once the provider is known.
    static void* allocate_once(std::size_t bytes) noexcept {
        return __atomic_load_n(&allocate_, __ATOMIC_RELAXED)(bytes);
    }
    static void* allocate_zeroed_once(std::size_t bytes) noexcept {
        return __atomic_load_n(&allocate_zeroed_, __ATOMIC_RELAXED)(1, bytes);
    }
    static void* allocate_aligned_once(std::size_t alignment, std::size_t bytes) noexcept {
        return is_known_libc() ? __libc_memalign(alignment, bytes) : other_allocate_aligned(alignment, bytes);
    }
    static void* reallocate_once(void* old, std::size_t bytes) noexcept {
        return __atomic_load_n(&reallocate_, __ATOMIC_RELAXED)(old, bytes);
    }
    static void deallocate_once(void* p) noexcept { __atomic_load_n(&deallocate_, __ATOMIC_RELAXED)(p); }
    static void deallocate(void* p) noexcept {
        if (is_libc()) [[likely]]
            return __libc_free(p);
        foreign_deallocate(p);
    }
    // 0 if the provider does not tell.
    static std::size_t usable_size(void* p) noexcept { return __atomic_load_n(&usable_size_, __ATOMIC_RELAXED)(p); }
    // They call malloc_trim and mallinfo2 if the provider has them; otherwise nothing is returned, and the figures are
    // 0.
    static bool trim(std::size_t kept_bytes) noexcept;
    static struct mallinfo2 usage() noexcept;

    // Set once, by a library that holds free memory: the function to call if the provider refuses `bytes`. Returns:
    // true if some went back to the system.
    using room_maker = bool (*)(std::size_t bytes) noexcept;
    static constinit inline room_maker make_room = nullptr;

    // Returns whether the C library provides malloc; decided at the first call of any function here.
    static bool is_libc() noexcept {
        const int provider = __atomic_load_n(&provider_, __ATOMIC_RELAXED);
        if (provider == libc) [[likely]]
            return true;
        return provider == foreign ? false : find_provider();
    }
    // Returns the path of the module whose malloc is used, or "" for the C library. Never null.
    static const char* provider_path() noexcept;
    // Returns true if that module was linked to call its own malloc before any other (-Bsymbolic). The blocks that it
    // frees and resizes must come from it, so a malloc in its place would mix two heaps.
    static bool provider_is_bound() noexcept;
    // Reports on standard error that nothing is pooled for this reason.
    static void say_bound(const char* name) noexcept;
    // Returns whether the executable defines malloc itself, so that its calls never come here.
    static bool in_executable() noexcept;

  private:
    using allocate_function = void*(std::size_t) noexcept;
    using allocate_zeroed_function = void*(std::size_t, std::size_t) noexcept;
    using reallocate_function = void*(void*, std::size_t) noexcept;
    using deallocate_function = void(void*) noexcept;
    using usable_size_function = std::size_t(void*) noexcept;
    enum : int { unknown, libc, foreign };
    template <class Provider>
    [[gnu::always_inline]] static void* ask(std::size_t bytes, Provider provider) noexcept {
        void* const p = provider();
        if (p != nullptr || bytes == 0 || !makes_room(bytes)) [[likely]]
            return p;
        return provider();
    }
    [[gnu::always_inline]] static bool is_known_libc() noexcept {
        return __builtin_expect(__atomic_load_n(&provider_, __ATOMIC_RELAXED) == libc, 1) != 0;
    }
    static void* first_allocate(std::size_t bytes) noexcept;
    static void* first_allocate_zeroed(std::size_t count, std::size_t bytes) noexcept;
    static void* other_allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept;
    static void* first_reallocate(void* old, std::size_t bytes) noexcept;
    static void first_deallocate(void* p) noexcept;
    static std::size_t first_usable_size(void* p) noexcept;
    static bool makes_room(std::size_t bytes) noexcept;
    static bool find_provider() noexcept;
    static void* foreign_allocate(std::size_t) noexcept;
    static void* foreign_allocate_zeroed(std::size_t) noexcept;
    static void* foreign_allocate_aligned(std::size_t, std::size_t) noexcept;
    static void* foreign_reallocate(void*, std::size_t) noexcept;
    static void foreign_deallocate(void*) noexcept;

    static inline int provider_ = unknown;
    // The provider's, once that is known: one jump through memory, without a branch.
    static constinit inline allocate_function* allocate_ = &first_allocate;
    static constinit inline allocate_zeroed_function* allocate_zeroed_ = &first_allocate_zeroed;
    static constinit inline reallocate_function* reallocate_ = &first_reallocate;
    static constinit inline deallocate_function* deallocate_ = &first_deallocate;
    static constinit inline usable_size_function* usable_size_ = &first_usable_size;
};

}  // namespace millpond::preload
