// SPDX-License-Identifier: BSL-1.0
// module_finder: maps a code address of the running process to a module of the compiled plan, and to the address inside
// its file.
//
//   return address ──_dl_find_object──▶ link map, first byte ──build-id in memory, else path──▶ module of the routes
//
// The dynamic linker's own index answers without a lock (dladdr would walk the modules, and cost a third of a short
// run). Answers are remembered for each link map. Not thread-safe: the lock of the context tree guards it. Call
// forget() after a dlclose.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

#include "lab/trial/routes.hpp"

namespace millpond::trial {

struct module_identity {
    const char* path = "";
    char build_id[72] = "";
    std::uintptr_t bias = 0;
};

// Identifies the module that starts at `first` (its ELF header) from the process image. Returns false if that is not a
// module.
bool identify_module(std::uintptr_t first, std::uintptr_t past, std::uintptr_t bias, module_identity& result) noexcept;
// The same from program headers, for the executable before it is known otherwise.
void build_id_from_headers(const ElfW(Phdr) * headers, std::size_t count, std::uintptr_t bias,
                           char (&hex)[72]) noexcept;

class module_finder {
  public:
    struct place {
        const route_module* module = nullptr;  // null: no module of the routes
        bool in_module = false;                // the address is code of a file
        bool fresh = false;                    // the first answer for this module
        std::uintptr_t file_address = 0;
        module_identity* identity = nullptr;  // set when fresh; valid until the next call
    };

    constexpr module_finder() noexcept = default;

    // `executable` is the path of the program, whose link map has no name. The routes must outlive the finder.
    void start(const routes_view& routes, const char* executable) noexcept {
        routes_ = routes;
        executable_ = executable;
    }
    place find(std::uintptr_t address) noexcept;
    void forget() noexcept;

    [[nodiscard]] std::uint64_t found() const noexcept { return found_; }
    // Returns whether module i of the routes was met; always false beyond the modules that are counted.
    static constexpr std::size_t met_words = 8;
    [[nodiscard]] const std::uint64_t (&met() const noexcept)[met_words] { return met_; }
    [[nodiscard]] std::uint64_t missed() const noexcept { return missed_; }  // modules that the routes do not list

  private:
    struct remembered_module {
        const void* link_map;
        std::uintptr_t first;
        std::uintptr_t bias;
        const route_module* module;
    };
    static constexpr std::size_t remembered_max = 256;

    const route_module* match(const module_identity& identity) const noexcept;

    routes_view routes_;
    const char* executable_ = "";
    module_identity last_identity_;
    remembered_module remembered_[remembered_max] = {};
    std::uint64_t found_ = 0, missed_ = 0;
    std::uint64_t met_[met_words] = {};
};

}  // namespace millpond::trial
