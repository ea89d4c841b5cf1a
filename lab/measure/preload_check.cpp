// SPDX-License-Identifier: BSL-1.0
#include "lab/measure/preload_check.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "lab/measure/loaded_modules.hpp"
#include "lab/measure/module_facts.hpp"
#include "lab/program/program.hpp"

namespace millpond::measure {
namespace {

// The kernel itself gives up after this many nested #! lines.
constexpr int script_depth_max = 5;

#if defined(__x86_64__)
constexpr unsigned own_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned own_machine = EM_AARCH64;
#else
#error "teach preload_check the ELF machine of this architecture"
#endif

[[noreturn]] void not_started(const std::string& path, const std::string& why) {
    throw program::failure(program::not_started, "cannot start '" + path + "': " + why);
}

[[noreturn]] void not_preloadable(const std::string& path, const std::string& why) {
    throw program::failure(program::environment, "cannot preload into '" + path + "': " + why);
}

// Returns 0, or the errno with which execve would refuse the file itself.
int refusal(const std::string& path) {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0) return errno;
    if (S_ISDIR(status.st_mode)) return EISDIR;
    if (!S_ISREG(status.st_mode)) return EACCES;
    return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

std::string search_path() {
    if (const char* given = std::getenv("PATH")) return given;
    std::string standard(::confstr(_CS_PATH, nullptr, 0), '\0');
    ::confstr(_CS_PATH, standard.data(), standard.size());
    standard.resize(std::strlen(standard.c_str()));
    return standard;
}

class file {
  public:
    explicit file(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
    file(const file&) = delete;
    file& operator=(const file&) = delete;
    ~file() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    int descriptor() const { return descriptor_; }
    // Returns the number of bytes read at `offset`; fewer than requested at the end of the file or on an error.
    std::size_t read(void* to, std::size_t bytes, std::uint64_t offset) const {
        const ssize_t got = ::pread(descriptor_, to, bytes, static_cast<off_t>(offset));
        return got < 0 ? 0 : static_cast<std::size_t>(got);
    }

  private:
    int descriptor_;
};

void prove_readable(const std::string& path, const file& image) {
    if (image.descriptor() >= 0) return;
    if (errno == ENOENT || errno == ENOTDIR) not_started(path, std::strerror(errno));
    not_preloadable(path, std::string("it cannot be read to see whether it is dynamic: ") + std::strerror(errno));
}

// Returns the interpreter named on the #! line in `head`; empty if the line names none.
std::string interpreter_of(std::string_view head) {
    head.remove_prefix(2);
    const std::size_t begin = head.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    const std::size_t end = head.find_first_of(" \t\r\n\0", begin, 5);
    return std::string(head.substr(begin, end == std::string_view::npos ? end : end - begin));
}

void check_privileges(const std::string& path, const file& image) {
    struct stat status;
    if (::fstat(image.descriptor(), &status) != 0) not_started(path, std::strerror(errno));
    const char* const remedy = "; try a copy of it without that";
    if (status.st_mode & S_ISUID)
        not_preloadable(path, std::string("it is set-user-id, and the dynamic linker ignores LD_PRELOAD") + remedy);
    if ((status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP))
        not_preloadable(path, std::string("it is set-group-id, and the dynamic linker ignores LD_PRELOAD") + remedy);
    if (::fgetxattr(image.descriptor(), "security.capability", nullptr, 0) > 0)
        not_preloadable(path,
                        std::string("it has file capabilities, and the dynamic linker ignores LD_PRELOAD") + remedy);
}

void check_dynamic_linker(const std::string& path, const file& image, const Elf64_Phdr& header) {
    std::string linker(std::min<std::uint64_t>(header.p_filesz, 4096), '\0');
    linker.resize(image.read(linker.data(), linker.size(), header.p_offset));
    linker.resize(std::strlen(linker.c_str()));
    if (const int error = refusal(linker))
        not_started(path, "its dynamic linker '" + linker + "': " + std::strerror(error));
    if (linker.find("/ld-linux") == std::string::npos)
        not_preloadable(path, "its dynamic linker '" + linker + "' is not that of the GNU C library");
}

// A dynamic linker called by name starts another program, and has no interpreter, like a static program.
bool is_dynamic_linker(const std::string& path) {
    char* const real = ::realpath(path.c_str(), nullptr);
    const std::string name = real != nullptr ? real : path;
    std::free(real);
    const std::string_view last = std::string_view(name).substr(name.rfind('/') + 1);
    return last.starts_with("ld-linux-") || (last.starts_with("ld-2.") && last.ends_with(".so"));
}

// Returns the position, in the command, of the program that a dynamic linker is to start.
std::size_t program_of_linker(const std::string& linker, const std::vector<std::string>& command) {
    constexpr std::string_view with_value[] = {
        "--library-path", "--glibc-hwcaps-prepend", "--glibc-hwcaps-mask", "--inhibit-rpath", "--audit", "--preload",
        "--argv0"};
    for (std::size_t i = 1; i < command.size(); ++i) {
        if (!command[i].starts_with("--")) return i;
        for (const std::string_view option : with_value)
            if (command[i] == option) ++i;
    }
    not_preloadable(linker, "it is the dynamic linker, and no program is given to it");
}

[[noreturn]] void refuse_sanitized(const std::string& path, const std::string& of, const std::string& sanitizer) {
    not_preloadable(path, (of.empty() ? "it was" : "its library '" + of + "' was") + " built with " + sanitizer +
                              ", whose own malloc must come first; build it without");
}

void check_sanitizers(const preloadable& program) {
    if (const std::string own = facts_of_module(program.image).sanitizer; !own.empty())
        refuse_sanitized(program.image, "", own);
    for (const std::string& module : program.modules)
        if (const std::string its = facts_of_module(module).sanitizer; !its.empty())
            refuse_sanitized(program.image, module, its);
}

// The command only starts another one, so a sanitized program behind it is refused, too. Other obstacles to preloading
// are treated as for every child: the child has no trace.
void check_started(const std::string& path, const std::vector<std::string>& command) {
    constexpr std::string_view starters[] = {"env",    "nice",    "nohup", "timeout", "setsid", "stdbuf",
                                             "ionice", "taskset", "chrt",  "time",    "numactl"};
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    bool starts_another = false;
    for (const std::string_view each : starters) starts_another |= name == each;
    for (std::size_t i = 1; starts_another && i < command.size(); ++i) {
        if (command[i].empty() || command[i].starts_with("-") || command[i].find('=') != std::string::npos) continue;
        std::string next;
        try {
            next = find_program(command[i]);
        } catch (const program::failure& is_no_program) {
            continue;
        }
        const file image(next);
        char head[4];
        if (image.read(head, sizeof head, 0) != sizeof head || std::memcmp(head, ELFMAG, SELFMAG) != 0) return;
        (void)check_preloadable(
            std::vector<std::string>(command.begin() + static_cast<std::ptrdiff_t>(i), command.end()));
        return;
    }
}

void check_elf(const std::string& path, const file& image, bool is_executed) {
    Elf64_Ehdr elf;
    if (image.read(&elf, EI_NIDENT, 0) != EI_NIDENT) not_started(path, "the file ends inside its ELF header");
    if (elf.e_ident[EI_CLASS] != ELFCLASS64)
        not_preloadable(path, "it is a 32-bit program, and the preloaded library is 64-bit");
    if (image.read(&elf, sizeof elf, 0) != sizeof elf) not_started(path, "the file ends inside its ELF header");
    if (elf.e_ident[EI_DATA] != ELFDATA2LSB || elf.e_machine != own_machine)
        not_preloadable(path, "it is built for another machine (ELF machine " + std::to_string(elf.e_machine) + ")");
    if (elf.e_type != ET_EXEC && elf.e_type != ET_DYN) not_started(path, "it is an object file or a core dump");
    for (unsigned i = 0; i < elf.e_phnum; ++i) {
        Elf64_Phdr header;
        if (image.read(&header, sizeof header, elf.e_phoff + std::uint64_t{i} * sizeof header) != sizeof header)
            not_started(path, "the file ends inside its program headers");
        if (header.p_type == PT_INTERP) {
            if (!is_executed) return;  // the dynamic linker reads it, and the linker is executed
            check_dynamic_linker(path, image, header);
            return check_privileges(path, image);
        }
    }
    not_preloadable(path, "it is statically linked, and only a dynamic linker can preload a library");
}

}  // namespace

std::string find_program(const std::string& program_as_given) {
    if (program_as_given.empty()) not_started("", "its name is empty");
    if (program_as_given.find('/') != std::string::npos) {
        if (const int error = refusal(program_as_given)) not_started(program_as_given, std::strerror(error));
        return program_as_given;
    }
    const std::string path = search_path();
    int remembered =
        0;  // a file without execute permission explains more, unless a later directory has an executable one
    for (std::size_t begin = 0; begin <= path.size();) {
        const std::size_t end = std::min(path.find(':', begin), path.size());
        const std::string directory = path.substr(begin, end - begin);
        const std::string candidate = directory.empty() ? "./" + program_as_given : directory + "/" + program_as_given;
        const int error = refusal(candidate);
        if (error == 0) return candidate;
        if (error == EACCES || error == EISDIR) remembered = EACCES;
        begin = end + 1;
    }
    if (remembered != 0) not_started(program_as_given, std::strerror(remembered));
    not_started(program_as_given, "no such program in PATH");
}

preloadable check_preloadable(const std::vector<std::string>& command) {
    const std::string resolved = find_program(command.at(0));
    std::string path = resolved;
    for (int depth = 0; depth <= script_depth_max; ++depth) {
        const file image(path);
        prove_readable(path, image);
        char head[256];  // the kernel reads no more of a #! line
        const std::string_view text(head, image.read(head, sizeof head, 0));
        if (text.starts_with("\177ELF")) {
            const bool is_linker = is_dynamic_linker(path);
            std::vector<std::string> linker;
            if (is_linker) {
                const std::size_t at = program_of_linker(path, command);
                linker.assign(command.begin(), command.begin() + static_cast<std::ptrdiff_t>(at));
                linker.front() = resolved;
                path = command[at];
            }
            const file code(path);
            prove_readable(path, code);
            check_elf(path, code, !is_linker);
            preloadable result{resolved, path, loaded_modules(path, linker)};
            check_sanitizers(result);
            check_started(result.path, command);
            return result;
        }
        if (!text.starts_with("#!")) not_started(path, "it is neither an ELF program nor a script that begins with #!");
        const std::string interpreter = interpreter_of(text);
        if (interpreter.empty()) not_started(path, "its #! line names no interpreter");
        if (const int error = refusal(interpreter))
            not_started(path, "its interpreter '" + interpreter + "': " + std::strerror(error));
        path = interpreter;
    }
    not_started(resolved, "its #! lines lead in a circle");
}

}  // namespace millpond::measure
