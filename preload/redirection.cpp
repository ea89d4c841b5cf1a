// SPDX-License-Identifier: BSL-1.0
#include "preload/redirection.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include <cstddef>

#include "preload/module_segments.hpp"
#include "preload/next_symbol.hpp"
#include "preload/symbol_table.hpp"

namespace millpond::preload {
namespace {

struct redirected_function {
    const char* name;
    std::uintptr_t ours = 0;      // 0: not redirected
    std::uintptr_t original = 0;  // 0: the program has none
};

constinit redirected_function functions[] = {
    {"malloc"},
    {"free"},
    {"calloc"},
    {"realloc"},
    {"reallocarray"},
    {"memalign"},
    {"aligned_alloc"},
    {"posix_memalign"},
    {"valloc"},
    {"pvalloc"},
    {"malloc_usable_size"},
    {"free_sized"},
    {"free_aligned_sized"},
    {"_Znwm"},
    {"_Znam"},
    {"_ZnwmRKSt9nothrow_t"},
    {"_ZnamRKSt9nothrow_t"},
    {"_ZnwmSt11align_val_t"},
    {"_ZnamSt11align_val_t"},
    {"_ZnwmSt11align_val_tRKSt9nothrow_t"},
    {"_ZnamSt11align_val_tRKSt9nothrow_t"},
    {"_ZdlPv"},
    {"_ZdaPv"},
    {"_ZdlPvm"},
    {"_ZdaPvm"},
    {"_ZdlPvRKSt9nothrow_t"},
    {"_ZdaPvRKSt9nothrow_t"},
    {"_ZdlPvSt11align_val_t"},
    {"_ZdaPvSt11align_val_t"},
    {"_ZdlPvmSt11align_val_t"},
    {"_ZdaPvmSt11align_val_t"},
    {"_ZdlPvSt11align_val_tRKSt9nothrow_t"},
    {"_ZdaPvSt11align_val_tRKSt9nothrow_t"},
    {"dlclose"},
    {"prctl"},
    {"syscall"},
};

const link_map* own_module() noexcept { return module_of(reinterpret_cast<const void*>(&redirection::look_up)); }

bool is_cxx_runtime(const link_map& module) noexcept {
    return strstr(module.l_name, "libstdc++.so") != nullptr || strstr(module.l_name, "libc++.so") != nullptr ||
           strstr(module.l_name, "libc++abi.so") != nullptr;
}

// An operator new of the program's own calls malloc, and is seen there. Only those of a C++ library, or of the library
// that also has malloc, are passed over.
bool is_replaced(const redirected_function& function, const link_map* of_malloc) noexcept {
    const link_map* const module = module_of(reinterpret_cast<const void*>(function.original));
    if (module == nullptr) return false;
    if (strncmp(function.name, "_Z", 2) != 0) return true;
    return module == of_malloc || is_cxx_runtime(*module);
}

std::uintptr_t to_ours(std::uintptr_t value) noexcept {
    for (const redirected_function& each : functions)
        if (each.ours != 0 && each.original == value) return each.ours;
    return 0;
}

std::uintptr_t to_original(std::uintptr_t value) noexcept {
    for (const redirected_function& each : functions)
        if (each.ours != 0 && each.ours == value) return each.original;
    return 0;
}

const redirected_function* named(const char* name) noexcept {
    for (const redirected_function& each : functions)
        if (strcmp(each.name, name) == 0) return &each;
    return nullptr;
}

// The relocations of one module that name a symbol.
class module_slots {
  public:
    explicit module_slots(const link_map& of) noexcept : module_(of), segments_(of), symbols_(of) {
        for (const ElfW(Dyn)* each = of.l_ld; each->d_tag != DT_NULL; ++each) {
            switch (each->d_tag) {
                case DT_RELA:
                    tables_[0].first = reinterpret_cast<const ElfW(Rela)*>(symbols_.address_of(*each));
                    break;
                case DT_RELASZ:
                    tables_[0].count = each->d_un.d_val / sizeof(ElfW(Rela));
                    break;
                case DT_JMPREL:
                    tables_[1].first = reinterpret_cast<const ElfW(Rela)*>(symbols_.address_of(*each));
                    break;
                case DT_PLTRELSZ:
                    tables_[1].count = each->d_un.d_val / sizeof(ElfW(Rela));
                    break;
                case DT_PLTREL:
                    has_addends_ = each->d_un.d_val == DT_RELA;
                    break;
                default:
                    break;
            }
        }
    }

    std::uint64_t enable() const noexcept {
        return rewrite([&](const ElfW(Rela) & entry, std::uintptr_t value) -> std::uintptr_t {
            if (const std::uintptr_t ours = to_ours(value); ours != 0) return ours;
            return is_unbound(entry, value) ? ours_named(entry) : 0;
        });
    }

    std::uint64_t disable() const noexcept {
        return rewrite([](const ElfW(Rela)&, std::uintptr_t value) { return to_original(value); });
    }

  private:
    struct relocation_table {
        const ElfW(Rela) * first = nullptr;
        std::size_t count = 0;
    };

#ifdef __x86_64__
    static constexpr std::uint32_t jump_slot = R_X86_64_JUMP_SLOT, got_entry = R_X86_64_GLOB_DAT, word = R_X86_64_64;
#elif defined(__aarch64__)
    static constexpr std::uint32_t jump_slot = R_AARCH64_JUMP_SLOT, got_entry = R_AARCH64_GLOB_DAT,
                                   word = R_AARCH64_ABS64;
#else
    static constexpr std::uint32_t jump_slot = ~0u, got_entry = ~0u, word = ~0u;
#endif

