// SPDX-License-Identifier: BSL-1.0
// output: the slots of one recorded process in FILE.partial (lab/trace/slot_file.h).
//
//   claim a number in slot 0 ─▶ map the slot, make it ready 16 KiB at a time ─▶ open block ─(full)▶ seal
//                                            ▲                                  ▲                   │ copied by pwrite
//                                            │                                  └── the same slot ──┤ to another slot,
//                                            └───────────── map another slot ───────────────────────┘ or left there
//
// No descriptor stays open. A full block is copied into the file through a descriptor that is opened for it, which is
// the fastest way. If that is impossible (no free descriptor; another root directory, user or limit on file sizes),
// blocks stay in the slots in which they were written. New slots are then mapped from the present mapping (mremap),
// which needs neither descriptor nor path. So a program's changes to itself do not end its recording, and a child of
// fork continues with the inherited mapping. "Ready" means that the disk has room for the pages, so that no store can
// fail. MADV_POPULATE_WRITE ensures that without a descriptor (Linux 5.14; before it, the file is opened and fallocate
// called).
//
// After map_ahead the process takes slots from the memory mapped then and makes no further system call for them. This
// is for programs that forbid themselves system calls.
//
// Every call keeps errno, is not a cancellation point, takes no lock of the C library and allocates nothing.
// take_slot: about 5 µs; write_out of a full slot: 15 µs. Thread-safe.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>

#include "lab/record/system.hpp"
#include "lab/trace/format.h"
#include "lab/trace/slot_file.h"
#include "preload/fork_mark.hpp"
#include "preload/holder_lock.hpp"

namespace millpond::record {

// A mapped slot. Its first `ready_bytes` may be written.
struct slot {
    std::uint8_t* begin = nullptr;
    std::uint32_t ready_bytes = 0;

    explicit operator bool() const noexcept { return begin != nullptr; }
    [[nodiscard]] std::uint8_t* block() const noexcept { return begin + mpt_slot_head_bytes; }
    [[nodiscard]] std::uint32_t block_bytes() const noexcept { return ready_bytes - mpt_slot_head_bytes; }
};

// The path and identity of FILE.partial: in another root directory the name may belong to another file.
struct partial_file {
    char path[4096];
    struct stat status;

    [[nodiscard]] bool is(const file& f) const noexcept;
};

class output {
  public:
    // Joins the recording whose slot file lies at this path, and stores the file's identity; the file must stay.
    // Returns: 0, or the errno of a failure.
    int open(partial_file& partial) noexcept;
    // In a forked child, and in a further stretch of this process: joins the recording of the former.
    void inherit(const output& former) noexcept;
    // Takes the first slot of this process, for the stretch of that turn; false if there is no room, which is then
    // noted in slot 0.
    bool start(std::uint64_t pid, std::uint32_t turn) noexcept;
    // Notes in slot 0 that this process has no trace.
    void refuse(std::uint64_t pid, std::uint32_t error) noexcept;
    // Ends the recording of this process for that reason, unless it has ended before.
    void stop(std::uint32_t why) noexcept;
    // Unmaps the process's own slots; for the copy of a parent's output in its child.
    void abandon() noexcept;
    // The same for a stretch that has ended in this process. No thread may be inside.
    void close() noexcept;

    // Appends a small sealed block behind others; false if it is lost.
    bool append(const void* block, std::size_t bytes) noexcept;

    // Returns a slot whose first part is ready. Empty if nothing can be written any more; count().stopped has the
    // reason. `is_needed`: false if the caller has another place to write to; then a lack of memory does not stop the
    // recording.
    slot take_slot(bool is_needed = true) noexcept;
    // Makes more of the slot ready; false if it is whole already, or there is no room.
    bool make_ready(slot& s) noexcept;
    // Copies a slot with a sealed block of this many bytes to another place of the file; false if it must stay.
    bool write_out(const slot& s, std::size_t bytes) noexcept;
    // Unmaps a slot with a sealed block that stays there.
    void leave(const slot& s) noexcept;
    // Empties a slot whose block was copied elsewhere and keeps it for another thread.
    void give_slot(const slot& s) noexcept;

    // Counts one event as lost for that reason.
    void lose(mpt_lost why) noexcept {
        __atomic_add_fetch(&process_->lost_by[why], 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&process_->events_lost, 1, __ATOMIC_RELAXED);
    }

    // Maps this many bytes of slots now, and no more later.
    void map_ahead(std::uint64_t bytes) noexcept;
    [[nodiscard]] bool is_mapped_ahead() const noexcept { return ahead_first_ != nullptr; }

    // A signal handler may fork while a hook of its thread is at work, and the child may return into that hook. Then
    // the hook's further writes to the copy of its parent's output must not reach the file. Replaces the slot, and the
    // slots of the process, by private memory.
    static void isolate(const slot& s) noexcept;
    void isolate() noexcept;
    // From now on only the calling process may use the output, until retire().
    void settle() noexcept { phase_ = settled; }
    void retire() noexcept { phase_ = retired; }
    [[nodiscard]] bool is_live() const noexcept {
        return phase_ == starting || (phase_ == settled && preload::fork_mark::is_set());
    }

    [[nodiscard]] mpt_slot_process& count() noexcept { return *process_; }
    [[nodiscard]] mpt_slot_file& shared() const noexcept { return *file_; }

  private:
    static constexpr unsigned few_kept = 64, kept_max = 1u << 16;
    static constexpr std::uint64_t batch_max = 64;

    // A page of the file that stays mapped, from which others are mapped.
    struct anchor {
        std::uint8_t* page = nullptr;
        std::uint64_t number = 0;  // of the slot that begins there
    };

    class guard;

    bool needs_length(std::uint64_t number) const noexcept;
    void lengthen(const file& f, std::uint64_t number) noexcept;
    slot claim() noexcept;
    slot claim_ahead() noexcept;
    bool map_batch(std::uint64_t wanted) noexcept;
    std::uint8_t* map(std::uint64_t number, std::uint64_t count) noexcept;
    std::uint8_t* map_from_file(std::uint64_t number, std::uint64_t count) noexcept;
    void move_anchor(std::uint8_t* page, std::uint64_t number) noexcept;
    bool keep(const slot& s) noexcept;
    bool populate(const slot& s, std::uint32_t bytes, std::uint64_t number = 0) noexcept;
    void own(const slot& s, std::uint32_t first_block) noexcept;
    void count_sealed(std::size_t bytes) noexcept;
    void close_slot(const slot& s) noexcept;

    enum phases : std::uint8_t { starting, settled, retired };

    const partial_file* partial_ = nullptr;
    mpt_slot_file* file_ = nullptr;
    mpt_slot_process* process_ = nullptr;
    std::uint64_t number_ = 0;  // of the process's first slot
    anchor anchor_;
    slot notes_;  // where small blocks go
    std::uint32_t notes_end_ = 0;
    slot first_;
    // Mapped but unused: a process of many threads maps many slots at once, because mappings are limited.
    std::uint8_t* spare_ = nullptr;
    std::uint64_t spare_count_ = 0, spare_number_ = 0, claimed_ = 0;
    slot first_kept_[few_kept];
    slot* kept_ = first_kept_;
    unsigned kept_count_ = 0;
    std::uint8_t* ahead_first_ = nullptr;
    std::uint64_t ahead_count_ = 0, ahead_number_ = 0, ahead_next_ = 0;
    std::uint32_t last_error_ = 0;
    phases phase_ = starting;
    preload::holder_lock lock_;
};

}  // namespace millpond::record
