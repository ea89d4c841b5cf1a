// SPDX-License-Identifier: BSL-1.0
#include "preload/own_program.hpp"

#include <string.h>
#include <sys/auxv.h>

#include "preload/system.hpp"

namespace millpond::preload {
namespace {

bool is_dynamic_linker(const char* path, std::size_t length) noexcept {
    static constexpr char name[] = "/ld-linux";
    return memmem(path, length, name, sizeof name - 1) != nullptr;
}

std::size_t read_link(const char* link, char* to, std::size_t room) noexcept {
    const long n = system_call(SYS_readlinkat, AT_FDCWD, link, to, room - 1);
    const std::size_t length = n > 0 ? static_cast<std::size_t>(n) : 0;
    to[length] = '\0';
    return length;
}

}  // namespace

std::size_t own_program(char* to, std::size_t room) noexcept {
    const std::size_t length = read_link("/proc/self/exe", to, room);
    if (!is_dynamic_linker(to, length)) return length;
    // The dynamic linker passes the program's name there.
    const auto* const given = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    const file program(given != nullptr ? given : "", O_PATH);
    if (program.descriptor() < 0) return length;
    char link[40] = "/proc/self/fd/";
    char digits[20];
    std::size_t count = 0;
    for (long rest = program.descriptor(); rest > 0 || count == 0; rest /= 10)
        digits[count++] = "0123456789"[rest % 10];
    std::size_t at = strlen(link);
    while (count > 0) link[at++] = digits[--count];
    link[at] = 0;
    const std::size_t found = read_link(link, to, room);
    return found != 0 ? found : read_link("/proc/self/exe", to, room);
}

}  // namespace millpond::preload
