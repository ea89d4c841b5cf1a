// SPDX-License-Identifier: BSL-1.0
// Implements the headers of os/ for Windows.
#if defined(_WIN32)

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

#include <cstddef>
#include <cstring>

#include "millpond/os/faults.hpp"
#include "millpond/os/file_pages.hpp"
#include "millpond/os/numa_pages.hpp"
#include "millpond/os/pages.hpp"
#include "millpond/os/thread_end.hpp"

#if defined(MILLPOND_THREAD_LOCALS_END_EARLY)
#include <pthread.h>
#endif

namespace millpond::os {
namespace {

SYSTEM_INFO system_facts() noexcept {
    SYSTEM_INFO facts;
    GetSystemInfo(&facts);
    return facts;
}

}  // namespace

std::size_t pages::size() noexcept { return system_facts().dwPageSize; }

std::size_t pages::granularity() noexcept { return system_facts().dwAllocationGranularity; }

void* pages::reserve(std::size_t bytes) noexcept { return VirtualAlloc(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS); }

bool pages::commit(void* at, std::size_t bytes) noexcept {
    return VirtualAlloc(at, bytes, MEM_COMMIT, PAGE_READWRITE) != nullptr;
}

// Windows supplies a page when it is written; it has no call that supplies fresh memory in advance.
void pages::populate(void*, std::size_t) noexcept {}

bool pages::decommit(void* at, std::size_t bytes) noexcept { return VirtualFree(at, bytes, MEM_DECOMMIT) != 0; }

// MEM_RESET may keep the contents or drop them, so zeros are written first; a decommit followed by a commit might not
// get the pages back. VirtualUnlock takes pages that were never locked out of the working set, and reports failure for
// them.
void pages::discard(void* at, std::size_t bytes) noexcept {
    std::memset(at, 0, bytes);
    static_cast<void>(VirtualAlloc(at, bytes, MEM_RESET, PAGE_READWRITE));
    static_cast<void>(VirtualUnlock(at, bytes));
}

// Only memory from VirtualAlloc can be reset; a heap's memory is such.
void pages::let_go(void* at, std::size_t bytes) noexcept {
    static_cast<void>(VirtualAlloc(at, bytes, MEM_RESET, PAGE_READWRITE));
    static_cast<void>(VirtualUnlock(at, bytes));
}

bool pages::protect(void* at, std::size_t bytes) noexcept {
    DWORD before;
    return VirtualProtect(at, bytes, PAGE_NOACCESS, &before) != 0;
}

bool pages::set_writable(void* at, std::size_t bytes, bool writable) noexcept {
    DWORD before;
    return VirtualProtect(at, bytes, writable ? PAGE_READWRITE : PAGE_READONLY, &before) != 0;
}

// Large pages need a privilege there and cannot be requested afterwards.
bool pages::advise_huge(void*, std::size_t, bool) noexcept { return false; }

void pages::release(void* at, std::size_t) noexcept { static_cast<void>(VirtualFree(at, 0, MEM_RELEASE)); }

// A section of a file cannot grow under a view, so there are no file_pages.
file_pages::file_pages(int, bool) noexcept : error_(std::errc::function_not_supported) {}
file_pages file_pages::create(const char*) noexcept { return {-1, false}; }
file_pages file_pages::open(const char*) noexcept { return {-1, false}; }
file_pages file_pages::temporary(const char*) noexcept { return {-1, false}; }
file_pages file_pages::shared(const char*) noexcept { return {-1, false}; }
file_pages file_pages::adopt(int) noexcept { return {-1, true}; }
file_pages::file_pages(file_pages&& other) noexcept : error_(other.error_) {}
file_pages& file_pages::operator=(file_pages&& other) noexcept {
    error_ = other.error_;
    return *this;
}
file_pages::~file_pages() = default;
bool file_pages::refuse(int) noexcept { return false; }
std::size_t file_pages::bytes() const noexcept { return 0; }
void* file_pages::reserve(std::size_t) noexcept { return nullptr; }
bool file_pages::commit(void*, std::size_t) noexcept { return false; }
bool file_pages::decommit(void*, std::size_t) noexcept { return false; }
bool file_pages::set_writable(void*, std::size_t, bool) noexcept { return false; }

unsigned numa_pages::current_node() noexcept {
    PROCESSOR_NUMBER processor;
    GetCurrentProcessorNumberEx(&processor);
    USHORT node = 0;
    return GetNumaProcessorNodeEx(&processor, &node) != 0 ? node : 0;
}

bool numa_pages::has_node(unsigned node) noexcept {
    ULONG highest = 0;
    return GetNumaHighestNodeNumber(&highest) != 0 ? node <= highest : node == 0;
}

// The node belongs to the reservation; commits follow it.
void* numa_pages::reserve(std::size_t bytes) noexcept {
    void* const range = has_node(node_)
                            ? VirtualAllocExNuma(GetCurrentProcess(), nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS, node_)
                            : nullptr;
    is_bound_ = range != nullptr;
    return range != nullptr ? range : pages::reserve(bytes);
}

bool numa_pages::commit(void* at, std::size_t bytes) noexcept { return pages::commit(at, bytes); }

bool faults::watch(fault_function) noexcept { return false; }

#if defined(MILLPOND_THREAD_LOCALS_END_EARLY)
namespace {

pthread_key_t key_of_calls{};

void make_calls(void* first) {
    for (auto* call = static_cast<thread_end_call*>(first); call != nullptr; call = call->next) call->action();
}

// Before the constructors of static objects, so that no thread-local variable has been used. Keys end in their order.
[[gnu::constructor(101)]] void make_key() { pthread_key_create(&key_of_calls, make_calls); }

}  // namespace

void call_at_thread_end(thread_end_call& call) noexcept {
    call.next = static_cast<thread_end_call*>(pthread_getspecific(key_of_calls));
    pthread_setspecific(key_of_calls, &call);
}
#endif

}  // namespace millpond::os

#endif
