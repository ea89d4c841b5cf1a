/* SPDX-License-Identifier: GPL-2.0-or-later
 * entries: tells what begins at an address of the program's code: a function of an allocator, main, or a place where a
 * call of the allocator may end.
 *
 * The symbols of a module are read when the first of its code is translated, and forgotten when it is unmapped. Asked
 * once for each superblock that is translated. */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_ENTRIES_H
#define MILLPOND_LAB_REFERENCES_TOOL_ENTRIES_H

#include "lab/references/tool/valgrind_headers.h"

/* A function of the allocator is a number of heap_functions.h, and a flag where it lies in a library. */
enum {
    no_function = 0,
    start_function = 1000,
    main_function = 1001,
    setjmp_function = 1002,
    window_function = 1003,
    resolver_function = 1004, /* returns the address of the window's function */
    in_library = 1 << 16
};

UInt entries_function_at(Addr address);
/* Reads the symbols of all modules that are loaded, also of those of which nothing has run. */
void entries_read_all(void);
/* Returns the address of a function of heap_functions.h, in the module that was read first; 0 if no module has it. */
Addr entries_of_function(UInt function);
/* Code there that was translated before is translated again. */
void entries_add_function(Addr address, UInt function);
Addr entries_dlsym(void);               /* 0: the program has none */
Bool entries_is_unwinder(Addr address); /* in a function that leaves frames of others */

/* Adds a place behind a call of the allocator or of setjmp: such places are learned when the call is made. Code there
 * that was translated before is translated again. */
void entries_add_return(Addr address);
Bool entries_is_return(Addr address);

/* Before any code is looked at: the function whose entry is window_function. */
void entries_name_window(const HChar* name);
/* Returns whether a module that was read has the window's function. */
Bool entries_window_is_known(void);

/* main is looked for: by its name, or as the first argument of __libc_start_main where a program is stripped. */
void entries_add_main(Addr address);

void entries_on_unmap(Addr first, SizeT bytes);

#endif
