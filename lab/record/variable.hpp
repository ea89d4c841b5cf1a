// SPDX-License-Identifier: BSL-1.0
// variable: the environment variables and messages between millpond-record and the recorders in the processes.
//
//   millpond-record ──MILLPOND_RECORD=FILE.partial──▶ process ──opens it──▶ is recorded
//                  ◀──one datagram: why it cannot open it── (another user, another root directory, no descriptor)
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>

#include "preload/environment.hpp"

namespace millpond::record {

// Environment variable that names FILE.partial (absolute) to a recorded process.
inline constexpr char variable[] = "MILLPOND_RECORD";

// Set if the words at allocations are sampled (--owners).
inline constexpr char owners_variable[] = "MILLPOND_OWNERS";

// Set if the contexts of frees are recorded (--frees).
inline constexpr char frees_variable[] = "MILLPOND_FREES";

// The message of a process that cannot open FILE.partial. The kernel adds the sender's identity.
struct refusal_message {
    uint32_t magic;
    uint32_t error;  // errno

    static constexpr uint32_t expected_magic = 0x5254504D;  // "MPTR"
};

// The address of such messages: a name without a file, from a hash of FILE.partial's path, so that neither directory
// nor permission is needed.
struct refusal_address {
    sockaddr_un name{};
    socklen_t length = 0;

    explicit refusal_address(const char* partial) noexcept {
        uint64_t hash = 0xcbf29ce484222325u;
        for (; *partial != 0; ++partial) hash = (hash ^ static_cast<unsigned char>(*partial)) * 0x100000001b3u;
        name.sun_family = AF_UNIX;
        constexpr char prefix[] = "\0millpond-record-";
        size_t at = 0;
        for (; at < sizeof prefix - 1; ++at) name.sun_path[at] = prefix[at];
        for (int i = 0; i < 16; ++i, hash >>= 4) name.sun_path[at++] = "0123456789abcdef"[hash & 15];
        length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + at);
    }
};

// For the recorder: returns the variable's value; empty if it is not set.
inline void find_file(char* to, std::size_t room) noexcept { preload::find_variable(variable, to, room); }
// For the recorder: tells millpond-record that this process image has no trace, and why.
void say_refused(const char* file, int error) noexcept;

}  // namespace millpond::record
