// SPDX-License-Identifier: BSL-1.0
#include "lab/record/output.hpp"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "lab/record/system.hpp"
#include "millpond/os/pages.hpp"
#include "preload/machine.hpp"
#include "preload/pages.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace millpond::record {
namespace {

// Returns the bytes of a slot that are made ready at once: whole pages.
std::uint32_t step_bytes() noexcept {
    constexpr std::uint32_t usual = 16384;
    const auto page = static_cast<std::uint32_t>(os::pages::size());
    return page > usual ? page : usual;
}
static_assert(mpt_slot_bytes % preload::machine::page_bytes_max == 0);

// Beyond its own limit on file sizes, a signal would end the program.
bool is_within_limit(std::uint64_t bytes) noexcept {
    struct rlimit limit{};
    return system_call(SYS_getrlimit, RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur;
}

void unmap(std::uint8_t* first, std::size_t bytes) noexcept { system_call(SYS_munmap, first, bytes); }

// Maps the bytes at and behind `page` of its file again. Returns null with `error` set if there is no room.
std::uint8_t* map_again(std::uint8_t* page, std::size_t bytes, std::uint32_t& error) noexcept {
    const long p = system_call(SYS_mremap, page, std::size_t{0}, bytes, MREMAP_MAYMOVE);
    if (!is_error(p)) return reinterpret_cast<std::uint8_t*>(p);
    error = static_cast<std::uint32_t>(-p);
    return nullptr;
}

mpt_slot* head_of(const slot& s) noexcept { return reinterpret_cast<mpt_slot*>(s.begin); }

}  // namespace

// Holds the lock if possible. The holder is another thread and will release it, however long a busy machine takes. Two
// cases do not wait: a handler that interrupted its own thread here, and a child that was copied inside a hook.
class output::guard {
  public:
    explicit guard(output& of) noexcept
        : lock_(of.lock_), held_(lock_.lock_while(pthread_self(), [&of] { return of.is_live(); })) {}
    ~guard() {
        if (held_) lock_.unlock();
    }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    explicit operator bool() const noexcept { return held_; }

