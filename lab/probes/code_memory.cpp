// SPDX-License-Identifier: BSL-1.0
#include "lab/probes/code_memory.hpp"

#include <sys/mman.h>

#include <new>

#include "preload/spin_lock.hpp"
#include "preload/system.hpp"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace millpond::probes {
namespace {

constexpr std::uintptr_t reach = std::uintptr_t{3} << 29, region_bytes = std::uintptr_t{64} << 10;
constexpr std::uintptr_t step = std::uintptr_t{1} << 20;
constexpr unsigned regions_max = 64, steps_max = 1024;

struct region {
    std::uintptr_t first;
    std::size_t used;
};
region regions[regions_max];
unsigned region_count = 0;
constinit preload::spin_lock lock;

std::uintptr_t map_at(std::uintptr_t wanted) noexcept {
    const long at = preload::system_call(SYS_mmap, wanted, region_bytes, PROT_READ | PROT_EXEC,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (at <= 0) return 0;
    const auto got = static_cast<std::uintptr_t>(at);
    if (got == wanted) return got;  // kernels before 4.17 treat the address as a hint
    preload::system_call(SYS_munmap, at, region_bytes);
    return 0;
}

std::uintptr_t map_near(const code_range& module) noexcept {
    const std::uintptr_t mask = region_bytes - 1;
    std::uintptr_t below = (module.first & ~mask) - region_bytes, above = (module.last + mask) & ~mask;
    for (unsigned i = 0; i < steps_max; ++i, below -= step, above += step) {
        if (below < module.first && below > step)
            if (const std::uintptr_t got = map_at(below)) return got;
        if (const std::uintptr_t got = map_at(above)) return got;
    }
    return 0;
}

}  // namespace

bool code_memory::write(std::uintptr_t address, const void* bytes, std::size_t size) noexcept {
    const preload::file memory("/proc/self/mem", O_RDWR);
    if (memory.descriptor() < 0) return false;
    return preload::system_call(SYS_pwrite64, memory.descriptor(), bytes, size, address) == static_cast<long>(size);
}

std::uintptr_t code_memory::take(std::uintptr_t address, const code_range& module, std::size_t bytes) noexcept {
    const preload::spin_guard guard(lock);
    for (unsigned i = 0; i < region_count; ++i) {
        region& r = regions[i];
        const std::uintptr_t away = r.first > address ? r.first - address : address - r.first;
        const std::size_t from = (r.used + bytes - 1) & ~(bytes - 1);
        if (away >= reach || from + bytes > region_bytes) continue;
        r.used = from + bytes;
        return r.first + from;
    }
    if (region_count == regions_max) return 0;
    const std::uintptr_t fresh = map_near(module);
    if (fresh == 0) return 0;
    regions[region_count++] = {fresh, bytes};
    return fresh;
}

void code_memory::adopt() noexcept { new (&lock) preload::spin_lock(); }

}  // namespace millpond::probes
