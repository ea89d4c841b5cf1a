// SPDX-License-Identifier: BSL-1.0
// Implements the headers of os/ for POSIX systems, with special cases for Linux.
#if !defined(_WIN32)

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <ucontext.h>
#endif

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "millpond/os/faults.hpp"
#include "millpond/os/file_pages.hpp"
#include "millpond/os/numa_pages.hpp"
#include "millpond/os/optional_calls.hpp"
#include "millpond/os/pages.hpp"

namespace millpond::os {
namespace {

// Restores errno: an allocator may be called between a failed call and the check of errno.
class errno_kept {
  public:
    errno_kept() noexcept = default;
    errno_kept(const errno_kept&) = delete;
    errno_kept& operator=(const errno_kept&) = delete;
    ~errno_kept() { errno = before_; }

  private:
    int before_ = errno;
};

constexpr int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;

// The registered functions, the latest last. A slot is filled before it is counted.
constinit std::atomic<fault_function> functions[faults::most_functions] = {};
constinit std::atomic<std::size_t> slots_taken{0};
constinit std::atomic<bool> is_installed{false};
struct sigaction handler_before;

std::size_t functions_known() noexcept {
    const std::size_t taken = slots_taken.load(std::memory_order_acquire);
    return taken < faults::most_functions ? taken : faults::most_functions;
}

// Effects: writes the values of the thread's registers. Returns: their number.
std::size_t read_registers([[maybe_unused]] const void* thread, [[maybe_unused]] std::uintptr_t* registers,
                           [[maybe_unused]] fault& what) noexcept {
#if defined(__linux__) && defined(__x86_64__)
    constexpr int error_code = 19, instruction_pointer = 16, general = 16;  // REG_ERR, REG_RIP; REG_R8 to REG_RCX, RSP
    const auto& from = static_cast<const ucontext_t*>(thread)->uc_mcontext.gregs;
    for (int i = 0; i < general; ++i) registers[i] = static_cast<std::uintptr_t>(from[i]);
    what.is_write = (from[error_code] & 2) != 0;
    what.instruction = reinterpret_cast<const void*>(from[instruction_pointer]);
    return general;
#elif defined(__linux__) && defined(__aarch64__)
    const auto& from = static_cast<const ucontext_t*>(thread)->uc_mcontext;
    for (int i = 0; i < 31; ++i) registers[i] = from.regs[i];
    what.instruction = reinterpret_cast<const void*>(from.pc);
    return 31;
#else
    return 0;
#endif
}

// Effects: does what would have happened without this handler.
void pass_on(int signal, siginfo_t* info, void* thread, bool was_sent) noexcept {
    if ((handler_before.sa_flags & SA_SIGINFO) != 0) return handler_before.sa_sigaction(signal, info, thread);
    if (handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN)
        return handler_before.sa_handler(signal);
    if (was_sent && handler_before.sa_handler == SIG_IGN) return;
    // The access is tried again and meets the previous handler; a signal that was sent is sent again.
    sigaction(signal, &handler_before, nullptr);
    if (was_sent) raise(signal);
}

void on_fault(int signal, siginfo_t* info, void* thread) noexcept {
    const errno_kept kept;
    const bool was_sent = info->si_code <= 0;  // by kill or the like
    if (!was_sent) {
        std::uintptr_t registers[32] = {};
        fault what;
        what.address = info->si_addr;
        what.registers = registers;
        what.register_count = read_registers(thread, registers, what);
        for (std::size_t i = functions_known(); i > 0; --i) {
            const fault_function function = functions[i - 1].load(std::memory_order_acquire);
            if (function != nullptr && function(what)) return;
        }
    }
    pass_on(signal, info, thread, was_sent);
}

// Provides a signal stack, so that a thread whose own stack is used up can still report why.
void provide_signal_stack() noexcept {
    alignas(16) static char memory[std::size_t{64} << 10];
    stack_t present{};
    if (sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
    stack_t ours{};
    ours.ss_sp = memory;
    ours.ss_size = sizeof memory;
    sigaltstack(&ours, nullptr);
}

// Returns: false if the system refuses; errno says why.
bool set_length(int descriptor, std::size_t bytes) noexcept {
    return ftruncate(descriptor, static_cast<off_t>(bytes)) == 0;
}

// Effects: gets blocks for these bytes of the file, which grows if they lie behind its end. Returns: 0, or the error;
// then the file may have grown.
int get_blocks(int descriptor, std::size_t begin, std::size_t end) noexcept {
    rlimit most{};
    const bool is_limited = getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY;
    // Above that limit the system would send a signal.
    if (is_limited && end > most.rlim_cur) return EFBIG;
#if defined(__APPLE__)
    static_cast<void>(begin);
    return set_length(descriptor, end) ? 0 : errno;  // it has no call that gets the blocks
#else
    // In pieces: memory files start again when a signal arrives, so a long call might never end.
    constexpr std::size_t piece = std::size_t{1} << 20;
    while (begin < end) {
        const std::size_t bytes = end - begin < piece ? end - begin : piece;
        const int error = posix_fallocate(descriptor, static_cast<off_t>(begin), static_cast<off_t>(bytes));
        if (error == EINTR) continue;
        if (error < 0) return errno;  // some libraries return -1, as other calls do
        if (error != 0) return error;
        begin += bytes;
    }
    return 0;
#endif
}

#if defined(__linux__)
// The calls of <numaif.h>, which belongs to a library that need not be installed.
constexpr int bind_policy = 2;              // MPOL_BIND
constexpr unsigned long allowed_nodes = 4;  // MPOL_F_MEMS_ALLOWED

class node_set {
  public:
    static constexpr unsigned most_nodes = 1024;             // of any kernel
    static constexpr unsigned long length = most_nodes + 1;  // the kernel counts one less

    [[nodiscard]] unsigned long* words() noexcept { return words_; }
    void add(unsigned node) noexcept { words_[node / word_bits] |= 1UL << node % word_bits; }
    [[nodiscard]] bool has(unsigned node) const noexcept {
        return (words_[node / word_bits] >> node % word_bits & 1) != 0;
    }

  private:
    static constexpr unsigned word_bits = std::numeric_limits<unsigned long>::digits;
    unsigned long words_[most_nodes / word_bits] = {};
};
#endif

}  // namespace

std::size_t pages::size() noexcept { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::size_t pages::granularity() noexcept { return size(); }

// Without MAP_NORESERVE: inaccessible pages are not charged, and a commit that cannot be kept is refused.
void* pages::reserve(std::size_t bytes) noexcept {
    const errno_kept kept;
    void* const range = mmap(nullptr, bytes, PROT_NONE, anonymous, -1, 0);
    return range == MAP_FAILED ? nullptr : range;
}

bool pages::commit(void* at, std::size_t bytes) noexcept {
    const errno_kept kept;
    return mprotect(at, bytes, PROT_READ | PROT_WRITE) == 0;
}

void pages::populate([[maybe_unused]] void* at, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__)
    // MADV_POPULATE_WRITE, since Linux 5.14; the headers may be older than the kernel, or the kernel than the headers.
    constexpr int populate_write = 23;
    const errno_kept kept;
    madvise(at, bytes, populate_write);
#endif
}

// Puts a new mapping in place of the old one; mprotect would keep the charge.
bool pages::decommit(void* at, std::size_t bytes) noexcept {
    const errno_kept kept;
    return mmap(at, bytes, PROT_NONE, anonymous | MAP_FIXED, -1, 0) != MAP_FAILED;
}

void pages::discard(void* at, std::size_t bytes) noexcept {
    const errno_kept kept;
#if defined(__linux__)
    // Locked pages cannot be given back, but must read as zero all the same.
    if (madvise(at, bytes, MADV_DONTNEED) != 0) std::memset(at, 0, bytes);
#else
    // On systems other than Linux, MADV_DONTNEED may keep the contents.
    mmap(at, bytes, PROT_READ | PROT_WRITE, anonymous | MAP_FIXED, -1, 0);
#endif
}

void pages::let_go([[maybe_unused]] void* at, [[maybe_unused]] std::size_t bytes) noexcept {
    const errno_kept kept;
#if defined(__linux__)
    madvise(at, bytes, MADV_DONTNEED);
#elif defined(MADV_FREE)
    madvise(at, bytes, MADV_FREE);
#endif
}

bool pages::protect(void* at, std::size_t bytes) noexcept {
    const errno_kept kept;
    return mprotect(at, bytes, PROT_NONE) == 0;
}

bool pages::set_writable(void* at, std::size_t bytes, bool writable) noexcept {
    const errno_kept kept;
    return mprotect(at, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ) == 0;
}

bool pages::advise_huge([[maybe_unused]] void* at, [[maybe_unused]] std::size_t bytes,
                        [[maybe_unused]] bool wanted) noexcept {
#if defined(MADV_HUGEPAGE)
    const errno_kept kept;
    return madvise(at, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) == 0;
#else
    return false;
#endif
}

void pages::release(void* at, std::size_t bytes) noexcept {
    const errno_kept kept;
    munmap(at, bytes);
}

file_pages::file_pages(int descriptor, bool is_adopted) noexcept : descriptor_(descriptor), is_adopted_(is_adopted) {
    if (descriptor < 0) refuse(errno);
}

file_pages file_pages::create(const char* path) noexcept {
    const errno_kept kept;
    return {::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), false};
}

file_pages file_pages::open(const char* path) noexcept {
    const errno_kept kept;
    return {::open(path, O_RDWR | O_CLOEXEC), false};
}

file_pages file_pages::temporary(const char* folder) noexcept {
    const errno_kept kept;
    char path[4096];
    const int length = std::snprintf(path, sizeof path, "%s/millpond-XXXXXX", folder);
    if (static_cast<std::size_t>(length) >= sizeof path) {
        errno = ENAMETOOLONG;
        return {-1, false};
    }
    // Not O_TMPFILE, which some file systems lack.
    const int descriptor = mkostemp(path, O_CLOEXEC);
    if (descriptor >= 0) unlink(path);
    return {descriptor, false};
}

file_pages file_pages::shared([[maybe_unused]] const char* name) noexcept {
    const errno_kept kept;
#if defined(MFD_ALLOW_SEALING)
    return {memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), false};
#else
    errno = ENOSYS;
    return {-1, false};
#endif
}

