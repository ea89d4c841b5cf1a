// SPDX-License-Identifier: BSL-1.0
#include "lab/attach/target_process.hpp"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lab/program/program.hpp"

namespace millpond::attach {
namespace {

namespace fs = std::filesystem;

std::string read_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

bool has_line(const std::string& path, const std::string& begin) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line, '\0');)
        if (line.starts_with(begin)) return true;
    return false;
}

struct executable_kind {
    bool is_elf = false, is_64_bit = false, is_this_machine = false, has_interpreter = false, is_go = false;
    std::string interpreter;
};

// Reads the headers of an ELF file; what cannot be read stays false.
executable_kind kind_of(const std::string& path) {
    executable_kind kind;
    std::ifstream file(path, std::ios::binary);
    Elf64_Ehdr header{};
    if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return kind;
    kind.is_elf = memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
    kind.is_64_bit = kind.is_elf && header.e_ident[EI_CLASS] == ELFCLASS64;
    kind.is_this_machine = header.e_machine == EM_X86_64;
    if (!kind.is_64_bit || header.e_phentsize != sizeof(Elf64_Phdr)) return kind;
    std::vector<Elf64_Phdr> parts(header.e_phnum);
    file.seekg(static_cast<std::streamoff>(header.e_phoff));
    if (!file.read(reinterpret_cast<char*>(parts.data()),
                   static_cast<std::streamsize>(parts.size() * sizeof(Elf64_Phdr))))
        return kind;
    for (const Elf64_Phdr& part : parts) {
        constexpr std::size_t most = 1 << 16;
        if ((part.p_type != PT_INTERP && part.p_type != PT_NOTE) || part.p_filesz > most) continue;
        std::string bytes(part.p_filesz, '\0');
        file.seekg(static_cast<std::streamoff>(part.p_offset));
        if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) break;
        if (part.p_type == PT_INTERP) {
            kind.has_interpreter = true;
            kind.interpreter = bytes.c_str();
        }
        // The name of Go's own note: four bytes behind the three numbers of its head.
        if (part.p_type == PT_NOTE && bytes.find(std::string("Go\0\0", 4)) != bytes.npos) kind.is_go = true;
    }
    return kind;
}

}  // namespace

void target_process::refuse(const std::string& why) const {
    throw program::failure(program::environment, "cannot attach to process " + std::to_string(pid_) + ": " + why);
}

