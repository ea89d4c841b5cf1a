/* SPDX-License-Identifier: GPL-2.0-or-later
 * debug_sections: hides debug information from Valgrind 3.19 that would make it give up the module or the whole run.
 * Like core, it replaces functions of Valgrind's core (the linker's --wrap).
 *
 *   sections that zstd has compressed       have no name, so that the rest of the file is read
 *   DWARF 5 with skeletons or type units,   no line numbers; symbols and call frames are read as always
 *   and of 64 bits
 *
 * Millpond's own readers name subsystems, members and lines later. */
#include <elf.h>

#include "lab/references/tool/valgrind_headers.h"

typedef struct DiImage DiImage;

/* A part of a file, which is decompressed where zlib has compressed it. */
typedef struct {
    DiImage* image;
    ULong offset, bytes;
} section_slice;

enum { compressed_by_zstd = 2, unit_compile = 1, unit_partial = 3 };

extern UInt vgModuleLocal_img_get_UInt(DiImage* image, ULong offset);
extern ULong vgModuleLocal_img_get_ULong(DiImage* image, ULong offset);
extern UShort vgModuleLocal_img_get_UShort(DiImage* image, ULong offset);
extern UChar vgModuleLocal_img_get_UChar(DiImage* image, ULong offset);
extern ULong vgModuleLocal_img_size(const DiImage* image);

void __real_vgModuleLocal_img_get(void* to, DiImage* image, ULong offset, SizeT bytes);
void __wrap_vgModuleLocal_img_get(void* to, DiImage* image, ULong offset, SizeT bytes);
void __wrap_vgModuleLocal_img_get(void* to, DiImage* image, ULong offset, SizeT bytes) {
    __real_vgModuleLocal_img_get(to, image, offset, bytes);
    Elf64_Shdr* const section = to; /* or the file's header, which is as long and comes first */
    if (bytes != sizeof *section || offset == 0) return;
    if ((section->sh_flags & SHF_COMPRESSED) == 0 || (section->sh_flags & SHF_ALLOC) != 0) return;
    const ULong size = vgModuleLocal_img_size(image);
    if (section->sh_offset > size || size - section->sh_offset < sizeof(Elf64_Chdr)) return;
    if (vgModuleLocal_img_get_UInt(image, section->sh_offset) == compressed_by_zstd) section->sh_name = 0;
}

/* Returns whether each unit of .debug_info is of a kind whose line table Valgrind finds. */
static Bool has_known_units(section_slice info) {
    enum { header_bytes = 7, header_bytes_of_64 = 15 };
    for (ULong at = 0; info.bytes - at >= header_bytes_of_64;) {
        const UInt word = vgModuleLocal_img_get_UInt(info.image, info.offset + at);
        const Bool is_64 = word == 0xFFFFFFFF;
        const ULong length = is_64 ? vgModuleLocal_img_get_ULong(info.image, info.offset + at + 4) : word;
        const ULong behind = at + (is_64 ? 12 : 4);
        const UShort version = vgModuleLocal_img_get_UShort(info.image, info.offset + behind);
        const UChar type = vgModuleLocal_img_get_UChar(info.image, info.offset + behind + 2);
        if (version > 5 || length < header_bytes - 4 || length > info.bytes - behind) return False;
        if (version == 5 && (is_64 || (type != unit_compile && type != unit_partial))) return False;
        at = behind + length;
    }
    return True;
}

void __real_vgModuleLocal_read_debuginfo_dwarf3(DebugInfo* module, section_slice info, section_slice types,
                                                section_slice abbreviations, section_slice lines, section_slice strings,
                                                section_slice other_strings, section_slice line_strings);
void __wrap_vgModuleLocal_read_debuginfo_dwarf3(DebugInfo* module, section_slice info, section_slice types,
                                                section_slice abbreviations, section_slice lines, section_slice strings,
                                                section_slice other_strings, section_slice line_strings);
void __wrap_vgModuleLocal_read_debuginfo_dwarf3(DebugInfo* module, section_slice info, section_slice types,
                                                section_slice abbreviations, section_slice lines, section_slice strings,
                                                section_slice other_strings, section_slice line_strings) {
    if (!has_known_units(info)) return;
    __real_vgModuleLocal_read_debuginfo_dwarf3(module, info, types, abbreviations, lines, strings, other_strings,
                                               line_strings);
}