file_pages file_pages::adopt(int descriptor) noexcept {
    const errno_kept kept;
    errno = EBADF;
    return {descriptor, true};
}

file_pages::file_pages(file_pages&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      is_adopted_(other.is_adopted_),
      error_(other.error_),
      base_(other.base_) {}

file_pages& file_pages::operator=(file_pages&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(is_adopted_, other.is_adopted_);
    std::swap(error_, other.error_);
    std::swap(base_, other.base_);
    return *this;
}

file_pages::~file_pages() {
    const errno_kept kept;
    if (descriptor_ >= 0) close(descriptor_);
}

bool file_pages::refuse(int error) noexcept {
    error_ = static_cast<std::errc>(error);
    return false;
}

std::size_t file_pages::bytes() const noexcept {
    const errno_kept kept;
    struct stat facts{};
    return fstat(descriptor_, &facts) == 0 ? static_cast<std::size_t>(facts.st_size) : 0;
}

// The range may be longer than the file: what lies behind its end is not accessible before a commit.
void* file_pages::reserve(std::size_t bytes) noexcept {
    const errno_kept kept;
    if (descriptor_ < 0 && error_ != std::errc{}) return nullptr;  // error_ says why there is no file
    void* const range = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, descriptor_, 0);
    if (range == MAP_FAILED) {
        refuse(errno);
        return nullptr;
    }
    base_ = static_cast<const char*>(range);
    return range;
}