std::string target_process::status_in(const std::string& folder, const std::string& name) {
    std::ifstream file(folder + "/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
    return "";
}

bool target_process::is_running() const {
    const std::string state = status("State");
    return !state.empty() && state[0] != 'Z' && state[0] != 'X';
}

pid_t target_process::own_pid() const {
    std::istringstream numbers(status("NSpid"));
    pid_t own = pid_;
    for (pid_t number; numbers >> number;) own = number;
    return own;
}

bool target_process::has_signal(const std::string& mask, int number) const {
    return (std::strtoull(status(mask).c_str(), nullptr, 16) >> (number - 1) & 1) != 0;
}

bool target_process::has_pending(pid_t thread) const {
    const std::string place = folder() + "/task/" + std::to_string(thread);
    const auto mask = [&](const char* name) { return std::strtoull(status_in(place, name).c_str(), nullptr, 16); };
    return ((mask("SigPnd") | mask("ShdPnd")) & ~mask("SigBlk") & mask("SigCgt")) != 0;
}

bool target_process::has_thread_ended(pid_t thread) const {
    const std::string state = status_in(folder() + "/task/" + std::to_string(thread), "State");
    return state.empty() || state[0] == 'Z' || state[0] == 'X';
}

std::vector<pid_t> target_process::threads() const {
    std::vector<pid_t> all;
    std::error_code gone;
    for (const auto& entry : fs::directory_iterator(folder() + "/task", gone))
        all.push_back(static_cast<pid_t>(std::strtol(entry.path().filename().c_str(), nullptr, 10)));
    std::sort(all.begin(), all.end());
    return all;
}

bool target_process::has_children(pid_t thread) const {
    return !read_line(folder() + "/task/" + std::to_string(thread) + "/children").empty();
}

bool target_process::ignores(int number) const {
    const bool by_default = number == SIGCHLD || number == SIGCONT || number == SIGURG || number == SIGWINCH;
    return has_signal("SigIgn", number) || (by_default && !has_signal("SigCgt", number));
}

std::vector<mapped_file> target_process::modules() const {
    std::vector<mapped_file> all;
    std::ifstream file(folder() + "/maps");
    for (std::string line; std::getline(file, line);) {
        unsigned long long first = 0, past = 0, inode = 0;
        unsigned major_number = 0, minor_number = 0;
        int path_at = 0;
        if (std::sscanf(line.c_str(), "%llx-%llx %*s %*s %x:%x %llu %n", &first, &past, &major_number, &minor_number,
                        &inode, &path_at) != 5 ||
            inode == 0)
            continue;
        std::string path = line.substr(static_cast<std::size_t>(path_at));
        const auto known = std::find_if(all.begin(), all.end(), [&](const mapped_file& m) { return m.path == path; });
        if (known != all.end())
            known->past = past;
        else
            all.push_back({std::move(path), first, past, makedev(major_number, minor_number), inode});
    }
    return all;
}

std::optional<mapped_file> target_process::find_module(const std::string& name_begin) const {
    for (const mapped_file& module : modules())
        if (module.name().starts_with(name_begin)) return module;
    return std::nullopt;
}

std::string target_process::executable() const {
    std::error_code unreadable;
    return fs::read_symlink(folder() + "/exe", unreadable);
}

// Some file systems show another device in maps than stat does.
bool target_process::is_same_file(const mapped_file& module, const std::string& path) const {
    struct stat here{};
    return stat(path.c_str(), &here) == 0 && here.st_ino == module.inode &&
           (here.st_dev == module.device || module.path == path);
}

void target_process::require_same_file(const std::string& path) const {
    struct stat here{}, there{};
    if (stat(path.c_str(), &here) == 0 && stat(outside(path).c_str(), &there) == 0 && here.st_dev == there.st_dev &&
        here.st_ino == there.st_ino)
        return;
    refuse("it cannot see " + path + " (another root or mount namespace); run millpond inside that container");
}

void target_process::refuse_trace(int error) const {
    if (error == ESRCH) refuse("it has ended");
    if (status("TracerPid") != "0")
        refuse("process " + status("TracerPid") + " traces it already; end that debugger first");
    const std::string scope = read_line(proc_ + "/sys/kernel/yama/ptrace_scope");
    if (scope == "3")
        refuse(
            "kernel.yama.ptrace_scope is 3, which permits no tracing until the machine starts again; start the "
            "program with 'millpond trace record'");
    if (!scope.empty() && scope != "0")
        refuse("kernel.yama.ptrace_scope is " + scope +
               ", which permits no tracing of running programs; run as root, or set it to 0 by sysctl");
    refuse(std::string("ptrace: ") + strerror(error) + "; run as root, or with the capability SYS_PTRACE");
}

void target_process::refuse_unfit(const std::string& library) const {
    if (!is_running()) throw program::failure(program::input, "there is no process " + std::to_string(pid_));
    std::istringstream users(status("Uid"));
    unsigned real = 0, effective = 0;
    users >> real >> effective;
    if (real != geteuid() || effective != geteuid())
        refuse("it belongs to user " + std::to_string(effective) + "; run millpond as that user");
    if (status("State")[0] == 'T') refuse("it is stopped; continue it first (kill -CONT " + std::to_string(pid_) + ")");
    if (const std::string tracer = status("TracerPid"); tracer != "0")
        refuse("process " + tracer + " traces it already; end that debugger first");
    if (status("Seccomp") != "0")
        refuse("it restricts its own system calls (seccomp); start it with 'millpond trace record'");
    if (has_signal("SigIgn", SIGSEGV))
        refuse("it ignores SIGSEGV, by which a call in it would end; start it with 'millpond trace record'");
    const std::string executable_here = folder() + "/exe";
    const executable_kind kind = kind_of(executable_here);
    if (!kind.is_elf) refuse("its executable cannot be read; run millpond as root");
    if (!kind.is_64_bit || !kind.is_this_machine) refuse("it is no x86-64 program; only these can be attached to");
    if (kind.is_go) refuse("it is a Go program, whose allocator has no functions to replace; use Go's own profiler");
    if (find_module("ld-musl").has_value() || kind.interpreter.find("/ld-musl") != std::string::npos)
        refuse("it uses musl, and the recorder needs glibc; build the program with glibc");
    if (!kind.has_interpreter && !find_module("ld-linux"))
        refuse("it is a static program, whose malloc cannot be replaced; link it dynamically");
    if (!find_module("libc.so.6"))
        refuse("it has loaded no C library (libc.so.6), which the recorder needs; if it has just started, try again");
    if (has_line(folder() + "/environ", "MILLPOND_RECORD=") ||
        (find_module("libmillpond-") && !find_module("libmillpond-record.so") && !find_module("libmillpond-sample.so")))
        refuse("it runs under Millpond already; stop it, and start it without");
    require_same_file(library);
}

}  // namespace millpond::attach
