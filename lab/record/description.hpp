// SPDX-License-Identifier: BSL-1.0
// description: the blocks of a trace that describe the process, its loaded modules, and its contexts.
//
// Contexts collect in an open block of their own (a slot, salvaged like all others); process and modules are written at
// once. The dynamic linker's own table gives module ids from addresses. Facts that a process image shares with its
// forked children are read once, when the image starts, because a child may have another root directory and another
// user. Not thread-safe: the caller holds the tree's lock, which every new context needs anyway. Allocates nothing.
#pragma once

#include <cstdint>

#include "lab/record/output.hpp"
#include "preload/context_tree.hpp"

namespace millpond::record {

// The facts about a process image: executable, build-id, command line, malloc. Read at its start.
class image_facts {
  public:
    static constexpr std::size_t path_bytes = 4096;
    static constexpr std::size_t argument_bytes_max = std::size_t{32} << 10;  // of a command line, kept

    struct build_id {
        std::uint8_t bytes[32] = {};
        std::size_t size = 0;
    };

    void gather() noexcept;

    char executable[path_bytes] = {};
    std::size_t executable_length = 0;
    build_id id = {};
    char* arguments = nullptr;
    std::size_t argument_bytes = 0;
    const char* provider = "";
    bool own_malloc = false;
    bool filtered = false;  // a seccomp filter is in force
};

class description {
  public:
    // Writes the process block and opens the block of contexts; false if there is no slot.
    bool start(output& out, const image_facts& image) noexcept;
    // Unmaps its memory, in which a trace's blocks stay as they are: at the end of a stretch, and for the copy of a
    // parent's description in its child.
    void abandon() noexcept;
    void isolate() noexcept { output::isolate(contexts_); }

    void add_context(std::uint32_t id, std::uint32_t parent, std::uintptr_t return_address) noexcept;

    // Checks whether modules that contexts refer to were unloaded; calls `gone(first, last)` for each.
    template <class Callback>
    void check_unloaded(const Callback& gone) noexcept {
        for (std::uint32_t i = 0; i < module_count_; ++i) {
            if (modules_[i].unload_tick == 0 && !is_loaded(modules_[i])) {
                mark_unloaded(i);
                gone(modules_[i].first, modules_[i].last);
            }
        }
    }

    // Describes the modules that hold these addresses, unless a context has already shown them.
    void note_modules(const std::uintptr_t* addresses, unsigned count) noexcept {
        for (unsigned i = 0; i < count; ++i) (void)module_of(addresses[i]);
    }

  private:
    struct loaded_module {
        std::uintptr_t first, last, bias;
        const void* link_map;
        const char* path;
        std::uint64_t load_tick, unload_tick;  // unload_tick 0: still loaded
        std::uint8_t build_id[32];
        std::size_t build_id_bytes;
    };
    static constexpr std::uint32_t modules_max = 8192;

    void write_process() noexcept;
    void write_module(std::uint32_t index) noexcept;
    const char* keep(const char* path) noexcept;
    void mark_unloaded(std::uint32_t index) noexcept;
    std::uint32_t module_of(std::uintptr_t address) noexcept;  // id, 0: none
    static bool is_loaded(const loaded_module& m) noexcept;
    void seal_contexts() noexcept;
    void open_contexts(std::uint32_t first) noexcept;

    output* out_ = nullptr;
    const image_facts* image_ = nullptr;
    slot contexts_;
    std::uint8_t* cursor_ = nullptr;
    std::uint32_t contexts_in_block_ = 0;
    std::uint32_t context_blocks_ = 0;
    loaded_module* modules_ = nullptr;
    // Paths lie in chunks, each with the address of the one before in front.
    struct path_chunk {
        path_chunk* before;
    };
    static constexpr std::size_t path_chunk_bytes = std::size_t{64} << 10;
    path_chunk* path_chunks_ = nullptr;
    char* paths_ = nullptr;  // where the next path is kept
    std::size_t path_room_ = 0;
    std::uint32_t module_count_ = 0;
    std::uint32_t module_blocks_ = 0;
    std::uint32_t last_module_ = 0;
};

}  // namespace millpond::record