bool file_pages::commit(void* at, std::size_t bytes) noexcept {
    const errno_kept kept;
    const auto begin = static_cast<std::size_t>(static_cast<const char*>(at) - base_);
    const std::size_t end = begin + bytes;
    const std::size_t length = this->bytes();
    int error = 0;
    if (is_adopted_) {
        error = end <= (length + size() - 1) / size() * size() ? 0 : EPERM;  // it ends inside a page
    } else {
        error = get_blocks(descriptor_, begin, end);
    }
    if (error == 0 && mprotect(at, bytes, PROT_READ | PROT_WRITE) != 0) error = errno;
    if (error == 0) return true;
    if (!is_adopted_ && this->bytes() > length) set_length(descriptor_, length);
    return refuse(error);
}

// Makes the file shorter first: only that can be refused with a reason. Pages behind its end are not accessible.
bool file_pages::decommit(void* at, std::size_t bytes) noexcept {
    const errno_kept kept;
    if (is_adopted_) return refuse(EPERM);
    if (!set_length(descriptor_, static_cast<std::size_t>(static_cast<const char*>(at) - base_))) return refuse(errno);
    mprotect(at, bytes, PROT_NONE);
    return true;
}

bool file_pages::set_writable(void* at, std::size_t bytes, bool writable) noexcept {
    const errno_kept kept;
    return mprotect(at, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ) == 0 || refuse(errno);
}

