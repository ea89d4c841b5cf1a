// SPDX-License-Identifier: BSL-1.0
#include "lab/references/program_check.hpp"

#include <cxxabi.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#if MILLPOND_HAS_LIBDW
#include <dwarf.h>
#include <elfutils/libdw.h>
#endif

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "lab/measure/module_facts.hpp"
#include "lab/plan/near_names.hpp"
#include "lab/program/program.hpp"

namespace millpond::references {

namespace {

[[noreturn]] void refuse(const std::string& why) { throw program::failure(program::environment, why); }

// An open ELF file, or nothing.
class elf_image {
  public:
    explicit elf_image(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        elf_version(EV_CURRENT);
        if (descriptor_ >= 0) elf_ = elf_begin(descriptor_, ELF_C_READ_MMAP, nullptr);
        if (elf_ != nullptr && elf_kind(elf_) != ELF_K_ELF) elf_ = (elf_end(elf_), nullptr);
    }
    ~elf_image() {
        if (elf_ != nullptr) elf_end(elf_);
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    elf_image(const elf_image&) = delete;
    elf_image& operator=(const elf_image&) = delete;

    Elf* elf() const { return elf_; }
    int descriptor() const { return descriptor_; }

  private:
    int descriptor_;
    Elf* elf_ = nullptr;
};

// The symbol tables of one file: its functions, and the names that other files must provide.
struct names {
    std::set<std::string> functions, needed;
    bool is_stripped = true;
};

std::string without_version(std::string_view name) { return std::string(name.substr(0, name.find('@'))); }

void take_symbols(const elf_image& file, names& to) {
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(file.elf(), section)) != nullptr;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == nullptr || header.sh_entsize == 0) continue;
        if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) continue;
        to.is_stripped &= header.sh_type != SHT_SYMTAB;
        Elf_Data* const data = elf_getdata(section, nullptr);
        for (std::size_t i = 1; data != nullptr && i < header.sh_size / header.sh_entsize; ++i) {
            GElf_Sym symbol;
            if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
            const char* const name = elf_strptr(file.elf(), header.sh_link, symbol.st_name);
            const unsigned type = GELF_ST_TYPE(symbol.st_info);
            if (name == nullptr || *name == 0) continue;
            if (symbol.st_shndx == SHN_UNDEF)
                to.needed.insert(without_version(name));
            else if (type == STT_FUNC || type == STT_GNU_IFUNC)
                to.functions.insert(without_version(name));
        }
    }
}

std::string quoted(const std::string& word) {
    std::string result = "'";
    for (const char c : word) c == '\'' ? result += "'\\''" : result += c;
    return result + "'";
}

std::string interpreter_of(const elf_image& file) {
    std::size_t count = 0;
    elf_getphdrnum(file.elf(), &count);
    for (std::size_t i = 0; i < count; ++i) {
        GElf_Phdr header;
        if (gelf_getphdr(file.elf(), static_cast<int>(i), &header) == nullptr || header.p_type != PT_INTERP) continue;
        std::string path(std::min<std::size_t>(header.p_filesz, 4096), '\0');
        const ssize_t got = ::pread(file.descriptor(), path.data(), path.size(), static_cast<off_t>(header.p_offset));
        path.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        return path.substr(0, path.find('\0'));
    }
    return {};
}

// Returns the paths of the libraries with which the dynamic linker would start the program.
std::vector<std::string> libraries_of(const std::string& path, const elf_image& file) {
    std::vector<std::string> result;
    const std::string interpreter = interpreter_of(file);
    if (interpreter.empty()) return result;
    const std::string command = quoted(interpreter) + " --list " + quoted(path) + " 2>/dev/null";
    const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command.c_str(), "r"), &pclose);
    std::array<char, 8192> line{};
    while (output != nullptr && std::fgets(line.data(), line.size(), output.get()) != nullptr) {
        const std::string_view text(line.data());
        const std::size_t begin = text.find('/'), end = text.rfind(" (");
        if (begin != text.npos && end != text.npos && begin < end) result.emplace_back(text.substr(begin, end - begin));
    }
    return result;
}

bool is_c_library(const std::string& path) {
    const std::string name = path.substr(path.rfind('/') + 1);
    return name.starts_with("libc.so") || name.starts_with("ld-") || name.starts_with("libdl.so") ||
           name.starts_with("libpthread.so");
}

// Returns whether code of other files may run, too.
bool reaches_further(const std::set<std::string>& needed) {
    constexpr auto ways = std::to_array<std::string_view>(
        {"dlopen", "dlmopen", "execl", "execle", "execlp", "execv", "execve", "execvp", "execvpe", "execveat",
         "fexecve", "posix_spawn", "posix_spawnp", "system", "popen", "syscall"});
    return std::any_of(ways.begin(), ways.end(),
                       [&](std::string_view name) { return needed.contains(std::string(name)); });
}

// Returns whether the function is a compiler's copy of another, made for some of its calls.
bool is_copy(const std::string& name, const std::string& of) {
    if (!name.starts_with(of + ".") || name.find(".cold") != name.npos) return false;
    return name.compare(of.size(), 11, ".constprop.") == 0 || name.compare(of.size(), 6, ".isra.") == 0;
}

std::string demangled(const std::string& name) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(
        name.starts_with("_Z") ? abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status) : nullptr, &std::free);
    return text == nullptr ? name : std::string(text.get());
}

// Returns "f" for "f(int)".
std::string without_parameters(const std::string& name) {
    return name.ends_with(')') || name.ends_with(") const") ? name.substr(0, name.find('(')) : name;
}

