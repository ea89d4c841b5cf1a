/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/dynamic_symbols.h"

#include <elf.h>

enum { segments_max = 4096, names_bytes_max = 64 << 20 };

/* The parts that the dynamic section of a module names. */
typedef struct {
    Addr bias;
    const Elf64_Sym* symbols;
    const HChar* names;
    SizeT names_bytes;
    const UInt* hash;     /* number of symbols behind the number of buckets */
    const UInt* gnu_hash; /* buckets, first symbol, words of the filter, shift */
} dynamic_tables;

static Bool is_readable(const void* at, SizeT bytes) {
    return bytes <= names_bytes_max && VG_(am_is_valid_for_client)((Addr)at, bytes, VKI_PROT_READ);
}

/* Returns the place where the file of the segment is mapped from its beginning, or null. */
static const Elf64_Ehdr* header_of(const NSegment* segment) {
    static Addr starts[segments_max];
    const Int count = VG_(am_get_segment_starts)(SkFileC, starts, segments_max);
    const Elf64_Ehdr* header = NULL;
    for (Int i = 0; i < count; ++i) {
        const NSegment* each = VG_(am_find_nsegment)(starts[i]);
        if (each == NULL || each->offset != 0 || each->dev != segment->dev || each->ino != segment->ino) continue;
        if (each->start <= segment->start) header = (const Elf64_Ehdr*)each->start; /* the closest below */
    }
    if (header == NULL || !is_readable(header, sizeof *header)) return NULL;
    return VG_(memcmp)(header->e_ident, ELFMAG, SELFMAG) == 0 ? header : NULL;
}

static const Elf64_Dyn* find_dynamic(const Elf64_Ehdr* header, Addr* bias) {
    const Elf64_Phdr* programs = (const Elf64_Phdr*)((Addr)header + header->e_phoff);
    const Elf64_Dyn* dynamic = NULL;
    Addr lowest = ~(Addr)0, at = 0;
    if (!is_readable(programs, header->e_phnum * sizeof programs[0])) return NULL;
    for (UInt i = 0; i < header->e_phnum; ++i) {
        if (programs[i].p_type == PT_LOAD && programs[i].p_vaddr < lowest) lowest = programs[i].p_vaddr;
        if (programs[i].p_type == PT_DYNAMIC) at = programs[i].p_vaddr;
    }
    if (at == 0 || lowest == ~(Addr)0) return NULL;
    *bias = (Addr)header - (lowest & ~(Addr)(VKI_PAGE_SIZE - 1));
    dynamic = (const Elf64_Dyn*)(at + *bias);
    return is_readable(dynamic, sizeof *dynamic) ? dynamic : NULL;
}

static Bool read_tables(const NSegment* segment, dynamic_tables* to) {
    const Elf64_Ehdr* header = header_of(segment);
    VG_(memset)(to, 0, sizeof *to);
    const Elf64_Dyn* each = header == NULL ? NULL : find_dynamic(header, &to->bias);
    for (; each != NULL && is_readable(each, sizeof *each) && each->d_tag != DT_NULL; ++each) {
        /* The dynamic linker has made addresses of them, but not those of every module. */
        const Addr address = each->d_un.d_ptr < to->bias ? each->d_un.d_ptr + to->bias : each->d_un.d_ptr;
        if (each->d_tag == DT_SYMTAB) to->symbols = (const Elf64_Sym*)address;
        if (each->d_tag == DT_STRTAB) to->names = (const HChar*)address;
        if (each->d_tag == DT_STRSZ) to->names_bytes = each->d_un.d_val;
        if (each->d_tag == DT_HASH) to->hash = (const UInt*)address;
        if (each->d_tag == DT_GNU_HASH) to->gnu_hash = (const UInt*)address;
    }
    return to->symbols != NULL && to->names_bytes > 0 && is_readable(to->names, to->names_bytes) &&
           to->names[to->names_bytes - 1] == 0;
}

/* A symbol is in the chain of its bucket; the last bucket's chain has the last symbol, whose hash is odd. */
static UInt count_by_gnu_hash(const UInt* table) {
    if (!is_readable(table, 4 * sizeof table[0])) return 0;
    const UInt bucket_count = table[0], first = table[1];
    const UInt* buckets = (const UInt*)((const ULong*)(table + 4) + table[2]);
    const UInt* chains = buckets + bucket_count;
    UInt last = 0;
    if (!is_readable(buckets, bucket_count * sizeof buckets[0])) return 0;
    for (UInt i = 0; i < bucket_count; ++i)
        if (buckets[i] > last) last = buckets[i];
    if (last < first) return first;
    while (is_readable(&chains[last - first], sizeof chains[0]))
        if ((chains[last++ - first] & 1) != 0) return last;
    return 0;
}

void dynamic_symbols_visit(const NSegment* segment, void (*visit)(const HChar* name, Addr address)) {
    dynamic_tables tables;
    UInt count = 0;
    if (!read_tables(segment, &tables)) return;
    if (tables.hash != NULL && is_readable(tables.hash, 2 * sizeof tables.hash[0]))
        count = tables.hash[1];
    else if (tables.gnu_hash != NULL)
        count = count_by_gnu_hash(tables.gnu_hash);
    if (!is_readable(tables.symbols, count * sizeof tables.symbols[0])) return;
    for (UInt i = 1; i < count; ++i) {
        const Elf64_Sym* symbol = &tables.symbols[i];
        if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF) continue;
        if (symbol->st_name < tables.names_bytes) visit(tables.names + symbol->st_name, symbol->st_value + tables.bias);
    }
}