unsigned numa_pages::current_node() noexcept {
#if defined(__linux__) && defined(SYS_getcpu)
    const errno_kept kept;
    unsigned processor = 0, node = 0;  // as they stay if the call fails
    static_cast<void>(syscall(SYS_getcpu, &processor, &node, nullptr));
    return node;
#else
    return 0;
#endif
}

bool numa_pages::has_node(unsigned node) noexcept {
#if defined(__linux__) && defined(SYS_get_mempolicy)
    const errno_kept kept;
    node_set allowed;
    allowed.add(0);  // as it stays if the call fails
    static_cast<void>(syscall(SYS_get_mempolicy, nullptr, allowed.words(), node_set::length, nullptr, allowed_nodes));
    return node < node_set::most_nodes && allowed.has(node);
#else
    return node == 0;
#endif
}

void* numa_pages::reserve(std::size_t bytes) noexcept { return pages::reserve(bytes); }

bool numa_pages::commit(void* at, std::size_t bytes) noexcept {
    if (!pages::commit(at, bytes)) return false;
    bool is_bound = false;
#if defined(__linux__) && defined(SYS_mbind)
    const errno_kept kept;
    if (node_ < node_set::most_nodes) {
        node_set one;
        one.add(node_);
        is_bound = syscall(SYS_mbind, at, bytes, bind_policy, one.words(), node_set::length, 0) == 0;
    }
#endif
    is_bound_ = is_bound_ && is_bound;
    return true;
}

bool faults::watch(fault_function function) noexcept {
    const errno_kept kept;
    const std::size_t slot = slots_taken.fetch_add(1, std::memory_order_relaxed);
    if (slot >= most_functions) return false;
    functions[slot].store(function, std::memory_order_release);
    if (is_installed.exchange(true)) return true;
    provide_signal_stack();
    struct sigaction ours{};
    ours.sa_sigaction = &on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    return sigaction(SIGSEGV, nullptr, &handler_before) == 0 && sigaction(SIGSEGV, &ours, nullptr) == 0;
}

#if defined(__ELF__)
const optional_calls all_optional_calls{&pages::size,    &pages::reserve, &pages::commit, &pages::decommit,
                                        &pages::protect, &pages::release, &faults::watch};
#endif

}  // namespace millpond::os

#endif
