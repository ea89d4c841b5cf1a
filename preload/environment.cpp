// SPDX-License-Identifier: BSL-1.0
#include "preload/environment.hpp"

#include <string.h>

#include "preload/pages.hpp"
#include "preload/system.hpp"

extern "C" char** environ;

namespace millpond::preload {

void find_variable(const char* name, char* to, std::size_t room) noexcept {
    const std::size_t name_length = strlen(name);
    to[0] = 0;
    const auto take = [&](const char* line) {
        if (strncmp(line, name, name_length) != 0 || line[name_length] != '=') return false;
        const char* const value = line + name_length + 1;
        if (strlen(value) < room) strcpy(to, value);
        return true;
    };
    if (environ != nullptr) {
        for (char** line = environ; *line != nullptr; ++line)
            if (take(*line)) return;
        return;
    }
    constexpr std::size_t environment_bytes = std::size_t{2} << 20;
    auto* const text = take_pages<char>(environment_bytes);
    if (text == nullptr) return;
    const std::size_t size = file("/proc/self/environ", O_RDONLY).read(text, environment_bytes - 1);
    for (const char* at = text; at < text + size && !take(at); at += strlen(at) + 1) {
    }
    give_pages(text, environment_bytes);
}

bool is_switched_on(const char* name) noexcept {
    char value[8];
    find_variable(name, value, sizeof value);
    return value[0] != '\0' && strcmp(value, "0") != 0;
}

}  // namespace millpond::preload
