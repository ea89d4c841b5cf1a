// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/frame_entries.hpp"

#include <cstring>
#include <optional>
#include <unordered_map>

namespace millpond::symbols {
namespace {

// Pointer encodings of .eh_frame: the low four bits give the width, the next three the base that is added.
enum : unsigned char {
    width_word = 0x00,
    width_uleb = 0x01,
    width_u2 = 0x02,
    width_u4 = 0x03,
    width_u8 = 0x04,
    width_sleb = 0x09,
    width_s2 = 0x0a,
    width_s4 = 0x0b,
    width_s8 = 0x0c,
    relative_to_place = 0x10,
    no_pointer = 0xff
};

// Reads forward, and remembers if it has run past the end.
class cursor {
  public:
    cursor(std::string_view bytes, std::size_t at) : bytes_(bytes), at_(at) {}

    template <typename Number>
    Number read() {
        Number number{};
        if (at_ > bytes_.size() || bytes_.size() - at_ < sizeof number) {
            failed_ = true;
            return number;
        }
        std::memcpy(&number, bytes_.data() + at_, sizeof number);
        at_ += sizeof number;
        return number;
    }

    std::uint64_t read_leb(bool is_signed) {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const auto byte = read<std::uint8_t>();
            if (failed_) return 0;
            if (shift < 64) value |= std::uint64_t{byte & 0x7fu} << shift;
            if ((byte & 0x80) != 0) continue;
            if (is_signed && (byte & 0x40) != 0 && shift + 7 < 64) value |= ~std::uint64_t{0} << (shift + 7);
            return value;
        }
    }

    std::uint64_t read_encoded(unsigned char width, unsigned word_bytes) {
        switch (width) {
            case width_word:
                return word_bytes == 8 ? read<std::uint64_t>() : read<std::uint32_t>();
            case width_uleb:
                return read_leb(false);
            case width_sleb:
                return read_leb(true);
            case width_u2:
                return read<std::uint16_t>();
            case width_s2:
                return static_cast<std::uint64_t>(std::int64_t{read<std::int16_t>()});
            case width_u4:
                return read<std::uint32_t>();
            case width_s4:
                return static_cast<std::uint64_t>(std::int64_t{read<std::int32_t>()});
            case width_u8:
            case width_s8:
                return read<std::uint64_t>();
            default:
                failed_ = true;
                return 0;
        }
    }

    std::string_view read_text() {
        if (at_ >= bytes_.size()) {
            failed_ = true;
            return {};
        }
        const std::string_view text = bytes_.substr(at_, bytes_.substr(at_).find('\0'));
        at_ += text.size() + 1;
        return text;
    }

    std::size_t at() const { return at_; }
    bool failed() const { return failed_; }

  private:
    std::string_view bytes_;
    std::size_t at_;
    bool failed_ = false;
};

// Returns the encoding of addresses in the FDEs of a CIE; nothing if the CIE is not understood.
std::optional<unsigned char> pointer_encoding(std::string_view section, std::size_t cie, unsigned word_bytes) {
    cursor in(section, cie);
    if (in.read<std::uint32_t>() == 0xffffffffu) in.read<std::uint64_t>();
    if (in.read<std::uint32_t>() != 0) return std::nullopt;  // an FDE, not a CIE
    const auto version = in.read<std::uint8_t>();
    const std::string_view augmentation = in.read_text();
    in.read_leb(false);  // code alignment
    in.read_leb(true);   // data alignment
    if (version == 1)
        in.read<std::uint8_t>();
    else
        in.read_leb(false);
    if (in.failed()) return std::nullopt;
    if (augmentation.empty()) return static_cast<unsigned char>(width_word);
    if (augmentation.front() != 'z') return std::nullopt;
    in.read_leb(false);
    for (const char letter : augmentation.substr(1)) {
        if (letter == 'R') {
            const auto encoding = in.read<std::uint8_t>();
            return in.failed() ? std::nullopt : std::optional<unsigned char>(encoding);
        }
        if (letter == 'L') {
            in.read<std::uint8_t>();
        } else if (letter == 'P') {
            const auto encoding = in.read<std::uint8_t>();
            in.read_encoded(encoding & 0x0f, word_bytes);
        } else if (letter != 'S' && letter != 'B') {
            return std::nullopt;
        }
    }
    return static_cast<unsigned char>(width_word);
}

}  // namespace

std::vector<address_range> decode_frame_entries(std::string_view section, std::uint64_t address, unsigned word_bytes) {
    std::vector<address_range> entries;
    std::unordered_map<std::size_t, std::optional<unsigned char>> encodings;
    std::size_t at = 0;
    while (at + 8 <= section.size()) {
        cursor in(section, at);
        std::uint64_t bytes = in.read<std::uint32_t>();
        if (bytes == 0) {  // a terminator; linkers may leave one in the middle
            at += 4;
            continue;
        }
        if (bytes == 0xffffffffu) bytes = in.read<std::uint64_t>();
        const std::size_t content = in.at();
        if (in.failed() || bytes < 4 || bytes > section.size() - content) break;
        const auto back = in.read<std::uint32_t>();
        at = content + bytes;
        if (back == 0 || back > content) continue;  // a CIE, or damaged

        const auto [known, is_new] = encodings.try_emplace(content - back);
        if (is_new) known->second = pointer_encoding(section, known->first, word_bytes);
        if (!known->second || *known->second == no_pointer) continue;
        const unsigned char encoding = *known->second;
        const std::uint64_t place = address + in.at();
        std::uint64_t first = in.read_encoded(encoding & 0x0f, word_bytes);
        if ((encoding & 0x70) == relative_to_place) first += place;
        const std::uint64_t length = in.read_encoded(encoding & 0x07, word_bytes);
        if (word_bytes == 4) first &= 0xffffffffu;
        if (in.failed() || length == 0 || first + length < first) continue;
        // The linker drops functions but not always their entries: those then start at address 0.
        if (first != 0) entries.push_back({first, first + length});
    }
    return entries;
}

}  // namespace millpond::symbols
