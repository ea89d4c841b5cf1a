// SPDX-License-Identifier: BSL-1.0
#include "lab/program/any_bytes.hpp"

#include <algorithm>
#include <cstddef>

namespace millpond::program {
namespace {

// Returns the length of the UTF-8 character at the begin of `text`; 0 if there is no valid one.
std::size_t character_at(std::string_view text) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned char first = byte(0);
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : 4;
    if (first < 0xc2 || first > 0xf4 || length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
    }
    // Longer than needed, half of a UTF-16 pair, or above U+10FFFF.
    const unsigned char second = byte(1);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
        (first == 0xf4 && second > 0x8f))
        return 0;
    return length;
}

}  // namespace

std::string kept(std::string_view bytes) {
    std::string text;
    while (!bytes.empty()) {
        const std::size_t length = character_at(bytes);
        if (length > 0) {
            text += bytes.substr(0, length);
        } else {
            const auto byte = static_cast<unsigned char>(bytes[0]);
            text += "\xf4\x8f";
            text += static_cast<char>(0xbc | byte >> 6);
            text += static_cast<char>(0x80 | (byte & 0x3f));
        }
        bytes.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return text;
}

std::string bytes_of(std::string_view text) {
    std::string bytes;
    while (!text.empty()) {
        const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
        const bool kept_byte = text.size() >= 4 && text.starts_with("\xf4\x8f") && (byte(2) == 0xbe || byte(2) == 0xbf);
        bytes += kept_byte ? static_cast<char>((byte(2) & 0x3) << 6 | (byte(3) & 0x3f)) : text[0];
        text.remove_prefix(kept_byte ? 4 : 1);
    }
    return bytes;
}

}  // namespace millpond::program