#if MILLPOND_HAS_LIBDW
struct inlined_search {
    const std::string& name;
    bool found = false;
};

int look_at(Dwarf_Die* function, void* search) {
    auto& wanted = *static_cast<inlined_search*>(search);
    const char* const name = dwarf_diename(function);
    Dwarf_Attribute linkage;
    const char* const symbol =
        dwarf_attr_integrate(function, DW_AT_linkage_name, &linkage) != nullptr ? dwarf_formstring(&linkage) : nullptr;
    if (dwarf_func_inline(function) != 0 &&
        ((name != nullptr && wanted.name == name) || (symbol != nullptr && wanted.name == symbol)))
        wanted.found = true;
    return wanted.found ? DWARF_CB_ABORT : DWARF_CB_OK;
}

// Returns whether the debug information lists the function as inlined.
bool was_inlined(const elf_image& file, const std::string& name) {
    Dwarf* const debug = dwarf_begin_elf(file.elf(), DWARF_C_READ, nullptr);
    if (debug == nullptr) return false;
    inlined_search search{name};
    Dwarf_Off offset = 0, next = 0;
    std::size_t header_bytes = 0;
    while (!search.found && dwarf_nextcu(debug, offset, &next, &header_bytes, nullptr, nullptr, nullptr) == 0) {
        Dwarf_Die unit;
        if (dwarf_offdie(debug, offset + header_bytes, &unit) != nullptr) dwarf_getfuncs(&unit, look_at, &search, 0);
        offset = next;
    }
    dwarf_end(debug);
    return search.found;
}
#else
bool was_inlined(const elf_image&, const std::string&) { return false; }
#endif

[[noreturn]] void refuse_missing(const std::string& path, const std::string& window, const names& all) {
    std::vector<std::string> candidates;
    for (const std::string& name : all.functions) {
        candidates.push_back(name);
        if (const std::string plain = without_parameters(demangled(name)); plain != name) candidates.push_back(plain);
    }
    std::string near;
    for (const std::string& name : plan::near_names(window, candidates)) near += (near.empty() ? "" : ", ") + name;
    std::string why = "no function named " + window + " in " + path + " and its libraries";
    if (!near.empty()) why += "; near are " + near;
    if (all.is_stripped) why += "; the executable has no symbols of its own functions: build it without -s";
    throw program::failure(program::input, why);
}

[[noreturn]] void refuse_sanitized(const std::string& path, const std::string& library, const std::string& sanitizer) {
    refuse(path + ": " + (library.empty() ? "it was" : "its library '" + library + "' was") + " built with " +
           sanitizer + ", and Valgrind cannot give the addresses that its runtime needs; build it without");
}

}  // namespace

void check_program(const std::string& path) {
    struct stat about{};
    if (::stat(path.c_str(), &about) != 0) return;  // the start reports it
    if ((about.st_mode & (S_ISUID | S_ISGID)) != 0 || ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0)
        refuse(path +
               " runs with more rights than its caller's (set-user-id, set-group-id or file capabilities), which "
               "Valgrind cannot give; capture a copy without them");
    if (::access(path.c_str(), R_OK) != 0)
        refuse(path + " is not readable, so Valgrind cannot run it; make it readable, or capture a copy");
    const elf_image file(path);
    if (file.elf() == nullptr) return;  // a script: its interpreter is an ordinary program
    GElf_Ehdr header;
    if (gelf_getehdr(file.elf(), &header) == nullptr) return;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64)
        refuse(path +
               " is not a 64-bit x86 program; references of other programs cannot be captured; build it with -m64");
    if (const std::string own = measure::facts_of_module(path).sanitizer; !own.empty()) refuse_sanitized(path, "", own);
    for (const std::string& library : libraries_of(path, file))
        if (const std::string its = measure::facts_of_module(library).sanitizer; !its.empty())
            refuse_sanitized(path, library, its);
}

std::string check_window(const std::string& path, const std::string& window) {
    const elf_image file(path);
    if (file.elf() == nullptr) return window;  // a script: the function may be in a program that it starts
    names all;
    take_symbols(file, all);
    const auto has = [&] {
        return all.functions.contains(window) ||
               std::any_of(all.functions.begin(), all.functions.end(),
                           [&](const std::string& name) { return is_copy(name, window); });
    };
    if (has()) return window;
    const bool is_stripped = all.is_stripped;
    std::set<std::string> needed = all.needed;
    for (const std::string& library : libraries_of(path, file)) {
        const elf_image one(library);
        names of_library;
        if (one.elf() != nullptr) take_symbols(one, of_library);
        all.functions.merge(of_library.functions);
        if (!is_c_library(library)) needed.merge(of_library.needed);
    }
    all.is_stripped = is_stripped;
    if (has()) return window;
    std::vector<std::string> written;
    for (const std::string& name : all.functions)
        if (const std::string plain = demangled(name); plain == window || without_parameters(plain) == window)
            written.push_back(name);
    if (written.size() == 1) return written.front();
    if (written.size() > 1)
        throw program::failure(program::input, "there are " + std::to_string(written.size()) + " functions named " +
                                                   window + "; name one by its symbol, such as " + written.front());
    if (was_inlined(file, window))
        throw program::failure(program::input,
                               "the function " + window + " was inlined everywhere, so " + path +
                                   " has no place where it begins; build with -fno-inline, or declare it "
                                   "__attribute__((noinline))");
    if (!reaches_further(needed)) refuse_missing(path, window, all);
    return window;
}

}  // namespace millpond::references
