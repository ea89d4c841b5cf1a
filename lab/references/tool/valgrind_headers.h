/* SPDX-License-Identifier: GPL-2.0-or-later
 * valgrind_headers: includes the headers of Valgrind 3.19 that the tool uses, and declares parts of its core that no
 * public header has. */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_VALGRIND_HEADERS_H
#define MILLPOND_LAB_REFERENCES_TOOL_VALGRIND_HEADERS_H

#include <pub_tool_aspacemgr.h>
#include <pub_tool_basics.h>
#include <pub_tool_clientstate.h>
#include <pub_tool_debuginfo.h>
#include <pub_tool_hashtable.h>
#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_libcfile.h>
#include <pub_tool_libcprint.h>
#include <pub_tool_libcproc.h>
#include <pub_tool_machine.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_options.h>
#include <pub_tool_stacktrace.h>
#include <pub_tool_threadstate.h>
#include <pub_tool_tooliface.h>
#include <pub_tool_transtab.h>
#include <pub_tool_vki.h>
#include <pub_tool_vkiscnums.h>
#include <pub_tool_xarray.h>

/* Options of this process image, and the program that starts its successors. */
extern XArray* VG_(args_for_valgrind);
extern const HChar* VG_(name_of_launcher);

/* The target of Valgrind's log. Type 2: a socket; writing there never raises a signal. */
typedef struct {
    Int fd, type;
    HChar* name;
} OutputSink;
extern OutputSink VG_(log_output_sink);
extern Int VG_(write_socket)(Int descriptor, const void* bytes, Int count);

/* A descriptor where the program's own do not lie. */
extern Int VG_(safe_fd)(Int descriptor);
/* The program's file, and the name of an open file. */
extern Int VG_(cl_exec_fd);
extern Bool VG_(resolve_filename)(Int descriptor, const HChar** path);

/* Limits that Valgrind keeps for the program, as it cannot give them to itself. */
extern Int VG_(fd_hard_limit);
extern struct vki_rlimit VG_(client_rlimit_stack);

/* The program's break: where it began, and where it is. */
extern Addr VG_(brk_base), VG_(brk_limit);

/* Memory of the program, where it says or anywhere; and whether it has some there. */
extern SysRes VG_(am_mmap_anon_fixed_client)(Addr start, SizeT bytes, UInt protection);
extern SysRes VG_(am_mmap_anon_float_client)(SizeT bytes, Int protection);
extern Bool VG_(am_is_valid_for_client)(Addr start, SizeT bytes, UInt protection);

extern SysRes VG_(do_syscall)(UWord number, UWord a, UWord b, UWord c, UWord d, UWord e, UWord f, UWord g, UWord h);

/* Does the work of the public function without its assertion, which holds only in client requests. */
extern void VG_(discard_translations)(Addr first, ULong bytes, const HChar* who);

/* The symbols of a module, one after another. */
typedef struct {
    Addr main;
} SymAVMAs;
extern Int VG_(DebugInfo_syms_howmany)(const DebugInfo* module);
extern void VG_(DebugInfo_syms_getidx)(const DebugInfo* module, Int index, SymAVMAs* addresses, UInt* size,
                                       const HChar** name, const HChar*** other_names, Bool* is_text, Bool* is_ifunc,
                                       Bool* is_global);

#endif