  private:
    preload::holder_lock& lock_;
    bool held_;
};

bool partial_file::is(const file& f) const noexcept {
    struct stat now;
    return f.descriptor() >= 0 && system_call(SYS_fstat, f.descriptor(), &now) == 0 && now.st_ino == status.st_ino &&
           now.st_dev == status.st_dev;
}

int output::open(partial_file& partial) noexcept {
    partial_ = &partial;
    const file f(partial.path, O_RDWR);
    if (f.descriptor() < 0) return static_cast<int>(-f.descriptor());
    if (const long error = system_call(SYS_fstat, f.descriptor(), &partial.status); error != 0)
        return static_cast<int>(-error);
    const long p =
        system_call(SYS_mmap, nullptr, os::pages::size(), PROT_READ | PROT_WRITE, MAP_SHARED, f.descriptor(), off_t{0});
    if (is_error(p)) return static_cast<int>(-p);
    file_ = reinterpret_cast<mpt_slot_file*>(p);
    anchor_ = {reinterpret_cast<std::uint8_t*>(p), 0};
    const bool ours = file_->magic == static_cast<std::uint32_t>(mpt_slot_file_magic) &&
                      file_->version == static_cast<std::uint32_t>(mpt_slot_file_version) &&
                      file_->slot_bytes == static_cast<std::uint32_t>(mpt_slot_bytes);
    if (!ours) return EINVAL;
    __atomic_add_fetch(&file_->images, 1, __ATOMIC_RELAXED);
    return 0;
}

// The former may be moving its anchor; slot 0 is always there.
void output::inherit(const output& former) noexcept {
    partial_ = former.partial_;
    file_ = former.file_;
    anchor_ = {reinterpret_cast<std::uint8_t*>(file_), 0};
    ahead_first_ = former.ahead_first_;
    ahead_count_ = former.ahead_count_;
    ahead_number_ = former.ahead_number_;
}

void output::abandon() noexcept {
    if (is_mapped_ahead()) return;  // the child continues with it
    if (first_) unmap(first_.begin, mpt_slot_bytes);
    if (notes_ && notes_.begin != first_.begin) unmap(notes_.begin, mpt_slot_bytes);
    for (unsigned i = 0; i < kept_count_; ++i) unmap(kept_[i].begin, mpt_slot_bytes);
    if (kept_ != first_kept_) preload::give_pages(kept_, kept_max * sizeof(slot));
    if (spare_count_ > 0) unmap(spare_, spare_count_ * mpt_slot_bytes);
    kept_count_ = 0;
    spare_count_ = 0;
}

void output::close() noexcept {
    abandon();
    move_anchor(reinterpret_cast<std::uint8_t*>(file_), 0);
}

bool output::start(std::uint64_t pid, std::uint32_t turn) noexcept {
    std::int64_t none = 0;  // the first process is the root; millpond-record may be killed before it can set this
    __atomic_compare_exchange_n(&file_->root_pid, &none, static_cast<std::int64_t>(pid), false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    first_ = claim();
    if (!first_) {
        refuse(pid, last_error_);
        return false;
    }
    process_ = reinterpret_cast<mpt_slot_process*>(first_.begin + mpt_slot_head_bytes);
    process_->pid = pid;
    process_->turn = turn;
    process_->mapped_ahead = is_mapped_ahead() ? 1 : 0;
    process_->start_ticks = ticks();
    struct timespec t{};
    clock_gettime(CLOCK_BOOTTIME, &t);
    process_->start_ns = static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
    notes_ = first_;
    notes_end_ = mpt_slot_head_bytes + sizeof(mpt_slot_process);
    own(first_, notes_end_);
    return true;
}

void output::refuse(std::uint64_t pid, std::uint32_t error) noexcept {
    const std::uint64_t at = __atomic_fetch_add(&file_->refusals, 1, __ATOMIC_RELAXED);
    if (at < mpt_refusals_max) file_->refused[at] = {pid, error, 0};
}

void output::own(const slot& s, std::uint32_t first_block) noexcept {
    head_of(s)->first_block = first_block;
    head_of(s)->process = number_;
    __atomic_store_n(&head_of(s)->magic, static_cast<std::uint32_t>(mpt_slot_magic), __ATOMIC_RELEASE);
}

void output::stop(std::uint32_t why) noexcept {
    std::uint32_t none = 0;
    if (process_ != nullptr)
        __atomic_compare_exchange_n(&process_->stopped, &none, why, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void output::move_anchor(std::uint8_t* page, std::uint64_t number) noexcept {
    if (anchor_.number != 0) unmap(anchor_.page, os::pages::size());
    anchor_ = {page, number};
}

// Maps `count` slots from `number` on, which lies at or behind the anchor. A distant slot is reached in hops, so that
// little of the address space is needed at once.
std::uint8_t* output::map(std::uint64_t number, std::uint64_t count) noexcept {
    std::uint64_t hop_max = 4096;  // slots
    while (true) {
        const std::uint64_t distance = number - anchor_.number;
        const std::uint64_t hop = distance < hop_max ? distance : hop_max;
        const bool last = hop == distance;
        const std::size_t skipped = hop * mpt_slot_bytes, wanted = last ? count * mpt_slot_bytes : 0;
        std::uint8_t* const p = map_again(anchor_.page, skipped + wanted + os::pages::size(), last_error_);
        if (p == nullptr && hop > 1) {
            hop_max = hop / 2;
            continue;
        }
        if (p == nullptr) return map_from_file(number, count);
        if (skipped != 0) unmap(p, skipped);
        move_anchor(p + skipped + wanted, anchor_.number + hop + (last ? count : 0));
        if (last) return p + skipped;
    }
}

// An emulator may be unable to map a mapping again. The file is another way, while the process may open it.
std::uint8_t* output::map_from_file(std::uint64_t number, std::uint64_t count) noexcept {
    const file f(partial_->path, O_RDWR);
    if (!partial_->is(f)) return nullptr;
    const std::size_t wanted = count * mpt_slot_bytes;
    const long p = system_call(SYS_mmap, nullptr, wanted + os::pages::size(), PROT_READ | PROT_WRITE, MAP_SHARED,
                               f.descriptor(), static_cast<off_t>(number * mpt_slot_bytes));
    if (is_error(p)) return nullptr;
    auto* const first = reinterpret_cast<std::uint8_t*>(p);
    move_anchor(first + wanted, number + count);
    return first;
}

// `number`: the slot's, if nothing of it is ready yet.
bool output::populate(const slot& s, std::uint32_t bytes, std::uint64_t number) noexcept {
    std::uint8_t* const from = s.begin + s.ready_bytes;
    const std::size_t more = bytes - s.ready_bytes;
    const long result = system_call(SYS_madvise, from, more, MADV_POPULATE_WRITE);
    if (result == 0) return true;
    last_error_ = result == -EFAULT ? ENOSPC : static_cast<std::uint32_t>(-result);
    if (result != -EINVAL) return false;
    // The kernel does not know this advice. The slot's head tells where in the file it lies, or it has to be searched
    // there.
    const file f(partial_->path, O_RDWR);
    if (!partial_->is(f)) {
        last_error_ = f.descriptor() < 0 ? static_cast<std::uint32_t>(-f.descriptor()) : ENOENT;
        return false;
    }
    if (s.ready_bytes != 0) number = head_of(s)->unused[0];
    const std::uint64_t offset = number * mpt_slot_bytes + s.ready_bytes;
    if (!is_within_limit(offset + more)) {
        last_error_ = EFBIG;
        return false;
    }
    const long reserved =
        system_call(SYS_fallocate, f.descriptor(), 0, static_cast<off_t>(offset), static_cast<off_t>(more));
    if (reserved == 0) {
        if (s.ready_bytes == 0) head_of(s)->unused[0] = number;
        return true;
    }
    last_error_ = static_cast<std::uint32_t>(-reserved);
    return false;
}

slot output::claim_ahead() noexcept {
    for (; ahead_next_ < ahead_count_; ++ahead_next_) {
        slot s{ahead_first_ + ahead_next_ * mpt_slot_bytes, mpt_slot_bytes};
        std::uint64_t free = 0;  // a child may have taken it
        if (!__atomic_compare_exchange_n(&head_of(s)->process, &free, ~std::uint64_t{0}, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_RELAXED))
            continue;
        if (number_ == 0) number_ = ahead_number_ + ahead_next_;
        return s;
    }
    last_error_ = mpt_stop_ahead;
    return {};
}

bool output::needs_length(std::uint64_t number) const noexcept {
    const std::uint64_t ready = __atomic_load_n(&file_->slots_ready, __ATOMIC_RELAXED);
    return number + mpt_slots_ahead / 2 >= ready && ready < file_->slots_max;
}

// Allocates one byte at the new end: unlike ftruncate, this never shortens a file that another process has just
// lengthened. If this process may not, the supervisor does it in time.
void output::lengthen(const file& f, std::uint64_t number) noexcept {
    std::uint64_t wanted = number + mpt_slots_ahead;
    if (wanted > file_->slots_max) wanted = file_->slots_max;
    const std::uint64_t bytes = wanted * mpt_slot_bytes + os::pages::size();
    if (!partial_->is(f) || !is_within_limit(bytes) ||
        system_call(SYS_fallocate, f.descriptor(), 0, static_cast<off_t>(bytes - 1), off_t{1}) != 0)
        return;
    std::uint64_t ready = __atomic_load_n(&file_->slots_ready, __ATOMIC_RELAXED);
    while (ready < wanted && !__atomic_compare_exchange_n(&file_->slots_ready, &ready, wanted, false, __ATOMIC_RELEASE,
                                                          __ATOMIC_RELAXED)) {
    }
}

slot output::claim() noexcept {
    if (is_mapped_ahead()) return claim_ahead();
    // A process takes more slots at once the more it has.
    const std::uint64_t wanted = claimed_ / 4 < 1 ? 1 : claimed_ / 4 < batch_max ? claimed_ / 4 : batch_max;
    if (spare_count_ == 0 && !map_batch(wanted) && (wanted == 1 || !map_batch(1))) return {};
    const std::uint64_t number = spare_number_++;
    slot s{spare_, 0};
    spare_ += mpt_slot_bytes;
    --spare_count_;
    ++claimed_;
    if (!populate(s, step_bytes(), number)) {
        unmap(s.begin, mpt_slot_bytes);
        return {};
    }
    s.ready_bytes = step_bytes();
    if (number_ == 0) number_ = number;
    return s;
}

// Maps the file's next slots, which are adjacent, as spare ones. Slots beyond the file's end are never used.
bool output::map_batch(std::uint64_t wanted) noexcept {
    const std::uint64_t number = __atomic_fetch_add(&file_->slots, wanted, __ATOMIC_RELAXED);
    if (needs_length(number + wanted - 1)) lengthen(file(partial_->path, O_RDWR), number + wanted - 1);
    const std::uint64_t ready = __atomic_load_n(&file_->slots_ready, __ATOMIC_ACQUIRE);
    if (number >= ready) {
        last_error_ = EFBIG;
        return false;
    }
    const std::uint64_t count = wanted < ready - number ? wanted : ready - number;
    std::uint8_t* const first = map(number, count);
    if (first == nullptr) return false;
    spare_ = first;
    spare_count_ = count;
    spare_number_ = number;
    return true;
}

slot output::take_slot(bool is_needed) noexcept {
    if (!is_live()) return {};
    const guard held(*this);
    if (!held) return {};
    if (__atomic_load_n(&file_->limit_reached, __ATOMIC_RELAXED) != 0) stop(mpt_stop_limit);
    if (__atomic_load_n(&process_->stopped, __ATOMIC_RELAXED) != 0) return {};
    if (kept_count_ > 0) return kept_[--kept_count_];
    const slot s = claim();
    if (s)
        own(s, mpt_slot_head_bytes);
    else if (is_needed || last_error_ != ENOMEM)
        stop(last_error_);
    return s;
}

bool output::make_ready(slot& s) noexcept {
    if (s.ready_bytes == mpt_slot_bytes || is_mapped_ahead() || !is_live()) return false;
    const guard held(*this);
    const std::uint32_t ready = s.ready_bytes + step_bytes();
    if (!held || !populate(s, ready)) return false;
    s.ready_bytes = ready;
    return true;
}

void output::count_sealed(std::size_t bytes) noexcept {
    const std::uint64_t total = __atomic_add_fetch(&file_->bytes_sealed, bytes, __ATOMIC_RELAXED);
    if (file_->bytes_max != 0 && total > file_->bytes_max) __atomic_store_n(&file_->limit_reached, 1, __ATOMIC_RELAXED);
}

// For a ring, which may drop the slot when its last event is old enough.
void output::close_slot(const slot& s) noexcept {
    if (file_->ring_ns != 0) __atomic_store_n(&head_of(s)->closed_tick, ticks(), __ATOMIC_RELEASE);
}

bool output::write_out(const slot& s, std::size_t bytes) noexcept {
    if (!is_live()) return false;
    count_sealed(bytes);
    if (is_mapped_ahead() || __atomic_load_n(&file_->limit_reached, __ATOMIC_RELAXED) != 0) return false;
    const file f(partial_->path, O_WRONLY);
    if (!partial_->is(f)) return false;
    const std::uint64_t number = __atomic_fetch_add(&file_->slots, 1, __ATOMIC_RELAXED);
    const std::uint64_t offset = number * mpt_slot_bytes;
    if (number >= file_->slots_max || !is_within_limit(offset + mpt_slot_bytes)) return false;
    if (needs_length(number)) lengthen(f, number);
    for (std::size_t done = 0, wanted = mpt_slot_head_bytes + bytes; done < wanted;) {
        const long n =
            system_call(SYS_pwrite64, f.descriptor(), s.begin + done, wanted - done, static_cast<off_t>(offset + done));
        if (n <= 0 && n != -EINTR) return false;
        if (n > 0) done += static_cast<std::size_t>(n);
    }
    if (file_->ring_ns != 0) {  // of the copy: the slot itself is used again
        const std::uint64_t now = ticks();
        (void)system_call(SYS_pwrite64, f.descriptor(), &now, sizeof now,
                          static_cast<off_t>(offset + offsetof(mpt_slot, closed_tick)));
    }
    return true;
}

void output::leave(const slot& s) noexcept {
    if (!is_live() || is_mapped_ahead()) return;
    close_slot(s);
    unmap(s.begin, mpt_slot_bytes);
}

void output::give_slot(const slot& s) noexcept {
    const guard held(*this);
    reinterpret_cast<mpt_block_header*>(s.block())->magic = 0;
    if ((!held || !keep(s)) && !is_mapped_ahead()) unmap(s.begin, mpt_slot_bytes);
}

// Unmapping single slots would leave holes, and each part next to a hole is a mapping.
bool output::keep(const slot& s) noexcept {
    if (kept_count_ == few_kept && kept_ == first_kept_) {
        auto* const room = preload::take_pages<slot>(kept_max * sizeof(slot));
        if (room == nullptr) return false;
        memcpy(room, first_kept_, sizeof first_kept_);
        kept_ = room;
    }
    if (kept_count_ == kept_max) return false;
    kept_[kept_count_++] = s;
    return true;
}

bool output::append(const void* block, std::size_t bytes) noexcept {
    if (!is_live()) return false;
    const guard held(*this);
    if (!held || __atomic_load_n(&process_->stopped, __ATOMIC_RELAXED) != 0) return false;
    const std::uint32_t room_end = is_mapped_ahead() ? notes_.ready_bytes : std::uint32_t{mpt_slot_bytes};
    if (notes_end_ + bytes > room_end) {
        const slot next = claim();
        if (!next) {
            stop(last_error_);
            return false;
        }
        if (notes_.begin != first_.begin && !is_mapped_ahead()) {
            close_slot(notes_);
            unmap(notes_.begin, mpt_slot_bytes);
        }
        notes_ = next;
        notes_end_ = mpt_slot_head_bytes;
        own(notes_, notes_end_);
    }
    while (notes_.ready_bytes < notes_end_ + bytes) {
        if (!populate(notes_, notes_.ready_bytes + step_bytes())) {
            stop(last_error_);
            return false;
        }
        notes_.ready_bytes += step_bytes();
    }
    // The magic number comes last: if a kill interrupts this, the block was never there.
    std::uint8_t* const to = notes_.begin + notes_end_;
    constexpr std::size_t magic = offsetof(mpt_block_header, magic);
    memcpy(to, block, magic);
    memcpy(to + magic + sizeof(std::uint32_t), static_cast<const std::uint8_t*>(block) + magic + sizeof(std::uint32_t),
           bytes - magic - sizeof(std::uint32_t));
    // Blocks lie at any address, and an atomic store would have to be aligned.
    __atomic_thread_fence(__ATOMIC_RELEASE);
    const auto written = static_cast<std::uint32_t>(mpt_magic);
    memcpy(to + magic, &written, sizeof written);
    notes_end_ += static_cast<std::uint32_t>(bytes);
    count_sealed(bytes);
    return true;
}

void output::map_ahead(std::uint64_t bytes) noexcept {
    const guard held(*this);
    if (!held || is_mapped_ahead()) return;
    const std::uint64_t count = bytes / mpt_slot_bytes;
    const std::uint64_t number = __atomic_fetch_add(&file_->slots, count, __ATOMIC_RELAXED);
    if (count == 0) return;
    if (needs_length(number + count)) lengthen(file(partial_->path, O_RDWR), number + count);
    if (number + count > __atomic_load_n(&file_->slots_ready, __ATOMIC_ACQUIRE)) return;
    std::uint8_t* const first = map(number, count);
    if (first == nullptr) return;
    std::uint64_t ready = 0;
    constexpr std::uint64_t at_once = 16;
    for (; ready < count; ready += at_once) {
        const std::uint64_t more = count - ready < at_once ? count - ready : at_once;
        const slot part{first + ready * mpt_slot_bytes, 0};
        if (system_call(SYS_madvise, part.begin, more * mpt_slot_bytes, MADV_POPULATE_WRITE) != 0) break;
    }
    if (ready > count) ready = count;
    if (ready < count) unmap(first + ready * mpt_slot_bytes, (count - ready) * mpt_slot_bytes);
    if (ready == 0) return;
    ahead_number_ = number;
    ahead_count_ = ready;
    ahead_first_ = first;
    if (process_ != nullptr) process_->mapped_ahead = 1;
}

void output::isolate(const slot& s) noexcept {
    if (s)
        system_call(SYS_mmap, s.begin, std::size_t{mpt_slot_bytes}, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, off_t{0});
}

void output::isolate() noexcept {
    isolate(first_);
    if (notes_.begin != first_.begin) isolate(notes_);
}

}  // namespace millpond::record
