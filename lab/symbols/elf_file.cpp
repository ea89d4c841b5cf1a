// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/elf_file.hpp"

#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "lab/program/regular_file.hpp"
#include "lab/symbols/frame_entries.hpp"
#include "lab/symbols/unpack.hpp"

namespace millpond::symbols {
namespace {

constexpr std::size_t packed_bytes_max = std::size_t{1} << 30;

void initialise_libelf() {
    static const unsigned version = elf_version(EV_CURRENT);
    if (version == EV_NONE) throw std::runtime_error("libelf is older than its headers: reinstall libelf");
}

std::string hex(const unsigned char* bytes, std::size_t count) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        text += digits[bytes[i] >> 4];
        text += digits[bytes[i] & 15];
    }
    return text;
}

std::string build_id_in_notes(Elf_Data* data) {
    if (data == nullptr) return {};
    GElf_Nhdr note;
    std::size_t name_at = 0, content_at = 0, at = 0;
    while ((at = gelf_getnote(data, at, &note, &name_at, &content_at)) > 0) {
        const auto* bytes = static_cast<const unsigned char*>(data->d_buf);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(bytes + name_at, "GNU", 4) == 0)
            return hex(bytes + content_at, note.n_descsz);
    }
    return {};
}

}  // namespace

elf_file::elf_file(const std::string& path) {
    initialise_libelf();
    // A damaged trace may name any file as a module; opening a FIFO would wait without end.
    descriptor_ = program::open_regular(path.c_str());
    char magic[6] = {};
    if (::pread(descriptor_, magic, sizeof magic, 0) == sizeof magic && !packer_of({magic, sizeof magic}).empty()) {
        image_ = unpack(program::read_regular(path, packed_bytes_max));
        if (!image_.empty()) elf_ = elf_memory(image_.data(), image_.size());
    } else {
        elf_ = elf_begin(descriptor_, ELF_C_READ_MMAP, nullptr);
    }
    if (elf_ == nullptr || elf_kind(elf_) != ELF_K_ELF) {
        elf_end(elf_);
        ::close(descriptor_);
        throw std::runtime_error(path + ": not an ELF file");
    }
}

elf_file::elf_file(std::vector<char> image) : image_(std::move(image)) {
    initialise_libelf();
    elf_ = elf_memory(image_.data(), image_.size());
    if (elf_ == nullptr || elf_kind(elf_) != ELF_K_ELF) {
        elf_end(elf_);
        throw std::runtime_error("embedded debug data: not an ELF file");
    }
}

elf_file::~elf_file() {
    elf_end(elf_);
    if (descriptor_ >= 0) ::close(descriptor_);
}

std::string elf_file::build_id() const {
    // Look for segments first: they exist even without section headers.
    std::size_t segments = 0;
    if (elf_getphdrnum(elf_, &segments) == 0) {
        for (std::size_t i = 0; i < segments; ++i) {
            GElf_Phdr segment;
            if (gelf_getphdr(elf_, static_cast<int>(i), &segment) == nullptr || segment.p_type != PT_NOTE) continue;
            Elf_Data* data = elf_getdata_rawchunk(elf_, static_cast<std::int64_t>(segment.p_offset), segment.p_filesz,
                                                  segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
            if (std::string id = build_id_in_notes(data); !id.empty()) return id;
        }
    }
    if (Elf_Scn* notes = find_section(".note.gnu.build-id", nullptr))
        return build_id_in_notes(elf_getdata(notes, nullptr));
    return {};
}

std::optional<thread_segment> elf_file::thread_variables() const {
    std::size_t segments = 0;
    if (elf_getphdrnum(elf_, &segments) != 0) return std::nullopt;
    for (std::size_t i = 0; i < segments; ++i) {
        GElf_Phdr segment;
        if (gelf_getphdr(elf_, static_cast<int>(i), &segment) == nullptr || segment.p_type != PT_TLS) continue;
        return thread_segment{segment.p_vaddr, segment.p_memsz, std::max<std::uint64_t>(segment.p_align, 1)};
    }
    return std::nullopt;
}

void elf_file::append_functions(std::vector<raw_symbol>& functions) const {
    for (Elf_Scn* at = elf_nextscn(elf_, nullptr); at != nullptr; at = elf_nextscn(elf_, at)) {
        GElf_Shdr header;
        if (gelf_getshdr(at, &header) == nullptr || header.sh_entsize == 0) continue;
        if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) continue;
        Elf_Data* data = elf_getdata(at, nullptr);
        if (data == nullptr) continue;
        const auto count = static_cast<int>(data->d_size / header.sh_entsize);
        for (int i = 0; i < count; ++i) {
            GElf_Sym symbol;
            if (gelf_getsym(data, i, &symbol) == nullptr || symbol.st_shndx == SHN_UNDEF) continue;
            const auto type = static_cast<unsigned char>(GELF_ST_TYPE(symbol.st_info));
            if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_value == 0) continue;
            const char* name = elf_strptr(elf_, header.sh_link, symbol.st_name);
            if (name == nullptr || *name == '\0') continue;
            functions.push_back(
                {symbol.st_value, symbol.st_size, name, static_cast<unsigned char>(GELF_ST_BIND(symbol.st_info))});
        }
    }
}

