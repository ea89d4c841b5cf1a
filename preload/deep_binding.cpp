// SPDX-License-Identifier: BSL-1.0
#include "preload/deep_binding.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include <cstdint>

#include "millpond/os/pages.hpp"
#include "preload/real.hpp"
#include "preload/spin_lock.hpp"

namespace millpond::preload {
namespace {

// The functions of interpose_exports.hpp and usage_exports.hpp that the C library has as well.
constexpr const char* functions[] = {"malloc",         "free",        "calloc",      "realloc",
                                     "reallocarray",   "memalign",    "valloc",      "pvalloc",
                                     "posix_memalign", "mallinfo2",   "mallinfo",    "malloc_usable_size",
                                     "aligned_alloc",  "malloc_trim", "malloc_stats"};

const link_map* module_of(const void* address) noexcept {
    dl_find_object found{};
    return _dl_find_object(const_cast<void*>(address), &found) == 0 ? found.dlfo_link_map : nullptr;
}

// A module's table of symbols, as the dynamic linker reads it.
class symbol_table {
  public:
    explicit symbol_table(const link_map& of) noexcept : bias_(of.l_addr) {
        for (const ElfW(Dyn)* each = of.l_ld; each->d_tag != DT_NULL; ++each) {
            // The dynamic linker has turned these into addresses, unless the section is read-only.
            const std::uintptr_t at = each->d_un.d_ptr < bias_ ? each->d_un.d_ptr + bias_ : each->d_un.d_ptr;
            if (each->d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<ElfW(Sym)*>(at);
            if (each->d_tag == DT_STRTAB) names_ = reinterpret_cast<const char*>(at);
            if (each->d_tag == DT_GNU_HASH) hash_ = reinterpret_cast<const std::uint32_t*>(at);
        }
    }

    // Makes all versions of the function point to `address`. Returns false if the table cannot be changed.
    bool move(const char* name, const void* address) noexcept {
        if (symbols_ == nullptr || names_ == nullptr || hash_ == nullptr) return false;
        std::uint32_t hash = 5381;
        for (const char* at = name; *at != 0; ++at) hash = hash * 33 + static_cast<unsigned char>(*at);
        const std::uint32_t bucket_count = hash_[0], first = hash_[1], bloom_words = hash_[2];
        constexpr std::uint32_t halves = sizeof(ElfW(Addr)) / sizeof(std::uint32_t);
        const std::uint32_t* const buckets = hash_ + 4 + std::size_t{bloom_words} * halves;
        const std::uint32_t* const chains = buckets + bucket_count;
        for (std::uint32_t i = buckets[hash % bucket_count]; i >= first && i != 0; ++i) {
            const std::uint32_t chain = chains[i - first];
            if ((chain | 1) == (hash | 1) && strcmp(names_ + symbols_[i].st_name, name) == 0 &&
                !write(symbols_[i], reinterpret_cast<std::uintptr_t>(address) - bias_))
                return false;
            if ((chain & 1) != 0) break;
        }
        return true;
    }

  private:
    static bool write(ElfW(Sym) & symbol, std::uintptr_t value) noexcept {
        const std::uintptr_t page_bytes = millpond::os::pages::size();
        const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(&symbol) & ~(page_bytes - 1);
        const std::uintptr_t past =
            (reinterpret_cast<std::uintptr_t>(&symbol + 1) + page_bytes - 1) & ~(page_bytes - 1);
        auto* const pages = reinterpret_cast<void*>(first);
        if (mprotect(pages, past - first, PROT_READ | PROT_WRITE) != 0) return false;
        __atomic_store_n(&symbol.st_value, value, __ATOMIC_RELEASE);
        mprotect(pages, past - first, PROT_READ);
        return true;
    }

    std::uintptr_t bias_;
    ElfW(Sym) * symbols_ = nullptr;
    const char* names_ = nullptr;
    const std::uint32_t* hash_ = nullptr;
};

}  // namespace

// Redirects only functions that are ours for all other modules: a malloc inside the executable keeps its own heap.
bool deep_binding::redirect_libc() noexcept {
    if (!real::is_libc()) return false;
    const link_map* const libc = module_of(reinterpret_cast<const void*>(&__libc_malloc));
    const link_map* const ours = module_of(reinterpret_cast<const void*>(&deep_binding::redirect_libc));
    if (libc == nullptr || ours == nullptr) return false;
    symbol_table table(*libc);
    for (const char* name : functions) {
        const void* const first = dlsym(RTLD_DEFAULT, name);
        if (first != nullptr && module_of(first) == ours && !table.move(name, first)) return false;
    }
    return true;
}

int deep_binding::before_open(int flags) noexcept {
    if ((flags & RTLD_DEEPBIND) == 0) return flags;
    enum : int { untried, redirected, impossible };
    static constinit int state = untried;
    static constinit spin_lock lock;
    const int before = errno;
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == untried && !real::in_executable()) {
        const patient_guard guard(lock);
        if (guard && state == untried)
            __atomic_store_n(&state, redirect_libc() ? redirected : impossible, __ATOMIC_RELEASE);
    }
    errno = before;
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == impossible ? flags & ~RTLD_DEEPBIND : flags;
}

}  // namespace millpond::preload
