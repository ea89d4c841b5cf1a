// SPDX-License-Identifier: BSL-1.0
// slot_reader: reads the processes of an unfinished recording from its slot file (slot_file.h).
//
//   FILE.partial ─▶ header, processes ─▶ of each: its counters, and where its blocks lie
//
// Use it to finish a recording, also while other processes still write; it does not see slots that they take later.
// Damaged parts are left out. Memory: 96 bytes for each block of the process that is read. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/trace/block_file.hpp"
#include "lab/trace/slot_file.h"

namespace millpond::trace {

// A process that has written into the file.
struct slot_process {
    std::uint64_t number;  // of its first slot
    mpt_slot_process facts;
    std::vector<std::uint64_t> slots;
};

struct slot_block {
    std::uint64_t offset;  // of its header, in the file
    mpt_block_header header;
    bool sealed;
    bool alone, last;          // the only block, or the last one, in its slot
    std::uint32_t room_bytes;  // of an open block's payload, at most
    // The time since when nothing is written into its slot, which has events only; 0: any other slot.
    std::uint64_t closed_tick = 0;
};

class slot_reader {
  public:
    // Throws std::system_error if the file cannot be opened, trace_error if it is not a slot file of this version.
    explicit slot_reader(const std::string& path);
    ~slot_reader();
    slot_reader(const slot_reader&) = delete;
    slot_reader& operator=(const slot_reader&) = delete;

    // Returns whether `path` is a slot file of any version, and so a file of ours.
    static bool is_slot_file(const std::string& path) noexcept;

    const mpt_slot_file& header() const { return header_; }
    // The processes in the order in which they began.
    const std::vector<slot_process>& processes() const { return processes_; }

    // The blocks of one process: process, modules and contexts by their numbers, then events by time.
    std::vector<slot_block> blocks(const slot_process& process) const;

    // The time of the last cut of a ring in this process; 0: nothing was dropped.
    std::uint64_t cut_tick(const slot_process& process) const;
    // Takes adjacent slots for this many bytes each behind all others; 0 if there is no room.
    std::uint64_t claim(std::uint64_t count) const noexcept;
    // Writes into the file; false if that is impossible.
    bool write(std::uint64_t offset, const void* from, std::size_t bytes) const noexcept;
    // From now on, slots from `first` on are what is carried over a cut, and those that it dropped do not count.
    bool commit_cut(slot_process& process, std::uint64_t first) const noexcept;

    // Returns false if the file cannot be read there.
    bool read(std::uint64_t offset, void* to, std::size_t bytes) const;

    // Records that the trace of this process has been written, and releases the disk space of its slots: with
    // `may_write`, not of those with an open block, into which a thread may still write.
    void mark_finished(const slot_process& process, bool may_write = false);
    // Records the number in the name of the last trace of a recording that sleeps and wakes.
    void note_stretch(std::uint32_t number);
    // Puts a recording that sleeps and wakes to sleep. Returns whether it was awake.
    bool put_to_sleep();

    // Releases the disk space of whole pages in this range of the file.
    void punch(std::uint64_t offset, std::uint64_t bytes) const noexcept;
    // Records, and syncs to the disk, that the trace of this process continues in the file with this name end.
    bool note_unfinished(const slot_process& process, const std::string& name_end) const noexcept;

    std::uint64_t device() const { return device_; }
    std::uint64_t inode() const { return inode_; }

  private:
    mpt_slot carried_head(const slot_process& process) const;

    std::string path_;
    int descriptor_ = -1;
    bool writable_ = false;
    mpt_slot_file header_{};
    std::uint64_t device_ = 0, inode_ = 0;
    std::vector<slot_process> processes_;
};

}  // namespace millpond::trace
