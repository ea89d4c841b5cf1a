// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/embedded_symbols.hpp"

#include <stdexcept>

#ifdef MILLPOND_WITH_LZMA
#include <lzma.h>
#endif

namespace millpond::symbols {

#ifdef MILLPOND_WITH_LZMA
namespace {

constexpr std::size_t image_bytes_max = std::size_t{256} << 20;  // a symbol table larger than this is damage

std::vector<char> decompress(std::string_view packed) {
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, UINT64_MAX, 0) != LZMA_OK) return {};
    std::vector<char> image;
    stream.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
    stream.avail_in = packed.size();
    lzma_ret status = LZMA_OK;
    while (status == LZMA_OK && image.size() < image_bytes_max) {
        const std::size_t done = image.size();
        image.resize(done + (std::size_t{1} << 20));
        stream.next_out = reinterpret_cast<std::uint8_t*>(image.data() + done);
        stream.avail_out = image.size() - done;
        status = lzma_code(&stream, LZMA_FINISH);
        image.resize(image.size() - stream.avail_out);
    }
    lzma_end(&stream);
    if (status != LZMA_STREAM_END) image.clear();
    return image;
}

}  // namespace

void append_embedded_symbols(const elf_file& file, std::vector<raw_symbol>& functions) {
    const std::string_view packed = file.section(".gnu_debugdata");
    if (packed.empty()) return;
    std::vector<char> image = decompress(packed);
    if (image.empty()) return;
    try {
        elf_file(std::move(image)).append_functions(functions);
    } catch (const std::runtime_error&) {  // damaged: the other tables remain
    }
}
#else
void append_embedded_symbols(const elf_file&, std::vector<raw_symbol>&) {}
#endif

}  // namespace millpond::symbols
