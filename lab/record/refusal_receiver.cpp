// SPDX-License-Identifier: BSL-1.0
#include "lab/record/refusal_receiver.hpp"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lab/record/variable.hpp"

namespace millpond::record {

refusal_receiver::refusal_receiver(const std::string& partial)
    : socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    const refusal_address own(partial.c_str());
    const int on = 1;
    if (socket_ < 0) return;
    setsockopt(socket_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    (void)!bind(socket_, reinterpret_cast<const sockaddr*>(&own.name), own.length);
}

refusal_receiver::~refusal_receiver() {
    if (socket_ >= 0) close(socket_);
}

void refusal_receiver::note(mpt_slot_file& shared) const {
    refusal_message message{};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(ucred))];
    while (true) {
        iovec part{&message, sizeof message};
        msghdr header{};
        header.msg_iov = &part;
        header.msg_iovlen = 1;
        header.msg_control = room;
        header.msg_controllen = sizeof room;
        if (recvmsg(socket_, &header, 0) != static_cast<ssize_t>(sizeof message)) return;
        const cmsghdr* const said = CMSG_FIRSTHDR(&header);
        if (message.magic != refusal_message::expected_magic || said == nullptr || said->cmsg_type != SCM_CREDENTIALS)
            continue;
        ucred sender{};
        memcpy(&sender, CMSG_DATA(said), sizeof sender);
        const std::uint64_t at = __atomic_fetch_add(&shared.refusals, 1, __ATOMIC_RELAXED);
        if (at < mpt_refusals_max) shared.refused[at] = {static_cast<std::uint64_t>(sender.pid), message.error, 0};
    }
}

}  // namespace millpond::record
