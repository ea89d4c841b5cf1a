// SPDX-License-Identifier: BSL-1.0
#include "lab/record/variable.hpp"

#include <string.h>

#include "lab/record/system.hpp"
#include "preload/pages.hpp"

extern "C" char** environ;

namespace millpond::record {

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
    auto* const text = preload::take_pages<char>(environment_bytes);
    if (text == nullptr) return;
    const std::size_t size = file("/proc/self/environ", O_RDONLY).read(text, environment_bytes - 1);
    for (const char* at = text; at < text + size && !take(at); at += strlen(at) + 1) {
    }
    preload::give_pages(text, environment_bytes);
}

void say_refused(const char* file, int error) noexcept {
    const long socket = system_call(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) return;
    const refusal_address to(file);
    const refusal_message message{refusal_message::expected_magic, static_cast<std::uint32_t>(error)};
    system_call(SYS_sendto, socket, &message, sizeof message, MSG_NOSIGNAL, &to.name, to.length);
    system_call(SYS_close, socket);
}

}  // namespace millpond::record