bool elf_file::has_symbol_table() const { return find_section(".symtab", nullptr) != nullptr; }

bool elf_file::has_debug_information() const {
    return find_section(".debug_info", nullptr) != nullptr || find_section(".zdebug_info", nullptr) != nullptr;
}

std::vector<address_range> elf_file::frame_entries() const {
    std::uint64_t address = 0;
    Elf_Scn* frames = find_section(".eh_frame", &address);
    Elf_Data* data = frames != nullptr ? elf_rawdata(frames, nullptr) : nullptr;
    if (data == nullptr || data->d_buf == nullptr) return {};
    const std::string_view bytes(static_cast<const char*>(data->d_buf), data->d_size);
    const unsigned word_bytes = gelf_getclass(elf_) == ELFCLASS32 ? 4 : 8;
    std::vector<address_range> entries = decode_frame_entries(bytes, address, word_bytes);
    std::sort(entries.begin(), entries.end(), [](const address_range& a, const address_range& b) {
        return a.first != b.first ? a.first < b.first : a.past > b.past;
    });
    const auto same = [](const address_range& a, const address_range& b) { return a.first == b.first; };
    entries.erase(std::unique(entries.begin(), entries.end(), same), entries.end());
    return entries;
}

std::vector<address_range> elf_file::code_sections() const {
    std::vector<address_range> found;
    for (Elf_Scn* at = elf_nextscn(elf_, nullptr); at != nullptr; at = elf_nextscn(elf_, at)) {
        GElf_Shdr header;
        if (gelf_getshdr(at, &header) == nullptr || (header.sh_flags & SHF_EXECINSTR) == 0) continue;
        found.push_back({header.sh_addr, header.sh_addr + header.sh_size});
    }
    std::sort(found.begin(), found.end(),
              [](const address_range& a, const address_range& b) { return a.first < b.first; });
    return found;
}

std::string_view elf_file::section(std::string_view name) const {
    Elf_Scn* found = find_section(name, nullptr);
    Elf_Data* data = found != nullptr ? elf_rawdata(found, nullptr) : nullptr;
    if (data == nullptr || data->d_buf == nullptr) return {};
    return {static_cast<const char*>(data->d_buf), data->d_size};
}

Elf_Scn* elf_file::find_section(std::string_view name, std::uint64_t* address) const {
    std::size_t names = 0;
    if (elf_getshdrstrndx(elf_, &names) != 0) return nullptr;
    for (Elf_Scn* at = elf_nextscn(elf_, nullptr); at != nullptr; at = elf_nextscn(elf_, at)) {
        GElf_Shdr header;
        if (gelf_getshdr(at, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
        const char* found = elf_strptr(elf_, names, header.sh_name);
        if (found == nullptr || name != found) continue;
        if (address != nullptr) *address = header.sh_addr;
        return at;
    }
    return nullptr;
}

}  // namespace millpond::symbols
