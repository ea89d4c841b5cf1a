// SPDX-License-Identifier: BSL-1.0
#include "lab/record/output.hpp"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "lab/record/system.hpp"
#include "preload/pages.hpp"

namespace millpond::record {
namespace {

// "directory/PID.IMAGE.suffix"; no snprintf, which may allocate.
bool make_path(char* to, std::size_t room, const char* directory, std::uint64_t pid, std::uint64_t image,
               const char* suffix) noexcept {
    const std::size_t length = strlen(directory);
    if (length + 64 > room) return false;
    memcpy(to, directory, length);
    char* at = to + length;
    const auto number = [&at](std::uint64_t value) {
        char digits[20];
        unsigned count = 0;
        do digits[count++] = static_cast<char>('0' + value % 10);
        while ((value /= 10) != 0);
        while (count > 0) *at++ = digits[--count];
    };
    *at++ = '/';
    number(pid);
    *at++ = '.';
    number(image);
    strcpy(at, suffix);
    return true;
}

void* map_shared(long descriptor, std::size_t bytes, std::uint64_t offset) noexcept {
    const long p = system_call(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor,
                               static_cast<off_t>(offset));
    return p < 0 && p > -4096 ? nullptr : reinterpret_cast<void*>(p);
}

// Whether a file of ours may become this long: beyond its own limit on file sizes, a program is ended by a signal.
bool within_size_limit(std::uint64_t bytes) noexcept {
    struct rlimit limit{};
    return system_call(SYS_getrlimit, RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur;
}

// Reserves the blocks of a file's range, so that no later store into its mapping can fail (SIGBUS). 0 or errno.
int reserve(const file& f, std::uint64_t offset, std::size_t bytes) noexcept {
    if (!within_size_limit(offset + bytes)) return EFBIG;
    const long result =
        system_call(SYS_fallocate, f.descriptor(), 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
    if (result >= 0) return 0;
    if (result != -EOPNOTSUPP && result != -ENOSYS) return static_cast<int>(-result);
    static constexpr char zeros[4096] = {};
    for (std::size_t done = 0; done < bytes; done += sizeof zeros) {
        const long n =
            system_call(SYS_pwrite64, f.descriptor(), zeros, sizeof zeros, static_cast<off_t>(offset + done));
        if (n != static_cast<long>(sizeof zeros)) return n < 0 ? static_cast<int>(-n) : ENOSPC;
    }
    return 0;
}

}  // namespace

bool output::start(const char* directory, std::uint64_t pid) noexcept {
    char path[path_bytes];
    if (strlen(directory) + 64 > sizeof path) return false;
    strcpy(path, directory);
    strcat(path, "/recording");
    const file shared(path, O_RDWR);
    if (shared.descriptor() < 0) return false;
    recording_ = static_cast<recording*>(map_shared(shared.descriptor(), mpt_open_header_bytes, 0));
    if (recording_ == nullptr || recording_->magic != recording::expected_magic ||
        recording_->version != recording::expected_version)
        return false;

    constexpr std::uint64_t images_max = 100000;
    for (image_ = 0; image_ < images_max; ++image_) {
        if (!make_path(raw_path_, path_bytes, directory, pid, image_, ".raw")) return false;
        const file raw(raw_path_, O_WRONLY | O_CREAT | O_EXCL, 0644);
        if (raw.descriptor() == -EEXIST) continue;
        if (raw.descriptor() < 0) return false;
        make_path(open_path_, path_bytes, directory, pid, image_, ".open");
        return create_open_file();
    }
    return false;
}

bool output::create_open_file() noexcept {
    const file open(open_path_, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (open.descriptor() < 0) return false;
    if (const int error = reserve(open, 0, mpt_open_header_bytes); error != 0) {
        stop(static_cast<std::uint32_t>(error));
        return false;
    }
    header_ = static_cast<mpt_open_header*>(map_shared(open.descriptor(), mpt_open_header_bytes, 0));
    slots_ = preload::take_pages<std::uint8_t*>(slots_max * sizeof(std::uint8_t*));
    if (header_ == nullptr || slots_ == nullptr) return false;
    *header_ = {mpt_open_magic, mpt_version, mpt_slot_bytes, 0};
    counters_ = reinterpret_cast<counters*>(reinterpret_cast<std::uint8_t*>(header_) + counters::offset);
    return true;
}

void output::abandon() noexcept {
    for (std::uint32_t i = 0; slots_ != nullptr && i < slots_max && slots_[i] != nullptr; ++i)
        munmap(slots_[i], mpt_slot_bytes);
    preload::give_pages(slots_, slots_max * sizeof(std::uint8_t*));
    if (header_ != nullptr) munmap(header_, mpt_open_header_bytes);
    if (recording_ != nullptr) munmap(recording_, mpt_open_header_bytes);
    recording_ = nullptr;
    counters_ = nullptr;
    header_ = nullptr;
    slots_ = nullptr;
    free_slot_ = nullptr;
}

void output::stop(std::uint32_t why) noexcept {
    std::uint32_t none = 0;
    __atomic_compare_exchange_n(&recording_->stopped, &none, why, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (counters_ != nullptr) __atomic_store_n(&counters_->stopped, why, __ATOMIC_RELAXED);
}

bool output::append(const void* block, std::size_t bytes) noexcept {
    if (const std::uint32_t why = __atomic_load_n(&recording_->stopped, __ATOMIC_RELAXED); why != 0) {
        stop(why);
        return false;
    }
    const std::uint64_t total = __atomic_add_fetch(&recording_->bytes_written, bytes, __ATOMIC_RELAXED);
    if (recording_->bytes_max != 0 && total > recording_->bytes_max) {
        stop(1);
        return false;
    }
    if (!within_size_limit(total)) {
        stop(EFBIG);
        return false;
    }
    const file raw(raw_path_, O_WRONLY | O_APPEND);
    const int error = raw.descriptor() < 0 ? static_cast<int>(-raw.descriptor()) : raw.write(block, bytes);
    if (error != 0) stop(static_cast<std::uint32_t>(error));
    return error == 0;
}

std::uint8_t* output::take_slot() noexcept {
    const preload::spin_guard guard(lock_);
    if (free_slot_ != nullptr) {
        std::uint8_t* const slot = free_slot_;
        memcpy(&free_slot_, slot + mpt_header_bytes, sizeof free_slot_);
        return slot;
    }
    const std::uint32_t number = header_->slots;
    if (number == slots_max) return nullptr;
    const std::uint64_t offset = mpt_open_header_bytes + std::uint64_t{number} * mpt_slot_bytes;
    const file open(open_path_, O_RDWR);
    if (open.descriptor() < 0) return nullptr;
    if (const int error = reserve(open, offset, mpt_slot_bytes); error != 0) {
        stop(static_cast<std::uint32_t>(error));
        return nullptr;
    }
    auto* const slot = static_cast<std::uint8_t*>(map_shared(open.descriptor(), mpt_slot_bytes, offset));
    if (slot == nullptr) return nullptr;
    slots_[number] = slot;
    __atomic_store_n(&header_->slots, number + 1, __ATOMIC_RELEASE);
    return slot;
}

void output::give_slot(std::uint8_t* slot) noexcept {
    const preload::spin_guard guard(lock_);
    reinterpret_cast<mpt_block_header*>(slot)->magic = 0;
    memcpy(slot + mpt_header_bytes, &free_slot_, sizeof free_slot_);
    free_slot_ = slot;
}

}  // namespace millpond::record
