// SPDX-License-Identifier: BSL-1.0
// module_segments: the parts of a loaded module and their protection, from its program headers.
//
//   headers │ code (read, run) │ slots (RELRO: read) │ data (read, write)        store(): a word anywhere in it
//
// Changes of protection must not overlap. O(segments). Allocates nothing, takes no lock of ours or of the C library.
#pragma once

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "millpond/os/pages.hpp"

namespace millpond::preload {

// Returns the module that holds an address; null for code of none. Lock-free.
inline const link_map* module_of(const void* address) noexcept {
    dl_find_object found{};
    return _dl_find_object(const_cast<void*>(address), &found) == 0 ? found.dlfo_link_map : nullptr;
}

class module_segments {
  public:
    explicit module_segments(const link_map& of) noexcept : bias_(of.l_addr) {
        dl_find_object found{};
        if (of.l_ld == nullptr || _dl_find_object(of.l_ld, &found) != 0) return;
        const auto* const header = static_cast<const ElfW(Ehdr)*>(found.dlfo_map_start);
        if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
        first_ = reinterpret_cast<const ElfW(Phdr)*>(static_cast<const char*>(found.dlfo_map_start) + header->e_phoff);
        count_ = header->e_phnum;
    }

    // Returns the protection (PROT_…) that the dynamic linker has given the page of this address; −1 outside.
    [[nodiscard]] int protection_at(std::uintptr_t address) const noexcept {
        const std::uintptr_t page_bytes = os::pages::size();
        int protection = -1;
        for (unsigned i = 0; i < count_; ++i) {
            const ElfW(Phdr)& part = first_[i];
            const std::uintptr_t begin = (bias_ + part.p_vaddr) & ~(page_bytes - 1);
            const std::uintptr_t end = bias_ + part.p_vaddr + part.p_memsz;
            if (part.p_type == PT_LOAD && address >= begin && address < ((end + page_bytes - 1) & ~(page_bytes - 1)))
                protection = ((part.p_flags & PF_R) != 0 ? PROT_READ : 0) |
                             ((part.p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
                             ((part.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
            // Written while the module was loaded, and then protected: whole pages.
            if (part.p_type == PT_GNU_RELRO && address >= begin && address < (end & ~(page_bytes - 1)))
                return PROT_READ;
        }
        return protection;
    }

    // Stores a word of the module, whatever protects it. Returns false if it stays as it was.
    bool store(std::uintptr_t* at, std::uintptr_t value) const noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(at);
        const int protection = protection_at(address);
        if (protection < 0) return false;
        if ((protection & PROT_WRITE) != 0) {
            __atomic_store_n(at, value, __ATOMIC_RELEASE);
            return true;
        }
        const std::uintptr_t page_bytes = os::pages::size();
        auto* const page = reinterpret_cast<void*>(address & ~(page_bytes - 1));
        if (mprotect(page, page_bytes, protection | PROT_WRITE) != 0) return false;
        __atomic_store_n(at, value, __ATOMIC_RELEASE);
        mprotect(page, page_bytes, protection);
        return true;
    }

  private:
    std::uintptr_t bias_;
    const ElfW(Phdr) * first_ = nullptr;
    unsigned count_ = 0;
};

}  // namespace millpond::preload
