// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/unpack.hpp"

#include <elf.h>
#ifdef MILLPOND_WITH_LZMA
#include <lzma.h>
#endif
#ifdef MILLPOND_WITH_ZLIB
#include <zlib.h>
#endif
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace millpond::symbols {
namespace {

constexpr std::size_t unpacked_bytes_max = std::size_t{2} << 30;  // larger sizes are taken for damage
constexpr std::size_t step_bytes = std::size_t{1} << 20;
constexpr std::uint32_t compressed_by_zstd = 2;  // ELFCOMPRESS_ZSTD, which older headers do not have

#ifdef MILLPOND_WITH_LZMA
std::vector<char> unpack_xz(std::string_view packed) {
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, UINT64_MAX, LZMA_CONCATENATED) != LZMA_OK) return {};
    std::vector<char> image;
    stream.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
    stream.avail_in = packed.size();
    lzma_ret status = LZMA_OK;
    while (status == LZMA_OK && image.size() < unpacked_bytes_max) {
        const std::size_t done = image.size();
        image.resize(done + step_bytes);
        stream.next_out = reinterpret_cast<std::uint8_t*>(image.data() + done);
        stream.avail_out = image.size() - done;
        status = lzma_code(&stream, LZMA_FINISH);
        image.resize(image.size() - stream.avail_out);
    }
    lzma_end(&stream);
    if (status != LZMA_STREAM_END) image.clear();
    return image;
}
#else
std::vector<char> unpack_xz(std::string_view) { return {}; }
#endif

#ifdef MILLPOND_WITH_ZLIB
std::vector<char> unpack_gzip(std::string_view packed) {
    constexpr int window_bits_of_gzip = 15 + 16;
    z_stream stream{};
    if (packed.size() > UINT32_MAX || inflateInit2(&stream, window_bits_of_gzip) != Z_OK) return {};
    std::vector<char> image;
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    int status = Z_OK;
    while (status == Z_OK && image.size() < unpacked_bytes_max) {
        const std::size_t done = image.size();
        image.resize(done + step_bytes);
        stream.next_out = reinterpret_cast<Bytef*>(image.data() + done);
        stream.avail_out = static_cast<uInt>(step_bytes);
        status = inflate(&stream, Z_NO_FLUSH);
        image.resize(image.size() - stream.avail_out);
    }
    inflateEnd(&stream);
    if (status != Z_STREAM_END) image.clear();
    return image;
}
#else
std::vector<char> unpack_gzip(std::string_view) { return {}; }
#endif

std::vector<char> unpack_zstd(std::string_view packed) {
    ZSTD_DCtx* const context = ZSTD_createDCtx();
    if (context == nullptr) return {};
    std::vector<char> image;
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    std::size_t status = 1;
    while (!ZSTD_isError(status) && image.size() < unpacked_bytes_max && (in.pos < in.size || status != 0)) {
        const std::size_t done = image.size();
        image.resize(done + step_bytes);
        ZSTD_outBuffer out{image.data() + done, step_bytes, 0};
        const std::size_t taken = in.pos;
        status = ZSTD_decompressStream(context, &out, &in);
        image.resize(done + (ZSTD_isError(status) ? 0 : out.pos));
        if (out.pos == 0 && in.pos == taken) break;
    }
    ZSTD_freeDCtx(context);
    if (status != 0) image.clear();
    return image;
}

// The sections of a 64-bit ELF file; none if its table lies outside the file.
struct section_table {
    std::uint64_t at = 0;
    std::size_t count = 0;

    explicit section_table(std::string_view file) {
        Elf64_Ehdr header;
        if (file.size() < sizeof header) return;
        std::memcpy(&header, file.data(), sizeof header);
        if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
            header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_shentsize != sizeof(Elf64_Shdr) ||
            header.e_shoff > file.size() || header.e_shnum > (file.size() - header.e_shoff) / sizeof(Elf64_Shdr))
            return;
        at = header.e_shoff;
        count = header.e_shnum;
    }

    static bool is_zstd(std::string_view file, const Elf64_Shdr& section) {
        Elf64_Chdr how;
        if ((section.sh_flags & SHF_COMPRESSED) == 0 || section.sh_offset > file.size() ||
            section.sh_size > file.size() - section.sh_offset || section.sh_size < sizeof how)
            return false;
        std::memcpy(&how, file.data() + section.sh_offset, sizeof how);
        return how.ch_type == compressed_by_zstd;
    }

    Elf64_Shdr read(std::string_view file, std::size_t i) const {
        Elf64_Shdr section;
        std::memcpy(&section, file.data() + at + i * sizeof section, sizeof section);
        return section;
    }
};

}  // namespace

std::string_view packer_of(std::string_view content) noexcept {
    using namespace std::string_view_literals;
    if (content.starts_with("\x1f\x8b"sv)) return "gzip";
    if (content.starts_with("\xfd\x37zXZ\0"sv)) return "xz";
    if (content.starts_with("\x28\xb5\x2f\xfd"sv)) return "zstd";
    return {};
}

std::vector<char> unpack(std::string_view packed) {
    const std::string_view packer = packer_of(packed);
    return packer == "gzip" ? unpack_gzip(packed)
           : packer == "xz" ? unpack_xz(packed)
           : packer.empty() ? std::vector<char>()
                            : unpack_zstd(packed);
}

bool has_zstd_sections(std::string_view file) noexcept {
    const section_table table(file);
    for (std::size_t i = 0; i < table.count; ++i) {
        if (section_table::is_zstd(file, table.read(file, i))) return true;
    }
    return false;
}

std::vector<char> without_zstd_sections(std::string_view file) {
    const section_table table(file);
    std::vector<char> image(file.begin(), file.end());
    for (std::size_t i = 0; i < table.count; ++i) {
        Elf64_Shdr section = table.read(file, i);
        if (!section_table::is_zstd(file, section)) continue;
        Elf64_Chdr how;
        std::memcpy(&how, file.data() + section.sh_offset, sizeof how);
        const std::string_view packed = file.substr(section.sh_offset + sizeof how, section.sh_size - sizeof how);
        const std::vector<char> content = unpack_zstd(packed);
        if (content.size() != how.ch_size) return {};
        image.resize((image.size() + 15) / 16 * 16);
        section.sh_offset = image.size();
        section.sh_size = content.size();
        section.sh_addralign = how.ch_addralign;
        section.sh_flags &= ~static_cast<std::uint64_t>(SHF_COMPRESSED);
        image.insert(image.end(), content.begin(), content.end());
        std::memcpy(image.data() + table.at + i * sizeof section, &section, sizeof section);
    }
    return image;
}

}  // namespace millpond::symbols
