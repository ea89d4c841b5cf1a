// SPDX-License-Identifier: BSL-1.0
#include "lab/references/unknown_instruction.hpp"

#include <algorithm>
#include <array>

namespace millpond::references {

namespace {

// Prefixes that select among instructions with one opcode; in VEX they are a field.
enum prefix : unsigned { plain = 1, operand_size = 2, repeat = 4, repeat_not_equal = 8, any_prefix = 15 };
enum map : unsigned { two_bytes = 1, map_38 = 2, map_3a = 3 };
enum coding : unsigned { legacy, vex };
constexpr int any_digit = -1;

struct opcodes {
    coding how;
    unsigned map;
    unsigned prefixes;
    unsigned first, last;
    int digit_first, digit_last;  // bits 3-5 of the byte after the opcode; any_digit: all
    int registers;                // 1: that byte names only registers, 0: memory, -1: both
    instruction_set_extension extension;
};

constexpr instruction_set_extension avx512{"AVX-512", "-mavx512f"};

constexpr auto known = std::to_array<opcodes>({
    {vex, two_bytes, any_prefix, 0x41, 0x4B, any_digit, 0, -1, avx512},  // mask registers
    {vex, two_bytes, any_prefix, 0x90, 0x93, any_digit, 0, -1, avx512},
    {vex, two_bytes, any_prefix, 0x98, 0x99, any_digit, 0, -1, avx512},
    {vex, map_3a, any_prefix, 0x30, 0x33, any_digit, 0, -1, avx512},
    {vex, map_38, operand_size, 0x50, 0x53, any_digit, 0, -1, {"AVX-VNNI", "-mavxvnni"}},
    {vex, map_38, any_prefix, 0x50, 0x51, any_digit, 0, -1, {"AVX-VNNI-INT8", "-mavxvnniint8"}},
    {vex, map_38, any_prefix, 0xD2, 0xD3, any_digit, 0, -1, {"AVX-VNNI-INT16", "-mavxvnniint16"}},
    {vex, map_38, any_prefix, 0xB4, 0xB5, any_digit, 0, -1, {"AVX-IFMA", "-mavxifma"}},
    {vex, map_38, any_prefix, 0xB0, 0xB1, any_digit, 0, -1, {"AVX-NE-CONVERT", "-mavxneconvert"}},
    {vex, map_38, any_prefix, 0x72, 0x72, any_digit, 0, -1, {"AVX-NE-CONVERT", "-mavxneconvert"}},
    {vex, map_38, any_prefix, 0x49, 0x4B, any_digit, 0, -1, {"AMX", "-mamx-tile"}},
    {vex, map_38, any_prefix, 0x5C, 0x5E, any_digit, 0, -1, {"AMX", "-mamx-tile"}},
    {vex, map_38, any_prefix, 0x6C, 0x6C, any_digit, 0, -1, {"AMX", "-mamx-tile"}},
    {vex, map_38, any_prefix, 0xDC, 0xDF, any_digit, 0, -1, {"VAES", "-mvaes"}},
    {vex, map_38, any_prefix, 0xCF, 0xCF, any_digit, 0, -1, {"GFNI", "-mgfni"}},
    {vex, map_38, repeat_not_equal, 0xCB, 0xCD, any_digit, 0, -1, {"SHA512", "-msha512"}},
    {vex, map_38, plain | operand_size, 0xDA, 0xDA, any_digit, 0, -1, {"SM3", "-msm3"}},
    {vex, map_38, repeat | repeat_not_equal, 0xDA, 0xDA, any_digit, 0, -1, {"SM4", "-msm4"}},
    {vex, map_38, any_prefix, 0xE0, 0xEF, any_digit, 0, -1, {"CMPCCXADD", "-mcmpccxadd"}},
    {vex, map_3a, any_prefix, 0x44, 0x44, any_digit, 0, -1, {"VPCLMULQDQ", "-mvpclmulqdq"}},
    {vex, map_3a, any_prefix, 0xCE, 0xCF, any_digit, 0, -1, {"GFNI", "-mgfni"}},
    {vex, map_3a, any_prefix, 0xDE, 0xDE, any_digit, 0, -1, {"SM3", "-msm3"}},
    {vex, map_3a, any_prefix, 0x5C, 0x5F, any_digit, 0, -1, {"FMA4", "-mfma4"}},
    {vex, map_3a, any_prefix, 0x68, 0x6F, any_digit, 0, -1, {"FMA4", "-mfma4"}},
    {vex, map_3a, any_prefix, 0x78, 0x7F, any_digit, 0, -1, {"FMA4", "-mfma4"}},
    {legacy, map_38, any_prefix, 0xC8, 0xCD, any_digit, 0, -1, {"SHA", "-msha"}},
    {legacy, map_38, any_prefix, 0xCF, 0xCF, any_digit, 0, -1, {"GFNI", "-mgfni"}},
    {legacy, map_38, operand_size, 0xF8, 0xF8, any_digit, 0, -1, {"MOVDIR64B", "-mmovdir64b"}},
    {legacy, map_38, any_prefix, 0xF8, 0xF8, any_digit, 0, -1, {"ENQCMD", "-menqcmd"}},
    {legacy, map_38, any_prefix, 0xF9, 0xF9, any_digit, 0, -1, {"MOVDIRI", "-mmovdiri"}},
    {legacy, map_38, operand_size | repeat, 0xF6, 0xF6, any_digit, 0, -1, {"ADX", "-madx"}},
    {legacy, map_3a, any_prefix, 0xCC, 0xCC, any_digit, 0, -1, {"SHA", "-msha"}},
    {legacy, map_3a, any_prefix, 0xCE, 0xCF, any_digit, 0, -1, {"GFNI", "-mgfni"}},
    {legacy, two_bytes, any_prefix, 0x0F, 0x0F, any_digit, 0, -1, {"3DNow!", "-m3dnow"}},
    {legacy, two_bytes, operand_size | repeat_not_equal, 0x78, 0x79, any_digit, 0, -1, {"SSE4a", "-msse4a"}},
    {legacy, two_bytes, repeat | repeat_not_equal, 0x2B, 0x2B, any_digit, 0, -1, {"SSE4a", "-msse4a"}},
    {legacy, two_bytes, any_prefix, 0xC7, 0xC7, 4, 4, 0, {"XSAVEC", "-mxsavec"}},
    {legacy, two_bytes, any_prefix, 0xC7, 0xC7, 3, 5, 0, {"XSAVES", "-mxsaves"}},
    {legacy, two_bytes, repeat, 0xC7, 0xC7, 7, 7, 1, {"RDPID", "-mrdpid"}},
    {legacy, two_bytes, any_prefix, 0xC7, 0xC7, 7, 7, 1, {"RDSEED", "-mrdseed"}},
    {legacy, two_bytes, any_prefix, 0xC7, 0xC7, 6, 6, 1, {"RDRND", "-mrdrnd"}},
    {legacy, two_bytes, repeat, 0xAE, 0xAE, 0, 3, 1, {"FSGSBASE", "-mfsgsbase"}},
    {legacy, two_bytes, repeat, 0xAE, 0xAE, 4, 4, -1, {"PTWRITE", "-mptwrite"}},
    {legacy, two_bytes, repeat, 0xAE, 0xAE, 5, 5, 1, {"shadow stacks", "-mshstk"}},
    {legacy, two_bytes, operand_size, 0xAE, 0xAE, 6, 6, 0, {"CLWB", "-mclwb"}},
    {legacy, two_bytes, operand_size, 0xAE, 0xAE, 7, 7, 0, {"CLFLUSHOPT", "-mclflushopt"}},
    {legacy, two_bytes, any_prefix, 0xAE, 0xAE, 6, 6, 1, {"WAITPKG", "-mwaitpkg"}},
});

// Returns the extension for 0F 01, by the byte after it.
constexpr instruction_set_extension of_group_7(std::uint8_t byte) {
    switch (byte) {
        case 0xD5:
        case 0xD6:
            return {"TSX", "-mrtm"};
        case 0xE8:
            return {"SERIALIZE", "-mserialize"};
        case 0xEE:
        case 0xEF:
            return {"PKU", "-mpku"};
        case 0xFA:
        case 0xFB:
            return {"MWAITX", "-mmwaitx"};
        case 0xFC:
            return {"CLZERO", "-mclzero"};
        default:
            return {};
    }
}

instruction_set_extension look_up(coding how, unsigned map, unsigned prefixes, std::uint8_t opcode,
                                  std::uint8_t behind) {
    const int digit = behind >> 3 & 7, registers = behind >= 0xC0;
    const auto* found = std::find_if(known.begin(), known.end(), [&](const opcodes& one) {
        return one.how == how && one.map == map && (one.prefixes & prefixes) != 0 && opcode >= one.first &&
               opcode <= one.last &&
               (one.digit_first == any_digit || (digit >= one.digit_first && digit <= one.digit_last)) &&
               (one.registers < 0 || one.registers == registers);
    });
    return found == known.end() ? instruction_set_extension{} : found->extension;
}

}  // namespace

instruction_set_extension extension_of(std::span<const std::uint8_t> instruction) {
    std::size_t at = 0;
    const auto byte = [&](std::size_t i) { return i < instruction.size() ? instruction[i] : std::uint8_t{0}; };
    unsigned prefixes = plain;
    for (;; ++at) {
        const std::uint8_t one = byte(at);
        if (one == 0x66 && prefixes == plain)
            prefixes = operand_size;
        else if (one == 0xF3)
            prefixes = repeat;
        else if (one == 0xF2)
            prefixes = repeat_not_equal;
        else if (one != 0x66 && one != 0x2E && one != 0x36 && one != 0x3E && one != 0x26 && one != 0x64 &&
                 one != 0x65 && one != 0x67 && one != 0xF0)
            break;
    }
    const auto of_field = [](std::uint8_t bits) { return 1U << (bits & 3); };
    switch (byte(at)) {
        case 0x62:
            return (byte(at + 1) & 7) == 4 ? instruction_set_extension{"APX", "-mapxf"} : avx512;
        case 0xD5:
            return {"APX", "-mapxf"};
        case 0xC5:
            return look_up(vex, two_bytes, of_field(byte(at + 1)), byte(at + 2), byte(at + 3));
        case 0xC4:
            return look_up(vex, byte(at + 1) & 31U, of_field(byte(at + 2)), byte(at + 3), byte(at + 4));
        case 0x8F:
            return (byte(at + 1) & 31) >= 8 ? instruction_set_extension{"XOP", "-mxop"} : instruction_set_extension{};
        default:
            break;
    }
    if ((byte(at) & 0xF0) == 0x40) ++at;  // REX
    if (byte(at) != 0x0F) return {};
    if (byte(at + 1) == 0x01) return of_group_7(byte(at + 2));
    if (byte(at + 1) == 0x38) return look_up(legacy, map_38, prefixes, byte(at + 2), byte(at + 3));
    if (byte(at + 1) == 0x3A) return look_up(legacy, map_3a, prefixes, byte(at + 2), byte(at + 3));
    return look_up(legacy, two_bytes, prefixes, byte(at + 1), byte(at + 2));
}

}  // namespace millpond::references
