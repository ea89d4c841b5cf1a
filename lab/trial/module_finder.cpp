// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/module_finder.hpp"

#include <dlfcn.h>
#include <string.h>
#include <sys/auxv.h>

namespace millpond::trial {
namespace {

// Finds the GNU build-id among the notes at [at, end), in hex; "" if there is no such note.
bool build_id_in_notes(const char* at, const char* end, char (&hex)[72]) noexcept {
    while (end - at >= static_cast<std::ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        const char* const name = at + sizeof note;
        const char* const content = name + ((note.n_namesz + 3) & ~std::size_t{3});
        const std::size_t bytes = note.n_descsz;
        if (content > end || bytes > static_cast<std::size_t>(end - content)) return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
            static const char digits[] = "0123456789abcdef";
            std::size_t length = 0;
            for (std::size_t i = 0; i < bytes && length + 2 < sizeof hex; ++i) {
                const auto byte = static_cast<unsigned char>(content[i]);
                hex[length++] = digits[byte >> 4];
                hex[length++] = digits[byte & 15];
            }
            hex[length] = '\0';
            return true;
        }
        at = content + ((bytes + 3) & ~std::size_t{3});
    }
    return false;
}

void identify_executable(std::uintptr_t bias, module_identity& result) noexcept {
    result.bias = bias;
    build_id_from_headers(reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR)), getauxval(AT_PHNUM), bias,
                          result.build_id);
}

std::size_t slot_of(const void* link_map) noexcept {
    return (reinterpret_cast<std::uintptr_t>(link_map) * 0x9E3779B97F4A7C15u) >> 56;
}

}  // namespace

void build_id_from_headers(const ElfW(Phdr) * headers, std::size_t count, std::uintptr_t bias,
                           char (&hex)[72]) noexcept {
    hex[0] = '\0';
    for (std::size_t i = 0; i < count; ++i) {
        if (headers[i].p_type != PT_NOTE) continue;
        const auto* const notes = reinterpret_cast<const char*>(bias + headers[i].p_vaddr);
        if (build_id_in_notes(notes, notes + headers[i].p_memsz, hex)) return;
    }
}

bool identify_module(std::uintptr_t first, std::uintptr_t past, std::uintptr_t bias, module_identity& result) noexcept {
    result.build_id[0] = '\0';
    result.bias = bias;
    if (past - first < sizeof(ElfW(Ehdr)) || memcmp(reinterpret_cast<const void*>(first), ELFMAG, SELFMAG) != 0)
        return false;
    const auto* const header = reinterpret_cast<const ElfW(Ehdr)*>(first);
    if (header->e_phoff + header->e_phnum * sizeof(ElfW(Phdr)) > past - first) return false;
    build_id_from_headers(reinterpret_cast<const ElfW(Phdr)*>(first + header->e_phoff), header->e_phnum, bias,
                          result.build_id);
    return true;
}

const route_module* module_finder::match(const module_identity& identity) const noexcept {
    if (routes_.empty()) return nullptr;
    const std::uint64_t hash = identity.build_id[0] != '\0' ? routes_hash(identity.build_id) : 0;
    for (std::uint32_t i = 0; i < routes_.header().module_count; ++i) {
        const route_module& candidate = routes_.modules()[i];
        if (candidate.build_id_hash != hash) continue;
        const char* const given = hash != 0 ? identity.build_id : identity.path;
        if (strcmp(routes_.text(hash != 0 ? candidate.build_id : candidate.path), given) == 0) return &candidate;
    }
    return nullptr;
}

module_finder::place module_finder::find(std::uintptr_t address) noexcept {
    dl_find_object object;
    if (_dl_find_object(reinterpret_cast<void*>(address), &object) != 0) return {};
    place result;
    result.in_module = true;
    const auto first = reinterpret_cast<std::uintptr_t>(object.dlfo_map_start);
    remembered_module& known = remembered_[slot_of(object.dlfo_link_map) % remembered_max];
    if (known.link_map != object.dlfo_link_map || known.first != first) {
        // The link map's first members, l_addr and l_name, are the dynamic linker's public interface.
        const link_map* const map = object.dlfo_link_map;
        const bool is_executable = map->l_name == nullptr || map->l_name[0] == '\0';
        // The range found for an executable may begin at its code, behind the ELF header, so its program headers are
        // read.
        if (is_executable)
            identify_executable(map->l_addr, last_identity_);
        else
            identify_module(first, reinterpret_cast<std::uintptr_t>(object.dlfo_map_end), map->l_addr, last_identity_);
        last_identity_.path = is_executable ? executable_ : map->l_name;
        known = {map, first, map->l_addr, match(last_identity_)};
        (known.module != nullptr ? found_ : missed_) += 1;
        if (known.module != nullptr) {
            const auto number = static_cast<std::size_t>(known.module - routes_.modules());
            if (number < met_words * 64) met_[number / 64] |= std::uint64_t{1} << (number % 64);
        }
        result.fresh = true;
        result.identity = &last_identity_;
    }
    result.module = known.module;
    result.file_address = address - known.bias;
    return result;
}

void module_finder::forget() noexcept {
    for (remembered_module& each : remembered_) each = {};
}

}  // namespace millpond::trial
