// SPDX-License-Identifier: BSL-1.0
// output: the files of one recorded process image: blocks are appended to PID.IMAGE.raw, open blocks lie in slots of
// PID.IMAGE.open.
//
// No file descriptor stays open: programs close, count and inherit descriptors, and ours must never be in their way.
// Every call here leaves errno as it was, is no cancellation point, takes no lock of the C library and allocates
// nothing. append: about 5 µs for a block of 64 KB; thread-safe (O_APPEND). Slots: thread-safe (a lock of their own).
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/record/recording.hpp"
#include "preload/spin_lock.hpp"

namespace millpond::record {

class output {
  public:
    // Joins the recording that lives in `directory`; false if there is none, or nothing can be written there.
    bool start(const char* directory, std::uint64_t pid) noexcept;
    // In the child of a fork: forgets the parent's files without touching them.
    void abandon() noexcept;

    // Appends one sealed block, unless the recording was stopped; false if it is lost.
    bool append(const void* block, std::size_t bytes) noexcept;

    // A slot of mpt_slot_bytes in the open file, zeroed at first; null if there is no room.
    std::uint8_t* take_slot() noexcept;
    void give_slot(std::uint8_t* slot) noexcept;

    [[nodiscard]] counters& count() noexcept { return *counters_; }
    [[nodiscard]] recording& shared() noexcept { return *recording_; }
    [[nodiscard]] std::uint64_t image() const noexcept { return image_; }
    preload::spin_lock& lock() noexcept { return lock_; }

  private:
    static constexpr std::size_t path_bytes = 4096;
    static constexpr std::size_t slots_max = 16384;

    void stop(std::uint32_t why) noexcept;
    bool create_open_file() noexcept;

    recording* recording_ = nullptr;
    counters* counters_ = nullptr;
    mpt_open_header* header_ = nullptr;
    std::uint64_t image_ = 0;
    std::uint8_t** slots_ = nullptr;  // by number; mapped one by one
    std::uint8_t* free_slot_ = nullptr;
    preload::spin_lock lock_;
    char raw_path_[path_bytes] = {};
    char open_path_[path_bytes] = {};
};

}  // namespace millpond::record
