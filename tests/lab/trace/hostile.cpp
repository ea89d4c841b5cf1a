// SPDX-License-Identifier: BSL-1.0
#include "hostile.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "lab/trace/reader.hpp"
#include "lab/trace/seal.h"

namespace millpond::test {

void reseal(std::string& bytes) {
    for (std::size_t at = 0; at + mpt_header_bytes <= bytes.size();) {
        mpt_block_header header;
        std::memcpy(&header, bytes.data() + at, sizeof header);
        const std::size_t behind = bytes.size() - at - sizeof header;
        header.frame_magic = mpt_frame_magic;
        header.magic = mpt_magic;
        header.stored_bytes = static_cast<std::uint32_t>(std::min<std::size_t>(header.stored_bytes & 0xFFFFF, behind));
        const bool raw = header.codec == mpt_raw;
        if (raw) header.payload_bytes = header.stored_bytes;
        header.frame_bytes = mpt_header_bytes - mpt_frame_prefix_bytes + (raw ? header.stored_bytes : 0);
        header.checksum = mpt_checksum(header, bytes.data() + at + sizeof header);
        std::memcpy(bytes.data() + at, &header, sizeof header);
        at += sizeof header + header.stored_bytes;
    }
}

std::uint64_t read_and_check(const std::string& path) {
    const auto promise = [](bool kept, const char* what) {
        if (!kept) throw std::logic_error(std::string("a reader's promise is broken: ") + what);
    };
    trace::reader reader(path);
    const auto& contexts = reader.contexts();
    promise(!contexts.empty(), "contexts() has the outside");
    std::vector<bool> reaches_outside(contexts.size(), false);
    reaches_outside[0] = true;
    for (std::uint32_t start = 1; start < contexts.size(); ++start) {
        std::size_t steps = 0;
        std::uint32_t id = start;
        for (; !reaches_outside[id]; id = contexts[id].parent) {
            promise(contexts[id].parent < contexts.size(), "parents exist");
            promise(++steps <= contexts.size(), "walks to the outside end");
        }
        for (id = start; !reaches_outside[id]; id = contexts[id].parent) reaches_outside[id] = true;
    }
    for (std::size_t i = 0; i < reader.modules().size(); ++i)
        promise(reader.modules()[i].id == i + 1, "modules stand at their ids");
    std::uint64_t events = 0;
    reader.for_each_batch([&](const trace::event* batch, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            promise(batch[i].context < contexts.size(), "contexts exist");
            promise(batch[i].alignment_log2 < 64, "alignments can be shifted by");
            promise(batch[i].op <= trace::operation::note, "operations are known");
        }
        events += count;
    });
    promise(events <= reader.event_count(), "no more events than the blocks announce");
    promise(events == reader.event_count() || !reader.damages().empty(), "lost events are reported");
    return events;
}

memory_file::memory_file() : descriptor_(::memfd_create("trace", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::runtime_error("memfd_create failed");
}

memory_file::~memory_file() { ::close(descriptor_); }

void memory_file::write(const std::string& bytes) {
    if (::ftruncate(descriptor_, 0) != 0 ||
        ::pwrite(descriptor_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        throw std::runtime_error("cannot write to memory");
}

}  // namespace millpond::test