    static std::uint32_t kind_of(const ElfW(Rela) & entry) noexcept {
        return static_cast<std::uint32_t>(entry.r_info & 0xffffffffu);
    }

    // A slot that waits for its first call holds an address in its own module.
    bool is_unbound(const ElfW(Rela) & entry, std::uintptr_t value) const noexcept {
        return kind_of(entry) == jump_slot && module_of(reinterpret_cast<const void*>(value)) == &module_;
    }

    std::uintptr_t ours_named(const ElfW(Rela) & entry) const noexcept {
        const char* const name = symbols_.name_of(static_cast<std::uint32_t>(std::uint64_t{entry.r_info} >> 32));
        const redirected_function* const found = named(name);
        // A module that defines the function may have been linked to prefer its own.
        return found == nullptr || symbols_.find(name) != nullptr ? 0 : found->ours;
    }

    template <class Replacement>
    std::uint64_t rewrite(const Replacement& replacement) const noexcept {
        std::uint64_t changed = 0;
        if (!has_addends_) return 0;
        for (const relocation_table& table : tables_) {
            for (std::size_t i = 0; table.first != nullptr && i < table.count; ++i) {
                const ElfW(Rela)& entry = table.first[i];
                const std::uint32_t kind = kind_of(entry);
                if (kind != jump_slot && kind != got_entry && (kind != word || entry.r_addend != 0)) continue;
                auto* const slot = reinterpret_cast<std::uintptr_t*>(module_.l_addr + entry.r_offset);
                const std::uintptr_t value = replacement(entry, *slot);
                if (value != 0 && segments_.store(slot, value)) ++changed;
            }
        }
        return changed;
    }

    const link_map& module_;
    module_segments segments_;
    symbol_table symbols_;
    relocation_table tables_[2];
    bool has_addends_ = true;
};

template <class Action>
std::uint64_t for_each_module(const Action& action) noexcept {
    const link_map* const ours = own_module();
    std::uint64_t changed = 0;
    for (const link_map* each = _r_debug.r_map; each != nullptr; each = each->l_next)
        if (each != ours && each->l_ld != nullptr && each->l_addr != _r_debug.r_ldbase &&
            strstr(each->l_name, "linux-vdso") == nullptr)
            changed += action(module_slots(*each));
    return changed;
}

// A function that is not in the table has never been replaced.
void* original(const char* name) noexcept {
    const redirected_function* const found = named(name);
    return found != nullptr ? reinterpret_cast<void*>(found->original) : dlsym(RTLD_DEFAULT, name);
}

// The first definition in the order of loading, which is that of the program's own look-ups. dlsym would return an
// executable's stub for a function whose address it takes.
std::uintptr_t definition_of(const char* name) noexcept {
    const link_map* const ours = own_module();
    for (const link_map* each = _r_debug.r_map; each != nullptr; each = each->l_next) {
        if (each == ours || each->l_ld == nullptr || each->l_addr == _r_debug.r_ldbase) continue;
        if (void* const found = symbol_table(*each).find(name)) return reinterpret_cast<std::uintptr_t>(found);
    }
    return 0;
}

redirection::result fill_table() noexcept {
    const link_map* const own = own_module();
    if (own == nullptr) return redirection::no_malloc;
    const symbol_table ours(*own);
    for (redirected_function& each : functions) each.original = definition_of(each.name);
    const link_map* const of_malloc = module_of(reinterpret_cast<const void*>(functions[0].original));
    if (of_malloc == nullptr) return redirection::no_malloc;
    if (of_malloc == _r_debug.r_map) return redirection::own_malloc;  // the first is the executable
    for (redirected_function& each : functions)
        each.ours = is_replaced(each, of_malloc) ? reinterpret_cast<std::uintptr_t>(ours.find(each.name)) : 0;
    return redirection::ready;
}

// Makes look-ups find ours, or the originals again.
void move_symbols(bool to_us) noexcept {
    for (const redirected_function& each : functions) {
        if (each.ours == 0) continue;
        const link_map* const module = module_of(reinterpret_cast<const void*>(each.original));
        if (module != nullptr)
            symbol_table(*module).move(each.name, reinterpret_cast<const void*>(to_us ? each.ours : each.original));
    }
}

}  // namespace

redirection::result redirection::look_up() noexcept {
    result found = no_malloc;
    // Within the callback no module is unloaded.
    dl_iterate_phdr(
        [](dl_phdr_info*, std::size_t, void* to) {
            *static_cast<result*>(to) = fill_table();
            return 1;
        },
        &found);
    if (found == ready) next_symbol::replace(&original);
    return found;
}

std::uint64_t redirection::enable() noexcept {
    if (!next_symbol::is_replaced()) return 0;
    const int before = errno;
    move_symbols(true);
    const std::uint64_t changed = for_each_module([](const module_slots& slots) { return slots.enable(); });
    errno = before;
    return changed;
}

std::uint64_t redirection::disable() noexcept {
    if (!next_symbol::is_replaced()) return 0;
    const int before = errno;
    move_symbols(false);
    const std::uint64_t changed = for_each_module([](const module_slots& slots) { return slots.disable(); });
    errno = before;
    return changed;
}

}  // namespace millpond::preload
