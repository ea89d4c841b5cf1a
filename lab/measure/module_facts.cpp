// SPDX-License-Identifier: BSL-1.0
#include "lab/measure/module_facts.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace millpond::measure {
namespace {

// A sanitizer whose runtime replaces malloc, or keeps a shadow of memory that another malloc would not fill.
struct known_sanitizer {
    std::string_view name;
    std::string_view symbol;   // in its runtime; instrumented code calls it
    std::string_view library;  // the begin of its runtime's file name
};
constexpr known_sanitizer sanitizers[] = {
    {"HWAddressSanitizer", "__hwasan_init", "libhwasan"}, {"AddressSanitizer", "__asan_init", "libasan"},
    {"ThreadSanitizer", "__tsan_init", "libtsan"},        {"MemorySanitizer", "__msan_init", "libmsan"},
    {"LeakSanitizer", "__lsan_init", "liblsan"},          {"DataFlowSanitizer", "__dfsan_init", "libdfsan"},
    {"MemProfiler", "__memprof_init", "libmemprof"},      {"RealtimeSanitizer", "__rtsan_init", "librtsan"}};

constexpr std::string_view allocators[] = {"malloc",    "je_malloc", "_rjem_malloc", "mi_malloc",
                                           "tc_malloc", "rpmalloc",  "sn_malloc",    "scalable_malloc"};

class mapped_file {
  public:
    explicit mapped_file(const std::string& path) {
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        struct stat status;
        if (file >= 0 && ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
            void* const p = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
            if (p != MAP_FAILED) bytes_ = {static_cast<const char*>(p), static_cast<std::size_t>(status.st_size)};
        }
        if (file >= 0) ::close(file);
    }
    ~mapped_file() {
        if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
    }
    mapped_file(const mapped_file&) = delete;
    mapped_file& operator=(const mapped_file&) = delete;

    // Returns `count` records at an offset; none if the file does not have them there, aligned.
    template <class T>
    std::span<const T> at(std::uint64_t offset, std::uint64_t count) const {
        if (offset % alignof(T) != 0 || offset > bytes_.size() || count > (bytes_.size() - offset) / sizeof(T))
            return {};
        return {reinterpret_cast<const T*>(bytes_.data() + offset), static_cast<std::size_t>(count)};
    }

  private:
    std::span<const char> bytes_;
};

class examination {
  public:
    explicit examination(const std::string& path) : file_(path) {
        const auto header = file_.at<Elf64_Ehdr>(0, 1);
        if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
            header[0].e_ident[EI_CLASS] != ELFCLASS64 || header[0].e_ident[EI_DATA] != ELFDATA2LSB)
            return;
        sections_ = file_.at<Elf64_Shdr>(header[0].e_shoff, header[0].e_shnum);
    }

    module_facts facts() {
        for (const Elf64_Shdr& section : sections_)
            if (section.sh_type == SHT_DYNAMIC) read_dynamic(section);
        for (const Elf64_Shdr& section : sections_)
            if (section.sh_type == SHT_DYNSYM || section.sh_type == SHT_SYMTAB) read_symbols(section);
        if (has_hooks_ && found_.own_malloc != module_facts::malloc_kind::none && found_.sanitizer.empty())
            found_.sanitizer = "a sanitizer";
        if (exports_malloc_) {
            const bool bound = is_symbolic_ || malloc_is_protected_;
            found_.own_malloc = bound ? module_facts::malloc_kind::bound : module_facts::malloc_kind::none;
            found_.allocator = bound ? "malloc" : "";
        }
        return std::move(found_);
    }

  private:
    std::string_view text(const Elf64_Shdr& user, std::uint64_t offset) const {
        if (user.sh_link >= sections_.size()) return {};
        const Elf64_Shdr& strings = sections_[user.sh_link];
        if (offset >= strings.sh_size) return {};
        const auto rest = file_.at<char>(strings.sh_offset + offset, strings.sh_size - offset);
        const void* const end = rest.empty() ? nullptr : std::memchr(rest.data(), 0, rest.size());
        if (end == nullptr) return {};
        return {rest.data(), static_cast<std::size_t>(static_cast<const char*>(end) - rest.data())};
    }

    void read_dynamic(const Elf64_Shdr& section) {
        for (const Elf64_Dyn& entry : file_.at<Elf64_Dyn>(section.sh_offset, section.sh_size / sizeof(Elf64_Dyn))) {
            if (entry.d_tag == DT_NULL) break;
            if (entry.d_tag == DT_SYMBOLIC || (entry.d_tag == DT_FLAGS && (entry.d_un.d_val & DF_SYMBOLIC) != 0))
                is_symbolic_ = true;
            if (entry.d_tag == DT_NEEDED || entry.d_tag == DT_SONAME) look_at_library(text(section, entry.d_un.d_val));
        }
    }

    // clang's libraries are called libclang_rt.asan-x86_64.so.
    void look_at_library(std::string_view name) {
        constexpr std::string_view prefix = "libclang_rt.";
        for (const known_sanitizer& each : sanitizers) {
            const std::string_view word = each.library.substr(3);
            const bool is_clangs = name.starts_with(prefix) && name.substr(prefix.size()).starts_with(word);
            if (is_clangs || (name.starts_with(each.library) && name.substr(each.library.size()).starts_with(".so")))
                found_.sanitizer = each.name;
        }
    }

    void read_symbols(const Elf64_Shdr& section) {
        const bool is_dynamic = section.sh_type == SHT_DYNSYM;
        for (const Elf64_Sym& symbol : file_.at<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
            const std::string_view name = text(section, symbol.st_name);
            if (name.size() < 6) continue;
            has_hooks_ |= name == "__sanitizer_malloc_hook";  // it remains in a stripped runtime
            const bool is_defined = symbol.st_shndx != SHN_UNDEF;
            const bool is_wanted = is_defined || ELF64_ST_BIND(symbol.st_info) != STB_WEAK;
            if (is_wanted && name.starts_with("__") && name.ends_with("_init"))
                for (const known_sanitizer& each : sanitizers)
                    if (name == each.symbol) found_.sanitizer = each.name;
            if (is_defined && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC) look_at_function(symbol, name, is_dynamic);
        }
    }

    void look_at_function(const Elf64_Sym& symbol, std::string_view name, bool is_dynamic) {
        for (const std::string_view allocator : allocators) {
            if (name != allocator) continue;
            if (is_dynamic && name == "malloc") {
                exports_malloc_ = true;
                malloc_is_protected_ |= ELF64_ST_VISIBILITY(symbol.st_other) == STV_PROTECTED;
            }
            found_.own_malloc = module_facts::malloc_kind::internal;
            if (found_.allocator.empty()) found_.allocator = name;
        }
    }

    mapped_file file_;
    std::span<const Elf64_Shdr> sections_;
    module_facts found_;
    bool is_symbolic_ = false, exports_malloc_ = false, malloc_is_protected_ = false, has_hooks_ = false;
};

}  // namespace

module_facts facts_of_module(const std::string& path) { return examination(path).facts(); }

}  // namespace millpond::measure
