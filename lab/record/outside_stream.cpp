// SPDX-License-Identifier: BSL-1.0
#include "lab/record/outside_stream.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "lab/trace/seal.h"

namespace millpond::record {

outside_stream::outside_stream(std::string partial, mpt_slot_file& shared, const trace::slot_reader& from,
                               const trace::slot_process& process, std::uint64_t tick)
    : partial_(std::move(partial)), shared_(shared), process_(process.number), tick_(tick), slot_(mpt_slot_bytes) {
    for (const trace::slot_block& block : from.blocks(process))
        if (block.header.kind == mpt_events && block.header.thread == mpt_stream_outside) ++sequence_;
    const mpt_slot head{mpt_slot_magic, mpt_slot_head_bytes, process_, 0, 0, 0, {}};
    memcpy(slot_.data(), &head, sizeof head);
    open_block();
}

void outside_stream::open_block() {
    mpt_open_block(&writer_, slot_.data() + mpt_slot_head_bytes, mpt_slot_bytes - mpt_slot_head_bytes,
                   mpt_stream_outside, sequence_++, tick_);
}

void outside_stream::note(unsigned subject, std::uint64_t value) {
    mpt_write_note(&writer_, subject, value, writer_.count == 0 ? tick_ : 0);
    if (mpt_full(&writer_)) flush();
}

void outside_stream::flush() {
    if (writer_.count == 0) return;
    auto* const header = reinterpret_cast<mpt_block_header*>(writer_.block);
    const std::size_t bytes = mpt_slot_head_bytes + std::size_t{mpt_seal_block(header, writer_.count)};
    const std::uint64_t number = __atomic_fetch_add(&shared_.slots, 1, __ATOMIC_RELAXED);
    errno = EFBIG;
    const int file = number < shared_.slots_max ? open(partial_.c_str(), O_WRONLY | O_CLOEXEC) : -1;
    const ssize_t written =
        file < 0 ? -1 : pwrite(file, slot_.data(), bytes, static_cast<off_t>(number * std::uint64_t{mpt_slot_bytes}));
    const int error = written < 0 ? errno : ENOSPC;
    if (file >= 0) close(file);
    if (written != static_cast<ssize_t>(bytes))
        throw std::system_error(error, std::generic_category(), "cannot write into " + partial_);
    __atomic_add_fetch(&shared_.bytes_sealed, bytes, __ATOMIC_RELAXED);
    open_block();
}

}  // namespace millpond::record
