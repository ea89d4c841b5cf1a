// SPDX-License-Identifier: BSL-1.0
#include "lab/probes/wanted_scopes.hpp"

#include <stdlib.h>
#include <string.h>

#include "preload/environment.hpp"

namespace millpond::probes {
namespace {

bool same_build(const dl_phdr_info& module, const wanted_scope& s) noexcept {
    static constexpr char hex[] = "0123456789abcdef";
    for (unsigned i = 0; i < module.dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = module.dlpi_phdr[i];
        if (part.p_type != PT_NOTE) continue;
        const auto* at = reinterpret_cast<const std::uint8_t*>(module.dlpi_addr + part.p_vaddr);
        const auto* const end = at + part.p_memsz;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            ElfW(Nhdr) note;
            memcpy(&note, at, sizeof note);
            const std::uint8_t* const id = at + sizeof note + ((note.n_namesz + 3u) & ~3u);
            at = id + ((note.n_descsz + 3u) & ~3u);
            if (at > end || note.n_type != NT_GNU_BUILD_ID || s.module_length != 2 * note.n_descsz) continue;
            bool same = true;
            for (unsigned b = 0; b < note.n_descsz; ++b)
                same = same && hex[id[b] >> 4] == s.module[2 * b] && hex[id[b] & 15] == s.module[2 * b + 1];
            if (same) return true;
        }
    }
    return false;
}

bool is_wanted(const dl_phdr_info& module, const wanted_scope& s) noexcept {
    if (s.module_length > 0 && memchr(s.module, '/', s.module_length) == nullptr) return same_build(module, s);
    return module.dlpi_name != nullptr && strlen(module.dlpi_name) == s.module_length &&
           memcmp(module.dlpi_name, s.module, s.module_length) == 0;
}

bool is_code(const dl_phdr_info& module, std::uintptr_t offset) noexcept {
    for (unsigned i = 0; i < module.dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = module.dlpi_phdr[i];
        if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0 && offset >= part.p_vaddr &&
            offset < part.p_vaddr + part.p_filesz)
            return true;
    }
    return false;
}

}  // namespace

code_range code_range::of(const dl_phdr_info& module) noexcept {
    code_range all{~std::uintptr_t{0}, 0};
    for (unsigned i = 0; i < module.dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = module.dlpi_phdr[i];
        if (part.p_type != PT_LOAD) continue;
        const std::uintptr_t first = module.dlpi_addr + part.p_vaddr, last = first + part.p_memsz;
        if (first < all.first) all.first = first;
        if (last > all.last) all.last = last;
    }
    return all;
}

bool wanted_scope::is_in(const dl_phdr_info& module_now) const noexcept {
    return is_code(module_now, offset) && is_wanted(module_now, *this);
}

bool wanted_scopes::read() noexcept {
    preload::find_variable(scopes_variable, text_, sizeof text_);
    count_ = 0;
    char* end = nullptr;
    entries_max_ = strtoull(text_, &end, 10);
    while (*end == ';' && count_ < scopes_max) {
        const char* const module = end + 1;
        const char* stop = strchrnul(module, ';');
        const char* colon = stop;
        while (colon > module && *colon != ':') --colon;
        if (*colon != ':') break;
        const std::uintptr_t offset = strtoull(colon + 1, &end, 16);
        scopes_[count_++] = {module, static_cast<std::size_t>(colon - module), offset};
    }
    return count_ > 0;
}

}  // namespace millpond::probes
