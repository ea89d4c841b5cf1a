// SPDX-License-Identifier: BSL-1.0
#include "lab/attach/thread_places.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include "lab/program/program.hpp"
#include "lab/symbols/elf_file.hpp"

namespace millpond::attach {
namespace {

constexpr std::array<std::string_view, 12> of_allocator = {
    "malloc", "free",    "calloc",         "realloc",     "memalign",           "aligned_alloc",
    "valloc", "pvalloc", "posix_memalign", "malloc_trim", "malloc_usable_size", "mallinfo2"};
constexpr std::array<std::string_view, 12> of_loader = {
    "dlopen",  "dlmopen", "dlclose", "dlsym",           "dlvsym",          "dladdr",
    "dladdr1", "dlinfo",  "dlerror", "dl_iterate_phdr", "_dl_find_object", "__libc_dlopen_mode"};
// The functions for threads hold the lock on the list of stacks. dlopen takes it for a library with thread-local data.
constexpr std::array<std::string_view, 16> of_process = {"fork",           "vfork",
                                                         "_Fork",          "exit",
                                                         "_exit",          "__cxa_finalize",
                                                         "pthread_create", "pthread_exit",
                                                         "pthread_join",   "pthread_timedjoin_np",
                                                         "pthread_detach", "pthread_getattr_np",
                                                         "pthread_atfork", "__register_atfork",
                                                         "setuid",         "setgid"};

template <std::size_t n>
bool holds(const std::array<std::string_view, n>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_allocator(std::string_view name) {
    return name.find("jemalloc") != name.npos || name.find("tcmalloc") != name.npos ||
           name.find("mimalloc") != name.npos || name.find("hoard") != name.npos || name.find("malloc") != name.npos;
}

// The file of a module as the process sees it.
int find_elf(Dwfl_Module* module, void** data, const char* name, Dwarf_Addr base, char** file_name, Elf** elf) {
    const auto& root = *static_cast<const std::string*>(*data);
    if (name[0] == '/') {
        const int file = open((root + name).c_str(), O_RDONLY | O_CLOEXEC);
        if (file >= 0) {
            *file_name = strdup(name);
            return file;
        }
    }
    return dwfl_linux_proc_find_elf(module, data, name, base, file_name, elf);
}

int find_no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word, char**) {
    return -1;
}

const Dwfl_Callbacks callbacks = {&find_elf, &find_no_debug_file, nullptr, nullptr};

}  // namespace

thread_places::thread_places(const target_process& of) : root_(of.outside("")) {
    for (const mapped_file& module : of.modules()) {
        const std::string name = module.name();
        if (name.starts_with("ld-linux")) ranges_.push_back({module.first, module.past, loader});
        if (name.starts_with("libmillpond-")) ranges_.push_back({module.first, module.past, recorder});
        if (name == "libc.so.6") add_libc(module, of);
        if (name != "libc.so.6" && name.find(".so") != name.npos && is_allocator(name))
            ranges_.push_back({module.first, module.past, allocator});
    }
    if (libc_.dlopen == 0)
        throw program::failure(program::environment,
                               "the program's C library is older than glibc 2.35, which the recorder needs");
    session_.reset(dwfl_begin(&callbacks));
    dwfl_report_begin(session_.get());
    if (dwfl_linux_proc_report(session_.get(), of.pid()) != 0 || dwfl_report_end(session_.get(), nullptr, nullptr) != 0)
        throw program::failure(program::environment, "the program's modules cannot be read");
    dwfl_getmodules(
        session_.get(),
        [](Dwfl_Module*, void** data, const char*, Dwarf_Addr, void* root) {
            *data = root;
            return int{DWARF_CB_OK};
        },
        &root_, 0);
    // Reads the modules now, and not when a thread is stopped.
    dwfl_getmodules(
        session_.get(),
        [](Dwfl_Module* module, void**, const char*, Dwarf_Addr, void*) {
            Dwarf_Addr bias = 0;
            (void)dwfl_module_eh_cfi(module, &bias);
            return int{DWARF_CB_OK};
        },
        nullptr, 0);
    if (dwfl_linux_proc_attach(session_.get(), of.pid(), true) != 0)
        throw program::failure(program::environment, "the program's threads cannot be read");
}

void thread_places::add_libc(const mapped_file& libc, const target_process& of) {
    std::vector<symbols::raw_symbol> functions;
    try {
        symbols::elf_file(of.outside(libc.path)).append_functions(functions);
    } catch (const std::runtime_error& unreadable) {
        return;
    }
    libc_first_ = libc.first;
    libc_past_ = libc.past;
    range own{~std::uint64_t{0}, 0, allocator};
    for (const symbols::raw_symbol& function : functions) {
        const std::uint64_t first = libc.first + function.address, past = first + function.bytes;
        const std::string_view name = std::string_view(function.name).substr(0, function.name.find('@'));
        if (holds(of_allocator, name)) own = {std::min(own.first, first), std::max(own.past, past), allocator};
        if (holds(of_loader, name)) ranges_.push_back({first, past, loader});
        if (holds(of_process, name)) ranges_.push_back({first, past, process});
        if (name == "mmap") libc_.mmap = first;
        if (name == "munmap") libc_.munmap = first;
        if (name == "__errno_location") libc_.errno_location = first;
        if (name == "dlopen") libc_.dlopen = first;
        if (name == "dlerror") libc_.dlerror = first;
    }
    ranges_.push_back(own);
}

unsigned thread_places::at(std::uint64_t address) const {
    unsigned places = 0;
    for (const range& each : ranges_)
        if (address >= each.first && address < each.past) places |= each.places;
    return places;
}

bool thread_places::is_inside_libc(std::uint64_t address) const {
    return address >= libc_first_ && address < libc_past_;
}

int thread_places::note_frame(Dwfl_Frame* frame, void* to) {
    auto& seen = *static_cast<stack_walk*>(to);
    Dwarf_Addr address = 0;
    bool is_interrupted = false;
    if (!dwfl_frame_pc(frame, &address, &is_interrupted)) return DWARF_CB_ABORT;
    const std::uint64_t inside = is_interrupted ? address : address - 1;
    seen.places |= seen.self.at(inside);
    seen.has_left_libc = seen.has_left_libc || !seen.self.is_inside_libc(inside);
    return DWARF_CB_OK;
}

// A thread without a frame outside the C library begins or ends.
unsigned thread_places::of(pid_t thread) const {
    stack_walk seen{*this};
    (void)dwfl_getthread_frames(session_.get(), thread, &note_frame, &seen);
    return seen.places | (seen.has_left_libc ? 0u : unsigned{process});
}

}  // namespace millpond::attach
