// SPDX-License-Identifier: BSL-1.0
#include "lab/record/variable.hpp"

#include "lab/record/system.hpp"

namespace millpond::record {

void say_refused(const char* file, int error) noexcept {
    const long socket = system_call(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) return;
    const refusal_address to(file);
    const refusal_message message{refusal_message::expected_magic, static_cast<std::uint32_t>(error)};
    system_call(SYS_sendto, socket, &message, sizeof message, MSG_NOSIGNAL, &to.name, to.length);
    system_call(SYS_close, socket);
}

}  // namespace millpond::record
