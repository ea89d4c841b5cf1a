// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/process_record.hpp"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "preload/own_program.hpp"
#include "preload/real.hpp"

namespace millpond::trial {
namespace {

process_slot shared_by_the_rest;

constexpr std::size_t head_bytes = offsetof(control, processes);

std::size_t mapped_bytes(const control& shared) noexcept {
    return shared.mode == variant::survey ? sizeof(control) : head_bytes;
}

// Copies as much as fits, always with a zero at the end.
template <std::size_t Size>
void copy_text(char (&to)[Size], const char* from) noexcept {
    const std::size_t length = strnlen(from, Size - 1);
    memcpy(to, from, length);
    to[length] = '\0';
}

int note_one(dl_phdr_info* info, std::size_t, void* executable) noexcept {
    module_identity identity;
    identity.bias = info->dlpi_addr;
    identity.path =
        info->dlpi_name != nullptr && info->dlpi_name[0] != '\0' ? info->dlpi_name : static_cast<char*>(executable);
    // The kernel's own module has no file.
    if (strchr(identity.path, '/') == nullptr) return 0;
    build_id_from_headers(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr, identity.build_id);
    process_record::note_module(identity);
    return 0;
}

}  // namespace

control* process_record::map_control(const char* path) noexcept {
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return nullptr;
    const auto map = [file](std::size_t bytes) {
        return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    };
    void* mapped = MAP_FAILED;
    if (lseek(file, 0, SEEK_END) == static_cast<off_t>(sizeof(control))) mapped = map(head_bytes);
    if (mapped != MAP_FAILED && static_cast<control*>(mapped)->mode == variant::survey) {
        munmap(mapped, head_bytes);
        mapped = map(sizeof(control));
    }
    close(file);
    if (mapped == MAP_FAILED) return nullptr;
    auto* const shared = static_cast<control*>(mapped);
    if (shared->magic != control::magic_value || shared->bytes != sizeof(control)) {
        munmap(mapped, mapped_bytes(*shared));
        return nullptr;
    }
    path_ = path;
    return shared_ = shared;
}

// Shared, as in a round, so that slots are mapped and counted in the same way.
control* process_record::make_control(const char* image_build_id) noexcept {
    void* const mapped = mmap(nullptr, sizeof(control), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    munmap(static_cast<char*>(mapped) + head_bytes, sizeof(control) - head_bytes);
    auto* const shared = static_cast<control*>(mapped);
    shared->bytes = sizeof(control);
    shared->mode = variant::plan;
    shared->magic = control::magic_value;
    copy_text(shared->image_build_id, image_build_id);
    return shared_ = shared;
}

// Maps a shared mapping again, longer, and unmaps all of it except the slot. Starts from the nearer mapped slot, or
// else from the head. The kernel does this when it moves a mapping of 0 bytes.
process_slot* process_record::map_slot(std::uint32_t index) noexcept {
    if (index >= control::slots) return nullptr;
    if (shared_->mode == variant::survey) return shared_->processes + index;
    const bool near = mapped_ != nullptr && mapped_index_ < index;
    const std::size_t before =
        near ? (index - mapped_index_) * sizeof(process_slot) : head_bytes + index * sizeof(process_slot);
    void* const from = near ? static_cast<void*>(mapped_) : static_cast<void*>(shared_);
    void* const mapped = mremap(from, 0, before + sizeof(process_slot), MREMAP_MAYMOVE);
    process_slot* slot = nullptr;
    if (mapped != MAP_FAILED) {
        munmap(mapped, before);
        slot = reinterpret_cast<process_slot*>(static_cast<char*>(mapped) + before);
    } else {
        slot = map_slot_from_file(index);
    }
    if (slot == nullptr) return nullptr;
    // Keeps the parent's slot mapped, because an interrupted call of the parent may still write to it; unmaps older
    // ones.
    if (inherited_ != nullptr) munmap(inherited_, sizeof(process_slot));
    inherited_ = mapped_;
    mapped_ = slot;
    mapped_index_ = index;
    return mapped_;
}

// An emulator may be unable to map a mapping again. The file is another way, while millpond-trial runs.
process_slot* process_record::map_slot_from_file(std::uint32_t index) noexcept {
    const int file = path_ != nullptr ? open(path_, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return nullptr;
    void* const mapped = mmap(nullptr, sizeof(process_slot), PROT_READ | PROT_WRITE, MAP_SHARED, file,
                              static_cast<off_t>(head_bytes + index * sizeof(process_slot)));
    close(file);
    return mapped == MAP_FAILED ? nullptr : static_cast<process_slot*>(mapped);
}

process_slot* process_record::claim(const process_identity& identity) noexcept {
    slot_index_ = __atomic_fetch_add(&shared_->slots_claimed, 1, __ATOMIC_RELAXED);
    process_slot* slot = map_slot(slot_index_);
    if (slot == nullptr) slot = &shared_by_the_rest;
    slot->pid = static_cast<std::int32_t>(syscall(SYS_getpid));
    slot->identity = identity;
    return slot;
}

void process_record::identify(process_identity& identity) noexcept {
    preload::own_program(identity.executable, sizeof identity.executable);
    const auto* const headers = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
    const std::size_t count = getauxval(AT_PHNUM);
    std::uintptr_t bias = 0;
    for (std::size_t i = 0; i < count; ++i)
        if (headers[i].p_type == PT_PHDR) bias = reinterpret_cast<std::uintptr_t>(headers) - headers[i].p_vaddr;
    build_id_from_headers(headers, count, bias, identity.build_id);
}

bool process_record::concerns(control& shared, const process_identity& identity) noexcept {
    if (shared.image_build_id[0] == '\0' || strcmp(shared.image_build_id, identity.build_id) == 0) return true;
    __atomic_fetch_add(&shared.other_processes, 1, __ATOMIC_RELAXED);
    munmap(&shared, mapped_bytes(shared));
    shared_ = nullptr;
    return false;
}

void process_record::describe(process_slot& slot) noexcept {
    copy_text(slot.provider, preload::real::provider_path());
    slot.malloc_in_executable = preload::real::in_executable();
}

process_slot* process_record::claim_for_child(process_slot& parent) noexcept {
    process_slot* const slot = claim(parent.identity);
    if (slot == &parent) return slot;
    slot->range_bytes = parent.range_bytes;
    slot->malloc_in_executable = parent.malloc_in_executable;
    copy_text(slot->provider, parent.provider);
    return slot;
}

thread_counters* process_record::claim_line(process_slot& slot, std::uint64_t thread) noexcept {
    // The line of an earlier thread that could not release it.
    for (thread_counters& line : slot.threads)
        if (__atomic_load_n(&line.claimed, __ATOMIC_ACQUIRE) == thread) return &line;
    for (thread_counters& line : slot.threads) {
        std::uint64_t seen = 0;
        if (__atomic_load_n(&line.claimed, __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(&line.claimed, &seen, thread, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return &line;
    }
    return &slot.threads[process_slot::thread_lines - 1];
}

void process_record::release_line(process_slot& slot, thread_counters* line) noexcept {
    // The last line may have several users, so it stays claimed.
    if (line != nullptr && line != &slot.threads[process_slot::thread_lines - 1])
        __atomic_store_n(&line->claimed, 0, __ATOMIC_RELEASE);
}

void process_record::note_module(const module_identity& identity) noexcept {
    const std::size_t path_bytes = strlen(identity.path) + 1, id_bytes = strlen(identity.build_id) + 1;
    const auto bytes =
        static_cast<std::uint32_t>((sizeof(survey_record) + path_bytes + id_bytes + 7) & ~std::size_t{7});
    const std::uint32_t at = __atomic_fetch_add(&shared_->survey_used, bytes, __ATOMIC_RELAXED);
    if (at + bytes > control::survey_bytes || at + bytes < at) {
        shared_->survey_full = 1;
        return;
    }
    auto* const record = reinterpret_cast<survey_record*>(shared_->survey + at);
    record->bytes = bytes;
    record->pid = getpid();
    record->slot = slot_index_;
    char* const text = reinterpret_cast<char*>(record + 1);
    memcpy(text, identity.path, path_bytes);
    memcpy(text + path_bytes, identity.build_id, id_bytes);
    __atomic_store_n(&record->ready, 1, __ATOMIC_RELEASE);
}

void process_record::note_loaded_modules(const process_slot& slot) noexcept {
    dl_iterate_phdr(&note_one, const_cast<char*>(slot.identity.executable));
}

}  // namespace millpond::trial
