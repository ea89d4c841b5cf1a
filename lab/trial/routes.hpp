// SPDX-License-Identifier: BSL-1.0
// routes: a compiled plan, in a file that is mapped and used as it is. It holds the pool of the owner for every
// function of every module of a program.
//
//   │ header │ pools │ modules │ ranges of module 0, by address │ of module 1 │ … │ scopes │ keys │ strings │
//   return address ─module─▶ ranges ─binary search─▶ {pool, role}
//
// Addresses are those of the module's file (address in memory − bias). Pool 0 is the program's own allocator.
// compile_routes writes it, the router reads it. Both belong to one build; `version` guards against another build's
// file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millpond::trial {

// The part that a frame plays in finding the owner of an allocation.
enum class frame_role : std::uint8_t {
    outside,     // no function is known here
    standard,    // the standard library: passes ownership to its caller
    allocation,  // a function that only allocates: passes ownership on, but owns if no frame further out does
    owner
};

struct route_range {
    std::uint64_t first;
    std::uint32_t bytes;
    std::uint16_t pool;
    frame_role role;
};

struct route_module {
    std::uint64_t build_id_hash;  // of the hex digits; 0: identified by path
    std::uint32_t build_id;       // offsets into the strings
    std::uint32_t path;
    std::uint32_t first_range;
    std::uint32_t range_count;
    std::uint32_t pool;      // of the module as a subsystem: code without a known function
    std::uint32_t standard;  // 1: such code passes ownership to its caller
};

// The allocator of a pool (pool.hpp).
enum class pool_kind : std::uint16_t {
    one_thread,       // multipool
    shared,           // synchronized(multipool)
    instances,        // a small pool for each owner
    arenas,           // monotonic, reset whenever nothing in it is alive
    thread_arenas,    // monotonic, reset when its thread has ended
    call_arenas,      // monotonic, one for each call of a function
    outermost_arenas  // monotonic, one for each call of a function that is not inside of another
};

constexpr bool has_arenas(pool_kind kind) noexcept { return kind >= pool_kind::arenas; }
constexpr bool has_arena_of_call(pool_kind kind) noexcept { return kind >= pool_kind::call_arenas; }

struct route_pool {
    std::uint32_t name;  // offset into the strings
    pool_kind kind;
    std::uint16_t huge_pages;
};

// A call site at which the address of an object's owner is known.
struct route_instance_key {
    std::uint64_t return_address;  // in the module's file
    std::uint32_t module;          // by index
    std::uint16_t pool;            // from 1
    std::uint16_t position;        // of the word: preload/word_position.hpp
};

// A function whose calls have an arena each.
struct route_scope_entry {
    std::uint64_t entry;   // address in the module's file
    std::uint32_t module;  // by index
    std::uint32_t pool;    // from 0
};

struct routes_header {
    static constexpr std::uint64_t magic_value = 0x3153'4554'554f'524d;  // "MROUTES1"
    static constexpr std::uint32_t version_value = 4;

    std::uint64_t magic;
    std::uint64_t bytes;  // of the whole file
    std::uint32_t version;
    std::uint32_t program_build_id, program_path;  // offsets into the strings
    std::uint32_t pool_count;                      // pool i of the file is pool i + 1 of the program
    std::uint32_t module_count;
    std::uint32_t range_count;
    std::uint32_t other_modules_pool;  // for modules that are not listed: the pool of "*", or 0
    std::uint32_t generated_pool;      // for code without a file
    std::uint32_t unknown_pool;        // for allocations without any frame of a module
    std::uint32_t scope_count, key_count;
    std::uint32_t pools_at, modules_at, ranges_at, scopes_at, keys_at, strings_at;
    std::uint32_t string_bytes;  // the last is 0
    std::uint32_t checksum;      // CRC-32 of the whole file, of which this is 0
};

// Returns the FNV-1a hash of a string's characters; never 0.
constexpr std::uint64_t routes_hash(const char* text) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (; *text != '\0'; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3u;
    return hash | 1;
}

// The mapped file. Without one, everything is empty.
class routes_view {
  public:
    constexpr routes_view() noexcept = default;
    // Null or a file of another version leaves the view empty. The memory must outlive the view.
    explicit routes_view(const void* mapped, std::size_t bytes) noexcept {
        const auto* const header = static_cast<const routes_header*>(mapped);
        if (mapped == nullptr || bytes < sizeof(routes_header) || header->magic != routes_header::magic_value ||
            header->version != routes_header::version_value || header->bytes != bytes)
            return;
        header_ = header;
    }

    [[nodiscard]] bool empty() const noexcept { return header_ == nullptr; }
    [[nodiscard]] const routes_header& header() const noexcept { return *header_; }
    [[nodiscard]] const route_pool* pools() const noexcept { return at<route_pool>(header_->pools_at); }
    [[nodiscard]] const route_module* modules() const noexcept { return at<route_module>(header_->modules_at); }
    [[nodiscard]] const route_scope_entry* scopes() const noexcept { return at<route_scope_entry>(header_->scopes_at); }
    [[nodiscard]] const route_instance_key* keys() const noexcept { return at<route_instance_key>(header_->keys_at); }
    // Returns the position of the owner's address where a call of the pool's returns to `address`; `none` if it is
    // unknown.
    [[nodiscard]] unsigned position_of(const route_module& module, std::uint64_t address, std::uint32_t pool,
                                       unsigned none) const noexcept {
        const auto index = static_cast<std::uint32_t>(&module - modules());
        for (std::uint32_t i = 0; i < header_->key_count; ++i) {
            const route_instance_key& key = keys()[i];
            if (key.return_address == address && key.module == index && key.pool == pool) return key.position;
        }
        return none;
    }
    [[nodiscard]] const char* text(std::uint32_t offset) const noexcept {
        return at<char>(header_->strings_at) + offset;
    }

    // Returns the range of `module` that contains a file address, or null.
    [[nodiscard]] const route_range* find(const route_module& module, std::uint64_t address) const noexcept {
        const route_range* const ranges = at<route_range>(header_->ranges_at) + module.first_range;
        std::size_t low = 0, high = module.range_count;
        while (low < high) {
            const std::size_t middle = (low + high) / 2;
            if (ranges[middle].first <= address)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == 0) return nullptr;
        const route_range& candidate = ranges[low - 1];
        return address - candidate.first < candidate.bytes ? &candidate : nullptr;
    }

  private:
    template <class T>
    [[nodiscard]] const T* at(std::uint32_t offset) const noexcept {
        return reinterpret_cast<const T*>(reinterpret_cast<const char*>(header_) + offset);
    }

    const routes_header* header_ = nullptr;
};

}  // namespace millpond::trial
